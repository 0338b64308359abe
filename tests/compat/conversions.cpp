// Prints which types convert to which, implicitly or by a constructor alone, which braces a parameter takes, and which
// overload an argument selects. conversions.txt holds what LibTorch prints; printed_test.py compares.
#include <torch/torch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;
using torch::Tensor;
using torch::indexing::EllipsisIndexType;
using torch::indexing::Slice;
using torch::indexing::TensorIndex;

// Types with their names, which are as they are written in the tables below.
template <class First, class... Ts>
struct Table {
  std::array<std::string_view, sizeof...(Ts)> names;
};
struct First {};
#define TYPE(...) , std::type_identity<__VA_ARGS__>
#define QUOTED(...) #__VA_ARGS__,
#define TABLE(TYPES)         \
  Table<First TYPES(TYPE)> { \
    { TYPES(QUOTED) }        \
  }

#define TENSORS_AND_NUMBERS(X) \
  X(Tensor)                    \
  X(Tensor&)                   \
  X(const Tensor&)             \
  X(torch::Scalar)             \
  X(bool)                      \
  X(char)                      \
  X(uint8_t)                   \
  X(int16_t)                   \
  X(int)                       \
  X(int64_t)                   \
  X(uint64_t)                  \
  X(float)                     \
  X(double)                    \
  X(at::Half)                  \
  X(at::BFloat16)              \
  X(c10::complex<float>)       \
  X(c10::complex<double>)      \
  X(std::nullptr_t)            \
  X(std::nullopt_t)

#define LISTS(X)                       \
  X(torch::IntArrayRef)                \
  X(torch::TensorList)                 \
  X(torch::ArrayRef<double>)           \
  X(torch::ArrayRef<bool>)             \
  X(torch::ArrayRef<torch::Scalar>)    \
  X(torch::ArrayRef<TensorIndex>)      \
  X(std::vector<int64_t>)              \
  X(std::vector<int>)                  \
  X(std::vector<double>)               \
  X(std::vector<bool>)                 \
  X(std::vector<Tensor>)               \
  X(std::vector<TensorIndex>)          \
  X(std::initializer_list<int64_t>)    \
  X(std::initializer_list<Tensor>)     \
  X(std::array<int64_t, 2>)            \
  X(int64_t*)                          \
  X(int64_t(&)[2])                     \
  X(torch::OptionalIntArrayRef)        \
  X(std::optional<torch::IntArrayRef>) \
  X(std::optional<torch::ArrayRef<double>>)

#define OPTIONALS(X)                    \
  X(std::optional<Tensor>)              \
  X(std::optional<torch::Scalar>)       \
  X(std::optional<bool>)                \
  X(std::optional<int64_t>)             \
  X(std::optional<double>)              \
  X(std::optional<torch::ScalarType>)   \
  X(std::optional<torch::Device>)       \
  X(std::optional<torch::Layout>)       \
  X(std::optional<torch::MemoryFormat>) \
  X(std::optional<torch::Generator>)    \
  X(std::optional<std::string_view>)

#define DESCRIPTIONS(X)   \
  X(torch::TensorOptions) \
  X(torch::Device)        \
  X(torch::DeviceType)    \
  X(torch::DeviceIndex)   \
  X(torch::ScalarType)    \
  X(caffe2::TypeMeta)     \
  X(torch::Layout)        \
  X(torch::MemoryFormat)  \
  X(torch::Storage)       \
  X(torch::Generator)     \
  X(Slice)                \
  X(TensorIndex)          \
  X(EllipsisIndexType)    \
  X(std::string)          \
  X(const char*)          \
  X(std::string_view)

