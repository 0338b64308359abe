// What printers_test.py looks at with debuggers: objects of Tandem, and a function to stop at. With an argument, it
// only prints the offsets that the printers must know.
#include <bit>
#include <cstdio>
#include <cstring>

#include "tandem/autograd/meta.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

using Tensors = OrderedDict<std::string, Tensor>;
using Modules = OrderedDict<std::string, std::shared_ptr<nn::Module>>;

// ---- offsets

#define MEMBERS(X)                       \
  X(RefCounted, count_)                  \
  X(TensorImpl, storage)                 \
  X(TensorImpl, autograd)                \
  X(TensorImpl, numel)                   \
  X(TensorImpl, data)                    \
  X(TensorImpl, dtype)                   \
  X(TensorImpl, tracks_grad)             \
  X(TensorImpl, sizes)                   \
  X(TensorImpl, strides)                 \
  X(Dims, count_)                        \
  X(Dims, values_)                       \
  X(StorageImpl, data_)                  \
  X(StorageImpl, nbytes_)                \
  X(StorageImpl, device_)                \
  X(Device, type_)                       \
  X(Device, index_)                      \
  X(autograd::AutogradMeta, view_base)   \
  X(Scalar, imag_)                       \
  X(Scalar, kind_)                       \
  X(IntArrayRef, data_)                  \
  X(IntArrayRef, size_)                  \
  X(Tensors, items_)                     \
  X(Modules, items_)                     \
  X(nn::Module, parameters_)             \
  X(nn::Module, buffers_)                \
  X(nn::Module, children_)               \
  X(nn::Module, is_training_)            \
  X(optim::Optimizer, param_groups_)     \
  X(optim::OptimizerParamGroup, params_) \
  X(optim::OptimizerParamGroup, options_)
#define NAME(Class, member) #Class "." #member,
#define POINTER(Class, member) , &Class::member

std::vector<std::ptrdiff_t> member_offsets();
/// An explicit instantiation may name private members.
template <auto, auto... Members>
struct Offsets {
  friend std::vector<std::ptrdiff_t> member_offsets() { return {std::bit_cast<std::ptrdiff_t>(Members)...}; }
};
template struct Offsets<0 MEMBERS(POINTER)>;

template <class Options>
void print_options(const char* name, const Options& options) {
  const auto print = [&](const char* member, const auto& value) {
    const auto* address = reinterpret_cast<const char*>(&value);
    std::printf("%s.%s %td\n", name, member, address - reinterpret_cast<const char*>(&options));
  };
  print("lr", options.lr());
#define OPTION(member) \
  if constexpr (requires { options.member(); }) print(#member, options.member())
  OPTION(rho);
  OPTION(alpha);
  OPTION(lr_decay);
  OPTION(betas);
  OPTION(eps);
  OPTION(weight_decay);
  OPTION(momentum);
  OPTION(momentum_decay);
  OPTION(decoupled_weight_decay);
  OPTION(dampening);
  OPTION(initial_accumulator_value);
  OPTION(amsgrad);
  OPTION(maximize);
  OPTION(nesterov);
  OPTION(centered);
  OPTION(max_iter);
}

void print_offsets() {
  const char* names[] = {MEMBERS(NAME)};
  const char** name = names;
  for (const std::ptrdiff_t offset : member_offsets()) std::printf("%s %td\n", *name++, offset);
  std::printf("STRING_SIZE %zu\n", sizeof(std::string));
  std::printf("GROUP_SIZE %zu\n", sizeof(optim::OptimizerParamGroup));
  print_options("AdadeltaOptions", optim::AdadeltaOptions());
  print_options("AdagradOptions", optim::AdagradOptions());
  print_options("AdamOptions", optim::AdamOptions());
  print_options("AdamWOptions", optim::AdamWOptions());
  print_options("AdamaxOptions", optim::AdamaxOptions());
  print_options("LBFGSOptions", optim::LBFGSOptions());
  print_options("NAdamOptions", optim::NAdamOptions());
  print_options("RAdamOptions", optim::RAdamOptions());
  print_options("RMSpropOptions", optim::RMSpropOptions());
  print_options("SGDOptions", optim::SGDOptions(0.1));
}

// ---- objects

struct Counter {
  int calls = 7;
};
struct Base : virtual Counter, nn::Module {  // debug information has no offset for a virtual base
  int width = 3;
};
struct Net : Base {
  Net() {
    fc = register_module("fc", nn::Linear(2, 3));
    norm = register_module("norm", std::make_shared<nn::BatchNorm1dImpl>(nn::BatchNorm1dOptions(3).affine(false)));
    scale = register_parameter("scale", ones({}));
  }
  nn::Linear fc{nullptr}, spare{nullptr};
  std::shared_ptr<nn::BatchNorm1dImpl> norm;
  Tensor scale, mask = ones({2}), unused;
  Device where = kCPU;
};

}  // namespace

