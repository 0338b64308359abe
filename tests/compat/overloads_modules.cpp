// Options of modules and of torch::nn::functional.
#include "overloads.h"

// Calls are packed densely, several per line.
// clang-format off

namespace overloads {
namespace {

namespace F = torch::nn::functional;

// Types as members that depend on a template argument, so that failure to compile is a result.
struct Types {
  using Conv1d = torch::nn::Conv1dOptions;
  using Conv2d = torch::nn::Conv2dOptions;
  using ConvTranspose2d = torch::nn::ConvTranspose2dOptions;
  using MaxPool1d = torch::nn::MaxPool1dOptions;
  using MaxPool2d = torch::nn::MaxPool2dOptions;
  using AvgPool2d = torch::nn::AvgPool2dOptions;
  using Adaptive2d = torch::nn::AdaptiveAvgPool2dOptions;
  using LayerNorm = torch::nn::LayerNormOptions;
  using Unfold = torch::nn::UnfoldOptions;
  using Fold = torch::nn::FoldOptions;
  using ConstantPad1d = torch::nn::ConstantPad1dOptions;
  using ReflectionPad2d = torch::nn::ReflectionPad2dOptions;
  using ZeroPad2d = torch::nn::ZeroPad2dOptions;
  using Upsample = torch::nn::UpsampleOptions;
  using Pad = F::PadFuncOptions;
  using Interpolate = F::InterpolateFuncOptions;
  using Normalize = F::NormalizeFuncOptions;
  using ConvF = F::Conv2dFuncOptions;
  using PoolF = F::MaxPool2dFuncOptions;
  using AvgF = F::AvgPool2dFuncOptions;
  using AdaptiveF = F::AdaptiveAvgPool2dFuncOptions;
  using UnfoldF = F::UnfoldFuncOptions;
  using LayerNormF = F::LayerNormFuncOptions;
  using OneD = F::MaxPool1dFuncOptions;
};

}  // namespace

// TYPE(x) expands to Types::x.
#define TYPE(name) typename std::decay_t<decltype(types)>::name
#define OPTION(...)                                                              \
  lines.add(#__VA_ARGS__, [](const Given& given) -> std::string {                \
    return [](const auto& types, const Given& given) -> std::string {            \
      [[maybe_unused]] const auto &v = given.v, &w = given.w;                    \
      [[maybe_unused]] const auto& image = given.image;                          \
      [[maybe_unused]] const auto& t = given.t;                                  \
      [[maybe_unused]] const torch::IntArrayRef r(given.v);                      \
      (void)types;                                                               \
      if constexpr (requires { (__VA_ARGS__); })                                   \
        return show(__VA_ARGS__);                                                \
      else                                                                       \
        return "does not compile";                                               \
    }(Types(), given);                                                           \
  });