#define MODULES(X)                            \
  X(nn::AnyModule)                            \
  X(nn::AnyValue)                             \
  X(nn::Linear)                               \
  X(nn::LinearImpl)                           \
  X(std::shared_ptr<nn::Module>)              \
  X(std::shared_ptr<nn::LinearImpl>)          \
  X(nn::Sequential)                           \
  X(nn::ModuleList)                           \
  X(nn::LinearOptions)                        \
  X(nn::Conv2dOptions)                        \
  X(nn::LayerNormOptions)                     \
  X(nn::BatchNormOptions)                     \
  X(nn::EmbeddingOptions)                     \
  X(nn::DropoutOptions)                       \
  X(nn::MaxPool2dOptions)                     \
  X(nn::AdaptiveAvgPool2dOptions)             \
  X(nn::L1LossOptions)                        \
  X(nn::LSTMOptions)                          \
  X(torch::ExpandingArray<1>)                 \
  X(torch::ExpandingArray<2>)                 \
  X(torch::ExpandingArrayWithOptionalElem<2>) \
  X(torch::optim::SGDOptions)                 \
  X(torch::optim::AdamOptions)

// Parameters of functions.
#define PARAMETERS(X)                    \
  X(const Tensor&)                       \
  X(const torch::Scalar&)                \
  X(bool)                                \
  X(int64_t)                             \
  X(double)                              \
  X(torch::IntArrayRef)                  \
  X(torch::OptionalIntArrayRef)          \
  X(torch::TensorList)                   \
  X(torch::ArrayRef<TensorIndex>)        \
  X(std::initializer_list<TensorIndex>)  \
  X(const std::optional<Tensor>&)        \
  X(const std::optional<torch::Scalar>&) \
  X(std::optional<int64_t>)              \
  X(std::optional<double>)               \
  X(std::optional<torch::ScalarType>)    \
  X(torch::TensorOptions)                \
  X(torch::Device)                       \
  X(torch::ScalarType)                   \
  X(TensorIndex)                         \
  X(std::string_view)

#define CORE(X) TENSORS_AND_NUMBERS(X) LISTS(X) OPTIONALS(X) DESCRIPTIONS(X)

constexpr auto kCore = TABLE(CORE);
constexpr auto kModules = TABLE(MODULES);
constexpr auto kParameters = TABLE(PARAMETERS);

// "what: name; name; …" of those for which `holds`.
template <std::size_t N>
void line(const std::string& what, const std::array<bool, N>& holds, const std::array<std::string_view, N>& names) {
  std::string text;
  for (std::size_t i = 0; i < N; ++i)
    if (holds[i]) text.append(text.empty() ? ": " : "; ").append(names[i]);
  if (!text.empty()) std::cout << what << text << '\n';
}

template <class From, class... To>
void conversions_of(std::string_view from, const Table<First, std::type_identity<To>...>& to) {
  const std::string name(from);
  line(name + " converts to", std::array{std::is_convertible_v<From, To>...}, to.names);
  line(name + " constructs", std::array{(std::is_constructible_v<To, From> && !std::is_convertible_v<From, To>)...},
       to.names);
}
template <class... From, class To>
void conversions(const Table<First, std::type_identity<From>...>& from, const To& to) {
  const std::string_view* name = from.names.data();
  (conversions_of<From>(*name++, to), ...);
}

template <class P>
struct One {
  static void f(P);
};
template <class P, class Q>
struct Two {
  static std::true_type f(P);
  static std::false_type f(Q);
};