__attribute__((noinline)) void stop_here(const Tensor& argument, IntArrayRef sizes) {
  [[maybe_unused]] static volatile int64_t used = argument.numel() + static_cast<int64_t>(sizes.size());
}

int main(int argc, char**) {
  if (argc > 1) {
    print_offsets();
    return 0;
  }
  const Tensor matrix = arange(6, kFloat).div(4).view({2, 3});
  const Tensor undefined, number = tensor(2.5, kDouble), empty_matrix = zeros({2, 0});
  const Tensor transposed = matrix.t(), column = matrix.slice(1, 1, 2), expanded = tensor({1.5f}).expand({2, 4});
  const Tensor bytes = tensor({0, 255}, kByte), chars = tensor({-1, 2}, kChar), shorts = tensor({-300, 2}, kShort);
  const Tensor ints = tensor({-70000, 2}, kInt), longs = tensor({int64_t{1} << 40, int64_t{-2}}, kLong);
  const Tensor bools = tensor({1, 0}, kBool), halves = tensor({0.1, -65504.0}).to(kHalf);
  const Tensor bfloats = tensor({0.1, -3.0}).to(kBFloat16), doubles = tensor({1.0 / 3, 1e300}, kDouble);
  const Tensor complex_floats = complex(tensor({1.f, 0.f}), tensor({-2.f, 0.5f}));
  const Tensor complex_halves = complex_floats.to(kComplexHalf), complex_doubles = complex_floats.to(kComplexDouble);
  const Tensor infinite = tensor({std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()});
  const Tensor large = arange(10000).view({100, 100}), deep = arange(4096).view({2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
  Tensor leaf = zeros({2});
  const Tensor leaf_view = leaf.view({2, 1});
  leaf.requires_grad_();
  const std::vector<Tensor> list{matrix, undefined};

  alignas(Tensor) char dangling_memory[sizeof(Tensor)], garbage_memory[sizeof(Tensor)];
  const Tensor *dangling = reinterpret_cast<Tensor*>(dangling_memory),
               *garbage = reinterpret_cast<Tensor*>(garbage_memory);
  std::memset(garbage_memory, 0x5a, sizeof(garbage_memory));

  const Device cpu = kCPU, cuda(kCUDA, 1);
  const Scalar real = 2.5, integer = -3, truth = true, complex_number = Complex<double>(1, -2);
  const Half half(1.5f);
  const BFloat16 bfloat(-0.25f);
  const Dims dims{2, 3};
  const TensorList tensors = list;

  const nn::Sequential sequential(nn::Linear(nn::LinearOptions(2, 1).bias(false)), nn::ReLU());
  nn::Sequential nested;
  for (int i = 0; i < 30; ++i) {
    nn::Sequential outer;
    outer->push_back(nested);
    nested = outer;
  }
  const nn::Linear no_module{nullptr};
  const auto net = std::make_shared<Net>();
  net->eval();
  const nn::Module& module = *net;
  const Net *pointer = net.get(), *null_pointer = nullptr;
  const Net* const& reference = pointer;
  const std::shared_ptr<Net> null_shared;
  const std::unique_ptr<Net> unique = std::make_unique<Net>(), null_unique;
  unique->eval();
  const Tensors parameters = net->named_parameters();
  const nn::LinearOptions options(2, 3);
  optim::SGD sgd({std::vector<Tensor>{net->scale}}, optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
  sgd.add_param_group(optim::OptimizerParamGroup(net->fc->parameters(), std::make_unique<optim::SGDOptions>(0.01)));
  const optim::Adam adam(net->parameters());
  {  // last, so that nothing reuses the memory
    const Tensor freed = ones({2});
    std::memcpy(dangling_memory, &freed, sizeof(freed));
  }
  stop_here(matrix, matrix.sizes());
}