void add_convolutions(Lines& lines) {
  OPTION(TYPE(Conv2d)(1, 2, 3).kernel_size()) OPTION(TYPE(Conv2d)(1, 2, {3}).kernel_size())
  OPTION(TYPE(Conv2d)(1, 2, {3, 2}).kernel_size()) OPTION(TYPE(Conv2d)(1, 2, {3, 2, 1}).kernel_size())
  OPTION(TYPE(Conv2d)(1, 2, w).kernel_size()) OPTION(TYPE(Conv2d)(1, 2, r).kernel_size())
  OPTION(TYPE(Conv2d)(1, 2, {}).kernel_size()) OPTION(TYPE(Conv1d)(1, 2, {3}).kernel_size())
  OPTION(TYPE(Conv1d)(1, 2, 3).kernel_size()) OPTION(TYPE(Conv2d)(1, 2, 3).stride(2).stride())
  OPTION(TYPE(Conv2d)(1, 2, 3).stride({2}).stride()) OPTION(TYPE(Conv2d)(1, 2, 3).stride({1, 2}).stride())
  OPTION(TYPE(Conv2d)(1, 2, 3).stride(w).stride()) OPTION(TYPE(Conv2d)(1, 2, 3).stride({}).stride())
  OPTION(TYPE(Conv2d)(1, 2, 3).dilation({2, 1}).dilation()) OPTION(TYPE(Conv1d)(1, 2, 3).stride({2}).stride())
  OPTION(TYPE(Conv1d)(1, 2, 3).dilation({2}).dilation())
  OPTION(TYPE(ConvTranspose2d)(1, 2, 3).output_padding({1, 0}).output_padding())
  OPTION(TYPE(ConvTranspose2d)(1, 2, 3).padding({1}).padding())
  OPTION(F::conv2d(image, image, TYPE(ConvF)().stride({1, 2})))
  OPTION(F::conv2d(image, image, TYPE(ConvF)().padding({1, 0})))
  OPTION(F::conv2d(image, image, TYPE(ConvF)().padding(1)))
  OPTION(F::conv2d(image, image, TYPE(ConvF)().padding({1})))
  OPTION(F::conv2d(image, image.slice(2, 0, 1), TYPE(ConvF)().padding(torch::kSame)))
  OPTION(torch::nn::Conv2d(TYPE(Conv2d)(2, 2, 3).padding({1, 0}))->forward(image).sizes())
  OPTION(torch::nn::Conv2d(TYPE(Conv2d)(2, 2, 3).padding(1))->forward(image).sizes())
  OPTION(torch::nn::Conv2d(TYPE(Conv2d)(2, 2, 3).padding(torch::kSame))->forward(image).sizes())
  OPTION(torch::nn::Conv2d(2, 3, 3)->forward(image).sizes())
}
void add_pools(Lines& lines) {
  OPTION(TYPE(MaxPool2d)(2).kernel_size()) OPTION(TYPE(MaxPool2d)(2).stride())
  OPTION(TYPE(MaxPool2d)({2, 1}).stride()) OPTION(TYPE(MaxPool2d)({2}).kernel_size())
  OPTION(TYPE(MaxPool2d)(2).stride({1, 2}).stride()) OPTION(TYPE(MaxPool2d)(w).kernel_size())
  OPTION(TYPE(MaxPool1d)({2}).kernel_size()) OPTION(TYPE(AvgPool2d)({2, 1}).padding({1, 0}).padding())
  OPTION(F::max_pool2d(image, TYPE(PoolF)(2))) OPTION(F::max_pool2d(image, TYPE(PoolF)({2, 1})))
  OPTION(F::max_pool2d(image, TYPE(PoolF)(2).stride({1, 2}))) OPTION(F::max_pool2d(image, TYPE(PoolF)({2})))
  OPTION(F::max_pool1d(image[0], TYPE(OneD)({2}))) OPTION(F::avg_pool2d(image, TYPE(AvgF)({2, 1}).stride(1)))
  OPTION(F::adaptive_avg_pool2d(image, TYPE(AdaptiveF)({1, 2})))
  OPTION(F::adaptive_avg_pool2d(image, TYPE(AdaptiveF)(1)))
  OPTION(F::adaptive_avg_pool2d(image, TYPE(AdaptiveF)({1, torch::nullopt})))
  OPTION(F::adaptive_avg_pool2d(image, TYPE(AdaptiveF)({1})))
  OPTION(torch::nn::AdaptiveAvgPool2d(TYPE(Adaptive2d)({1, 2}))->forward(image).sizes())
  OPTION(torch::nn::MaxPool2d(2)->forward(image).sizes())
  OPTION(torch::nn::MaxPool2d(TYPE(MaxPool2d)({2, 1}))->forward(image).sizes())
}
void add_functionals(Lines& lines) {
  OPTION((TYPE(LayerNorm)({5}).normalized_shape())) OPTION((TYPE(LayerNorm)({4, 5}).normalized_shape()))
  OPTION((TYPE(LayerNorm)(w).normalized_shape())) OPTION((TYPE(LayerNorm)(5).normalized_shape()))
  OPTION(F::layer_norm(t, TYPE(LayerNormF)({5}))) OPTION(F::layer_norm(t, TYPE(LayerNormF)({4, 5})))
  OPTION(TYPE(Unfold)(2).kernel_size()) OPTION(TYPE(Unfold)({2, 1}).stride({1, 2}).stride())
  OPTION(TYPE(Fold)(4, 2).output_size()) OPTION(TYPE(Fold)({4, 2}, {2, 1}).output_size())
  OPTION(F::unfold(image, TYPE(UnfoldF)({2, 2}).stride(2)).sizes())
  OPTION(TYPE(ConstantPad1d)({1, 0}, 2.5).padding()) OPTION(TYPE(ConstantPad1d)(1, 2).padding())
  OPTION(TYPE(ReflectionPad2d)(1).padding()) OPTION(TYPE(ReflectionPad2d)({1, 2, 0, 1}).padding())
  OPTION(TYPE(ZeroPad2d)({1, 2, 3, 4}).padding()) OPTION(TYPE(ReflectionPad2d)({1, 2}).padding())
  OPTION(F::pad(t, TYPE(Pad)({1, 1}))) OPTION(F::pad(t, TYPE(Pad)({1})))
  OPTION(F::pad(t, TYPE(Pad)({1, 0, 0, 1}).value(2))) OPTION(F::pad(t, TYPE(Pad)({})))
  OPTION(F::pad(t, TYPE(Pad)(w))) OPTION(F::pad(t, TYPE(Pad)({1, 1}).mode(torch::kReplicate)))
  OPTION(F::interpolate(image, TYPE(Interpolate)().size(std::vector<int64_t>{2, 2})))
  OPTION(F::interpolate(image, TYPE(Interpolate)().scale_factor(std::vector<double>{2, 1})).sizes())
  OPTION(F::interpolate(image, TYPE(Interpolate)().size({{2, 2}})).sizes())
  OPTION(F::interpolate(image, TYPE(Interpolate)().size({2, 2})).sizes())
  OPTION(F::interpolate(image, TYPE(Interpolate)().scale_factor({{2.0, 2.0}})).sizes())
  OPTION(F::interpolate(image, TYPE(Interpolate)().size({2})).sizes())
  OPTION(F::interpolate(image, TYPE(Interpolate)().scale_factor({2.0})).sizes())
  OPTION(torch::nn::Upsample(TYPE(Upsample)().scale_factor(std::vector<double>{2, 2}))->forward(image).sizes())
  OPTION(F::normalize(t, TYPE(Normalize)().p(1).dim(0))) OPTION(F::normalize(t)) OPTION(F::softmax(t, 0))
  OPTION(F::softmax(t, {0})) OPTION(F::log_softmax(t, 1)) OPTION(F::gumbel_softmax(t).sizes())
  OPTION(F::relu(t, true)) OPTION(F::relu(t, {}))
  OPTION(F::one_hot(t.view({-1}).slice(0, 0, 2).to(torch::kLong), 12)) OPTION(F::leaky_relu(t, {}))
  OPTION(F::glu(image, -1)) OPTION(F::mse_loss(t, t, torch::kSum)) OPTION(F::mse_loss(t, t, {}))
  OPTION(F::nll_loss(t, t[0].slice(0, 0, 4).to(torch::kLong).clamp(0, 4)))
}
void add_modules(Lines& lines) {
  add_convolutions(lines);
  add_pools(lines);
  add_functionals(lines);
}

}  // namespace overloads
