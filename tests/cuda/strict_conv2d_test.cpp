// Convolutions: every order of sums that core/formulas/conv2d_order.h chooses.
#include <random>

#include "tandem/tests/cuda/strict.h"

using namespace tandem;

namespace {

struct Shape {
  int64_t batch, in, h, w, out, kernel_h, kernel_w;
  std::vector<int64_t> stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
};

void same_conv2d(const Shape& s, ScalarType type, MemoryFormat format = MemoryFormat::Contiguous, bool bias = true) {
  CAPTURE(s.batch);
  CAPTURE(s.in);
  CAPTURE(s.h);
  CAPTURE(s.w);
  CAPTURE(s.out);
  CAPTURE(s.kernel_h);
  CAPTURE(s.kernel_w);
  CAPTURE(s.stride[0]);
  CAPTURE(s.padding[0]);
  CAPTURE(s.dilation[0]);
  CAPTURE(s.groups);
  CAPTURE(type);
  Tensors inputs{randn({s.batch, s.in, s.h, s.w}).to(type).contiguous(format),
                 randn({s.out, s.in / s.groups, s.kernel_h, s.kernel_w}).to(type)};
  if (bias) inputs.push_back(randn({s.out}).to(type));
  same(
      [&](const Tensors& x) {
        return conv2d(x[0], x[1], bias ? x[2] : Tensor(), s.stride, s.padding, s.dilation, s.groups);
      },
      inputs);
}

constexpr ScalarType kTypes[] = {kFloat, kDouble, kBFloat16, kHalf};
constexpr auto kLast = MemoryFormat::ChannelsLast;

}  // namespace

TEST_CASE("strict: convolutions of every method") {
  if (!is_strict_device()) return;
  const Shape shapes[] = {
      {3, 4, 9, 8, 6, 3, 2},
      {3, 4, 9, 8, 6, 3, 2, {2, 3}, {1, 2}},         // gradient of the input by taps
      {3, 4, 9, 8, 6, 3, 2, {1}, {2, 0}, {2, 3}},    // dilated rows
      {35, 1, 12, 12, 6, 5, 5},                      // shallow, several images in a part
      {2, 2, 70, 75, 5, 3, 3, {1}, {1}},             // shallow, several bands
      {5, 6, 9, 9, 6, 3, 3, {1}, {1}, {1}, 6},       // depthwise
      {3, 20, 9, 9, 20, 3, 3, {2}, {1}, {1}, 20},    // depthwise with a stride
      {2, 3, 6, 6, 9, 3, 3, {1}, {1}, {1}, 3},       // depthwise with three outputs
      {3, 12, 9, 9, 48, 3, 3, {1}, {1}, {1}, 3},     // groups
      {20, 8, 12, 12, 12, 3, 3, {1}, {1}},           // rows, blocks of images
      {1, 16, 150, 170, 6, 3, 3, {1}, {1}},          // rows, bands of an image
      {20, 16, 20, 20, 10, 3, 3, {2}, {1}, {1, 2}},  // rows, a stride
      {5, 5, 21, 29, 5, 3, 3, {1}, {1}},             // columns, several pieces
      {1, 28, 66, 65, 5, 3, 3, {1}, {1}},            // columns, several bands
      {3, 40, 16, 16, 70, 1, 1},                     // columns of a kernel of one tap
      {4, 40, 8, 8, 20, 3, 3, {1}, {1}},             // channels, few positions
      {9, 20, 14, 14, 100, 1, 1},                    // channels, parts of the batch
      {2, 16, 1, 1, 40, 3, 3, {1}, {1}},             // taps that meet nothing but padding
      {2, 16, 2, 2, 40, 5, 3, {2}, {2, 1}},          // the same, with a stride
      {2, 3, 5, 5, 1100, 3, 3, {2}, {1}},            // gradient of the input in several pieces
      {1, 64, 45, 130, 2, 7, 7, {2}, {3}},           // and in several bands of rows
      {2, 3, 8, 7, 2, 2, 2, {3, 4}},                 // inputs that nothing sees
  };
  for (const Shape& s : shapes) {
    same_conv2d(s, kFloat);
    if (s.batch * s.in * s.out * s.h * s.w < 1 << 18)
      for (const ScalarType type : kTypes) {
        same_conv2d(s, type, kLast);
        same_conv2d(s, type, MemoryFormat::Contiguous, false);
      }
  }
  same_conv2d({22, 16, 14, 14, 512, 1, 1}, kDouble);  // channels, in several chunks of the batch
}

TEST_CASE("strict: convolutions of random shapes") {
  if (!is_strict_device()) return;
  std::mt19937 random(1);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 60; ++i) {
    const int64_t groups = draw(0, 2) == 0 ? draw(2, 4) : 1;
    const Shape s{draw(1, 20),
                  groups * draw(1, 9),
                  draw(7, 16),
                  draw(7, 16),
                  groups * draw(1, 20),
                  draw(1, 4),
                  draw(1, 4),
                  {draw(1, 2), draw(1, 3)},
                  {draw(0, 2), draw(0, 3)},
                  {draw(1, 2), draw(1, 2)},
                  groups};
    same_conv2d(s, kTypes[i % 4], i % 3 == 0 ? kLast : MemoryFormat::Contiguous, i % 5 != 0);
  }
}

TEST_CASE("strict: convolutions made of two-dimensional ones") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes) {
    const auto drawn = [&](IntArrayRef sizes) { return randn(sizes).to(type); };
    same([](const Tensors& x) { return conv1d(x[0], x[1], x[2], 2, 1, 2); },
         {drawn({3, 6, 31}), drawn({8, 6, 3}), drawn({8})});
    same(
        [](const Tensors& x) {
          return conv3d(x[0], x[1], x[2], {2, 1, 1}, 1);
        },
        {drawn({2, 4, 5, 6, 7}), drawn({6, 4, 3, 3, 3}), drawn({6})});
    same([](const Tensors& x) { return conv_transpose1d(x[0], x[1], x[2], 2, 1, 1); },
         {drawn({3, 6, 9}), drawn({6, 4, 4}), drawn({4})});
    for (const MemoryFormat format : {MemoryFormat::Contiguous, kLast})
      for (const int64_t stride : {1, 2})
        same([&](const Tensors& x) { return conv_transpose2d(x[0], x[1], x[2], stride, 1, stride - 1, 2); },
             {drawn({3, 6, 5, 7}).contiguous(format), drawn({6, 4, 3, 4}), drawn({8})});
    same([](const Tensors& x) { return conv_transpose3d(x[0], x[1], x[2], 2, 1); },
         {drawn({2, 4, 3, 4, 5}), drawn({4, 3, 3, 3, 3}), drawn({3})});
  }
}

TEST_CASE("strict: convolutions of empty tensors, and gradients of gradients") {
  if (!is_strict_device()) return;
  same_conv2d({0, 4, 9, 8, 6, 3, 3}, kFloat);
  same_conv2d({2, 0, 9, 8, 6, 3, 3}, kFloat);
  same(
      [](const Tensors& x) {
        const Tensor y = conv2d(x[0], x[1], x[2], 2, 1);
        return autograd::grad({y.square()}, {x[1]}, {y.detach()}, true, true)[0];
      },
      {randn({3, 4, 9, 9}), randn({6, 4, 3, 3}), randn({6})});
}