// A probe calls f of its argument with what it probes. `F` is what it takes if f's parameters fit that.
template <class Probe, class F>
inline constexpr bool fits = std::is_invocable_v<Probe, F>;
template <class P, class Q, class Probe>
constexpr bool is_preferred() {
  if constexpr (std::is_same_v<P, Q>)
    return false;
  else if constexpr (fits<Probe, One<Q>>)
    if constexpr (fits<Probe, Two<P, Q>>) return std::invoke_result_t<Probe, Two<P, Q>>::value;
  return false;
}
template <class P, class Probe, class... Qs>
void preferences_of(const std::string& argument, std::string_view name, const Probe&,
                    const Table<First, std::type_identity<Qs>...>& others) {
  if constexpr (fits<Probe, One<P>>)
    line(argument + " prefers " + std::string(name) + " to", std::array{is_preferred<P, Qs, Probe>()...}, others.names);
}
template <class Probe, class... Ps>
void preferences(const char* argument, const Probe& probe, const Table<First, std::type_identity<Ps>...>& parameters) {
  const std::string_view* name = parameters.names.data();
  (preferences_of<Ps>(argument, *name++, probe, parameters), ...);
}
template <class Probe, class Constructor, class... Ts>
void taken(const std::string& list, const Probe&, const Constructor&,
           const Table<First, std::type_identity<Ts>...>& types) {
  line(list + " is taken as", std::array{fits<Probe, One<Ts>>...}, types.names);
  line(list + " constructs", std::array{(fits<Constructor, std::type_identity<Ts>> && !fits<Probe, One<Ts>>)...},
       types.names);
}
#define PROBE(...) [&](auto set) -> decltype(set.f(__VA_ARGS__)) { return set.f(__VA_ARGS__); }
// Which parameters take the argument, and which the compiler chooses where two do. With neither before the other, the
// call is ambiguous.
#define PREFERS(...) preferences(#__VA_ARGS__, PROBE(__VA_ARGS__), kParameters)
// Which parameters take the list in braces, and of which types it makes an object besides.
#define TAKEN_IN(table, ...)            \
  taken(                                \
      #__VA_ARGS__, PROBE(__VA_ARGS__), \
      [&]<class T>(std::type_identity<T>) -> decltype(static_cast<void>(T __VA_ARGS__)) {}, table)
#define TAKEN(...) TAKEN_IN(kCore, __VA_ARGS__)
#define TAKEN_BY_MODULES(...) TAKEN_IN(kModules, __VA_ARGS__)

void arguments() {
  const Tensor t;
  const torch::Scalar scalar;
  bool flag{};
  int i{};
  int64_t n{};
  std::size_t size{};
  double d{};
  const std::vector<int64_t> sizes;
  const std::vector<Tensor> tensors;
  const torch::Device device = torch::kCPU;
  const torch::TensorOptions options;
  const std::string text;
  PREFERS(t);
  PREFERS(scalar);
  PREFERS(flag);
  PREFERS(i);
  PREFERS(n);
  PREFERS(size);
  PREFERS(d);
  PREFERS(0);
  PREFERS(sizes);
  PREFERS(tensors);
  PREFERS(device);
  PREFERS(text);
  PREFERS("cpu");
  PREFERS(torch::kFloat);
  PREFERS(torch::kCPU);
  PREFERS(torch::kStrided);
  PREFERS(torch::MemoryFormat::Contiguous);
  PREFERS(t.sizes());
  PREFERS(t.dtype());
  PREFERS(torch::nullopt);
  PREFERS(Slice());
  PREFERS(torch::indexing::Ellipsis);
  PREFERS(c10::complex<double>(1, 2));
  PREFERS(nullptr);
  PREFERS({});
  PREFERS({1, 2});
  PREFERS({1.5, 2.5});
  PREFERS({t, t});
  PREFERS({0, t});
  PREFERS({Slice(), 1});
  PREFERS({torch::kCUDA, 1});
  PREFERS({sizes});

  TAKEN({});
  TAKEN({0});
  TAKEN({1});
  TAKEN({i});
  TAKEN({size});
  TAKEN({1.5});
  TAKEN({d});
  TAKEN({true});
  TAKEN({1, 2});
  TAKEN({i, i});
  TAKEN({size, size});
  TAKEN({1.5, 2.5});
  TAKEN({1, 2.5});
  TAKEN({true, false});
  TAKEN({t});
  TAKEN({t, t});
  TAKEN({t, 1});
  TAKEN({Slice(), 1, "..."});
  TAKEN({torch::indexing::None, torch::indexing::None});
  TAKEN({"..."});
  TAKEN({"cpu"});
  TAKEN({text});
  TAKEN({torch::nullopt});
  TAKEN({nullptr});
  TAKEN({torch::kCPU});
  TAKEN({torch::kCUDA, 1});
  TAKEN({device});
  TAKEN({torch::kFloat});
  TAKEN({torch::kFloat, torch::kCPU});
  TAKEN({options});
  TAKEN({sizes});
  TAKEN({sizes.begin(), sizes.end()});
  TAKEN({sizes.data(), size});
  TAKEN({t.data_ptr<int64_t>(), size});
  TAKEN({tensors.data(), size});
  TAKEN({t.dtype()});
  TAKEN({{1, 2}});
  TAKEN({{1, 2}, {3, 4}});

  TAKEN_BY_MODULES({});
  TAKEN_BY_MODULES({1});
  TAKEN_BY_MODULES({i});
  TAKEN_BY_MODULES({1.5});
  TAKEN_BY_MODULES({1, 2});
  TAKEN_BY_MODULES({1, 2, 3});
  TAKEN_BY_MODULES({1, 2, {3, 4}});
  TAKEN_BY_MODULES({{1, 2}});
  TAKEN_BY_MODULES({1, torch::nullopt});
  TAKEN_BY_MODULES({torch::nullopt});
  TAKEN_BY_MODULES({nullptr});
  TAKEN_BY_MODULES({torch::kSum});
  TAKEN_BY_MODULES({sizes});
  TAKEN_BY_MODULES({t});
  TAKEN_BY_MODULES({nn::LinearOptions(1, 2)});
  TAKEN_BY_MODULES({nn::Linear(1, 2)});
  TAKEN_BY_MODULES({nn::Linear(1, 2), nn::ReLU()});
}

