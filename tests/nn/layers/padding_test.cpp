// Padding layers, and the padding modes of convolutions: values from PyTorch 2.15, errors.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

TEST_CASE("padding_mode of convolutions") {
  const auto conv = [](nn::PaddingMode mode) {
    nn::Conv2d layer(nn::Conv2dOptions(1, 1, 3).padding(1).padding_mode(mode).bias(false));
    NoGradGuard no_grad;
    layer->weight.copy_(count({1, 1, 3, 3}));
    return layer(count({1, 1, 3, 4}));
  };
  CHECK(near(conv(kReflect), {120, 138, 174, 180, 240, 258, 294, 300, 216, 234, 270, 276}));
  CHECK(near(conv(kReplicate), {99, 126, 162, 183, 231, 258, 294, 315, 291, 318, 354, 375}));
  CHECK(near(conv(kCircular), {150, 150, 186, 162, 258, 258, 294, 270, 150, 150, 186, 162}));
  nn::Conv2d same(nn::Conv2dOptions(1, 1, 2).padding(kSame).padding_mode(kCircular).bias(false));
  nn::Conv1d line(nn::Conv1dOptions(1, 1, 3).padding(2).padding_mode(kReflect).bias(false));
  {
    NoGradGuard no_grad;
    same->weight.copy_(count({1, 1, 2, 2}));
    line->weight.copy_(count({1, 1, 3}));
  }
  CHECK(near(same(count({1, 1, 3, 4})), {24, 30, 36, 26, 48, 54, 60, 50, 12, 18, 24, 14}));
  CHECK(near(line(count({1, 1, 4})), {1, 2, 5, 8, 7, 4}));
  CHECK(text(line).find("padding_mode=kReflect") != std::string::npos);
  for (const auto mode : {kConstant, kBorder, kReflection})
    CHECK_THROWS_WITH_AS(nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding_mode(mode)), doctest::Contains("padding_mode"),
                         Error);
}

TEST_CASE("padding layers") {
  const Tensor x = count({1, 2, 3});
  CHECK(near(nn::ReflectionPad1d(1)(x), {1, 0, 1, 2, 1, 4, 3, 4, 5, 4}));
  CHECK(near(nn::ReplicationPad1d(nn::ReplicationPad1dOptions({1, 0}))(x), {0, 0, 1, 2, 3, 3, 4, 5}));
  CHECK(near(nn::ConstantPad1d(1, 7.0)(x), {7, 0, 1, 2, 7, 7, 3, 4, 5, 7}));
  CHECK(nn::ZeroPad1d(2)(x).sizes() == IntArrayRef{1, 2, 7});
  CHECK(near(nn::ZeroPad2d(nn::ZeroPad2dOptions({0, 1, 1, 0}))(x), {0, 0, 0, 0, 0, 1, 2, 0}));
  CHECK(nn::ReflectionPad2d(1)(count({1, 1, 2, 2})).sizes() == IntArrayRef{1, 1, 4, 4});
  CHECK(nn::ReplicationPad2d(1)(count({1, 1, 2, 2})).sum().item<float>() == 24);
  CHECK(nn::ConstantPad2d(1, 1.0)(zeros({1, 1, 2, 2})).sum().item<float>() == 12);
  CHECK(near(F::pad(x, F::PadFuncOptions({2, 1}).mode(kCircular)), {1, 2, 0, 1, 2, 0}));
  for (const auto mode : {kZeros, kBorder, kReflection})
    CHECK_THROWS_WITH_AS(F::pad(x, F::PadFuncOptions({2, 1}).mode(mode)), doctest::Contains("pad: mode must be"),
                         Error);
  CHECK(text(nn::ReflectionPad1d(1)) == "tandem::nn::ReflectionPad1d(padding=[1, 1])");
}