// The constants that `expression` takes as its c.
#define CONSTANTS(X)  \
  X(kNone)            \
  X(kMean)            \
  X(kSum)             \
  X(kBatchMean)       \
  X(kMax)             \
  X(kZeros)           \
  X(kReflect)         \
  X(kReplicate)       \
  X(kCircular)        \
  X(kConstant)        \
  X(kBorder)          \
  X(kReflection)      \
  X(kNearest)         \
  X(kNearestExact)    \
  X(kLinear)          \
  X(kBilinear)        \
  X(kBicubic)         \
  X(kTrilinear)       \
  X(kArea)            \
  X(kValid)           \
  X(kSame)            \
  X(kReLU)            \
  X(kGELU)            \
  X(kTanh)            \
  X(kSigmoid)         \
  X(kLeakyReLU)       \
  X(kConv2D)          \
  X(kConvTranspose2D) \
  X(kFanIn)           \
  X(kFanOut)          \
  X(kLSTM)            \
  X(kGRU)             \
  X(kRNN_TANH)        \
  X(kRNN_RELU)
#define CONSTANT_TYPE(name) , std::type_identity<decltype(torch::name)>
constexpr auto kConstants = Table<First CONSTANTS(CONSTANT_TYPE)>{{CONSTANTS(QUOTED)}};
template <class Probe, class... Constants>
void constants(const char* expression, const Probe&, const Table<First, std::type_identity<Constants>...>& table) {
  line(expression, std::array{std::is_invocable_v<Probe, Constants>...}, table.names);
}
#define CONSTANTS_FOR(...) \
  constants(               \
      #__VA_ARGS__ " takes", [&](const auto& c) -> decltype(static_cast<void>(__VA_ARGS__)) {}, kConstants)

void constants_of_options() {
  const Tensor t;
  CONSTANTS_FOR(nn::L1LossOptions(c));
  CONSTANTS_FOR(nn::MSELossOptions(c));
  CONSTANTS_FOR(nn::KLDivLossOptions(c));
  CONSTANTS_FOR(One<nn::L1LossOptions>::f(c));
  CONSTANTS_FOR(One<nn::KLDivLossOptions>::f(c));
  CONSTANTS_FOR(nn::L1LossOptions().reduction(c));
  CONSTANTS_FOR(nn::CrossEntropyLossOptions().reduction(c));
  CONSTANTS_FOR(nn::CrossEntropyLossOptions(c));
  CONSTANTS_FOR(nn::KLDivLossOptions().reduction(c));
  CONSTANTS_FOR(nn::CTCLossOptions().reduction(c));
  CONSTANTS_FOR(nn::EmbeddingBagOptions(1, 2).mode(c));
  CONSTANTS_FOR(nn::Conv2dOptions(1, 2, 3).padding(c));
  CONSTANTS_FOR(nn::Conv2dOptions(1, 2, 3).padding_mode(c));
  CONSTANTS_FOR(nn::ConvTranspose2dOptions(1, 2, 3).padding(c));
  CONSTANTS_FOR(nn::functional::Conv2dFuncOptions().padding(c));
  CONSTANTS_FOR(nn::functional::PadFuncOptions({1, 1}).mode(c));
  CONSTANTS_FOR(nn::functional::InterpolateFuncOptions().mode(c));
  CONSTANTS_FOR(nn::UpsampleOptions().mode(c));
  CONSTANTS_FOR(nn::functional::GridSampleFuncOptions().mode(c));
  CONSTANTS_FOR(nn::functional::GridSampleFuncOptions().padding_mode(c));
  CONSTANTS_FOR(nn::RNNOptions(1, 2).nonlinearity(c));
  CONSTANTS_FOR(nn::TransformerOptions().activation(c));
  CONSTANTS_FOR(nn::TransformerEncoderLayerOptions(8, 2).activation(c));
  CONSTANTS_FOR(nn::init::calculate_gain(c));
  CONSTANTS_FOR(nn::init::kaiming_normal_(t, 0, c));
  CONSTANTS_FOR(nn::init::kaiming_uniform_(t, 0, torch::kFanIn, c));
}

// What the chosen overload returns.
template <class Call>
void result(std::string_view text, const Call& call) {
  std::cout << text << " is: ";
  try {
    const Tensor t = call();
    std::cout << t.scalar_type() << ' ' << t.sizes() << '\n';
  } catch (const std::exception&) {
    std::cout << "an error\n";
  }
}
#define RESULT(...) result(#__VA_ARGS__, [&]() -> Tensor { return __VA_ARGS__; })

void results() {
  using torch::indexing::Ellipsis;
  using torch::indexing::None;
  const auto x = torch::zeros({2, 3, 4});
  const auto k = torch::zeros({2, 3}, torch::kInt);
  const auto mask = torch::ones({2}, torch::kBool);
  const auto at = torch::zeros({2}, torch::kLong);
  const std::vector<int64_t> sizes{2, 3};
  const std::size_t size = 2;
  int i = 1;
  bool flag = true;
  RESULT(x[i]);
  RESULT(x[size - 1]);
  RESULT(x[at]);
  RESULT(x[torch::tensor(1)]);
  RESULT(x.index({0}));
  RESULT(x.index({i, i}));
  RESULT(x.index({Slice(), 1}));
  RESULT(x.index({"...", 1}));
  RESULT(x.index({Ellipsis, Slice(1, None), None}));
  RESULT(x.index({None}));
  RESULT(x.index({mask}));
  RESULT(x.index({at, at}));
  RESULT(x.index({true}));
  RESULT(x.index({flag, Slice(0, 1)}));
  RESULT(x + 1);
  RESULT(k + 1);
  RESULT(k + 1.5);
  RESULT(k + true);
  RESULT(1 - k);
  RESULT(1.5 * k);
  RESULT(k / 2);
  RESULT(mask + mask);
  RESULT(mask + 1);
  RESULT(k == 1);
  RESULT(x.sum());
  RESULT(x.sum(1));
  RESULT(x.sum({0, 1}));
  RESULT(x.sum({0}, true));
  RESULT(x.sum(sizes.size() - 1));
  RESULT(x.sum(torch::kDouble));
  RESULT(k.sum());
  RESULT(k.sum(torch::kInt));
  RESULT(x.mean({1, 2}));
  RESULT(x.mean(0));
  RESULT(x.norm());
  RESULT(x.norm(2, 1));
  RESULT(x.norm(2, {0, 1}, true));
  RESULT(x.argmax());
  RESULT(x.argmax(1));
  RESULT(x.var(1));
  RESULT(x.var(false));
  RESULT(x.std({0, 1}, false));
  RESULT(x.all(0));
  RESULT(x.view(-1));
  RESULT(x.view({6, -1}));
  RESULT(x.view({size * 3, 4}));
  RESULT(x.reshape({-1}));
  RESULT(x.view(torch::kInt));
  RESULT(x.permute({2, 0, 1}));
  RESULT(x.flip(0));
  RESULT(x.flip({0, 1}));
  RESULT(x.transpose(0, 1));
  RESULT(x.expand({5, 2, 3, 4}));
  RESULT(x.to(torch::kDouble));
  RESULT(x.to(torch::kCPU));
  RESULT(x.to(torch::kCPU, torch::kLong));
  RESULT(x.to(torch::Device("cpu"), torch::kLong, true));
  RESULT(x.to("cpu"));
  RESULT(x.to(k));
  RESULT(x.to(k.options()));
  RESULT(x.to(k.dtype()));
  RESULT(torch::zeros(3));
  RESULT(torch::zeros({}));
  RESULT(torch::zeros({2, 3}));
  RESULT(torch::zeros({2, 3}, torch::kInt));
  RESULT(torch::zeros({2, 3}, k.dtype()));
  RESULT(torch::zeros(sizes, torch::kCPU));
  RESULT(torch::zeros({2, 3}, {torch::kCPU, 0}));
  RESULT(torch::full(sizes, true));
  RESULT(torch::full({2, 3}, 1));
  RESULT(torch::full({2, 3}, 1.5));
  RESULT(torch::full({2}, 1, torch::kDouble));
  RESULT(torch::full_like(k, 1.5));
  RESULT(torch::arange(5));
  RESULT(torch::arange(0, 1, 0.25));
  RESULT(torch::arange(0, 5, torch::kFloat));
  RESULT(torch::linspace(0, 1, 5));
  RESULT(torch::rand({2, 3}, torch::kDouble));
  RESULT(torch::randint(5, {2, 3}));
  RESULT(torch::randint(0, 5, {2, 3}, torch::kInt));
  RESULT(torch::randperm(5));
  RESULT(torch::eye(3));
  RESULT(torch::tensor(1));
  RESULT(torch::tensor(1.5));
  RESULT(torch::tensor(1.5f));
  RESULT(torch::tensor(true));
  RESULT(torch::tensor('a'));
  RESULT(torch::tensor({1, 2}));
  RESULT(torch::tensor({1.5, 2.5}));
  RESULT(torch::tensor({1, 2}, torch::kFloat));
  RESULT(torch::tensor({true, false}));
  RESULT(torch::tensor({{1, 2}, {3, 4}}));
  RESULT(torch::tensor({{1.5}, {2.5}}));
  RESULT(torch::tensor({}));
  RESULT(torch::tensor(sizes));
  RESULT(torch::tensor(x.sizes()));
  RESULT(torch::tensor(std::vector<float>{1}, torch::dtype(torch::kDouble)));
  RESULT(torch::tensor(at::Half(1)));
  RESULT(torch::tensor(c10::complex<float>(1, 2)));
  RESULT(torch::scalar_tensor(1));
  RESULT(torch::stack({x, x}));
  RESULT(torch::cat({x, x}, 1));
  RESULT(torch::where(mask, 1, 2));
  RESULT(torch::where(mask, at, 1.5));
  RESULT(torch::pow(2, k));
  RESULT(torch::pow(k, 2));
  RESULT(torch::pow(k, 0.5));
  RESULT(torch::clamp(k, 0, 1));
  RESULT(torch::clamp(k, 0.5));
  RESULT(torch::max(k));
  RESULT(torch::isclose(x, x, 1e-3));
  RESULT(torch::tensordot(x, x, {0}, {0}));
  RESULT(torch::constant_pad_nd(k, {1, 1}, 2));
  RESULT(nn::functional::pad(x, nn::functional::PadFuncOptions({1, 1, 2, 2})));
}

}  // namespace

int main() {
  conversions(kCore, kCore);
  conversions(kCore, kModules);
  conversions(kModules, kCore);
  conversions(kModules, kModules);
  arguments();
  constants_of_options();
  results();
}
