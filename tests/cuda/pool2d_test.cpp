// CUDA's pooling against the CPU.
#include <doctest/doctest.h>

#include <cmath>

#include "tandem/core/backend/pool.h"
#include "tandem/core/reproducible.h"
#include "tandem/tests/cuda/on_device.h"
#include "tandem/tests/cuda/skip.h"

using namespace tandem;

namespace {

using Inputs = std::vector<Tensor>;

double tolerance(ScalarType dtype) { return dtype == kFloat ? 1e-5 : 1e-12; }

// With zeros of both signs.
Tensor gradient(IntArrayRef sizes, ScalarType dtype) {
  Tensor g = randn(sizes, kDouble);
  g.masked_fill_(randint(5, sizes) == 0, 0.).masked_fill_(randint(5, sizes) == 0, -0.);
  return g.to(dtype);
}

struct Pooled {
  Pool2dParameters p;
  int64_t h, w;
};

void check_max(const Pooled& c, ScalarType dtype, bool with_nan) {
  const int64_t oh = c.p.out_size(0, c.h), ow = c.p.out_size(1, c.w);
  Tensor x = randint(6, {4, c.h, c.w}).to(dtype);  // with ties
  if (with_nan) x.masked_fill_(randint(5, {4, c.h, c.w}) == 0, NAN);
  const Tensor indices = empty({4, oh, ow}, kLong), out = empty({4, oh, ow}, dtype), g = gradient({4, oh, ow}, dtype);
  same_bits(indices, {x}, [&](const Backend& b, const Tensor& o, const Inputs& in) {
    b.pool.max_forward(empty_raw(o.sizes(), dtype, o.device()), o, in[0], c.p);
  });
  nearly_same(out, {x}, 0,
              [&](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.max_forward(o, {}, in[0], c.p); });
  backend(kCPU).pool.max_forward(out, indices, x, c.p);
  same_bits(empty(x.sizes(), dtype), {g, indices},
            [&](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.max_backward(o, in[0], in[1], c.p); });
  same_bits(empty(out.sizes(), dtype), {randn(x.sizes(), dtype), indices},
            [&](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.max_gather(o, in[0], in[1], c.p); });
}

void check_average(const Pooled& c, ScalarType dtype) {
  const int64_t oh = c.p.out_size(0, c.h), ow = c.p.out_size(1, c.w);
  same_bits(empty({4, oh, ow}, dtype), {randn({4, c.h, c.w}, dtype)},
            [&](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.avg_forward(o, in[0], c.p); });
  same_bits(empty({4, c.h, c.w}, dtype), {gradient({4, oh, ow}, dtype)},
            [&](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.avg_backward(o, in[0], c.p); });
}

}  // namespace

TEST_CASE("maximum and average pooling and their gradients") {
  if (!has_devices(1)) return;
  const std::vector<Pooled> cases = {
      {{.kernel = {2, 2}, .stride = {2, 2}}, 8, 6},
      {{.kernel = {2, 2}, .stride = {2, 2}}, 7, 9},
      {{.kernel = {2, 2}, .stride = {2, 2}, .ceil_mode = true}, 7, 9},
      {{.kernel = {3, 2}, .stride = {1, 1}, .padding = {1, 1}}, 7, 9},
      {{.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 0}, .count_include_pad = false}, 7, 9},
      {{.kernel = {2, 2}, .stride = {3, 4}, .divisor_override = 3}, 11, 9},
      {{.kernel = {2, 2}, .stride = {2, 2}, .divisor_override = 3}, 8, 8},
      {{.kernel = {5, 5}, .stride = {3, 3}, .padding = {2, 2}, .ceil_mode = true}, 9, 8},
      {{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, 12, 16},
      {{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, 11, 14},
      {{.kernel = {3, 3}, .stride = {3, 4}, .padding = {1, 1}, .count_include_pad = false}, 10, 11},
      {{.kernel = {3, 2}, .stride = {3, 2}, .ceil_mode = true}, 10, 12},
      {{.kernel = {4, 2}, .stride = {4, 2}}, 13, 10},
      {{.kernel = {2, 2}, .stride = {2, 2}, .divisor_override = -3}, 6, 6},
      {{.kernel = {7, 7}, .stride = {7, 7}}, 7, 15},
  };
  for (const Pooled& c : cases)
    for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
      CAPTURE(c.h);
      CAPTURE(c.p.kernel[0]);
      CAPTURE(std::string(name(dtype)));
      check_average(c, dtype);
      check_max(c, dtype, false);
    }
  check_max(cases[0], kFloat, true);
  check_max(cases[3], kFloat, true);
  check_max({{.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 1}, .dilation = {2, 3}}, 9, 8}, kFloat, false);
  check_max({{.kernel = {2, 2}, .stride = {1, 1}, .padding = {1, 1}, .dilation = {3, 3}, .ceil_mode = true}, 2, 2},
            kFloat, false);
}

TEST_CASE("adaptive average pooling and its gradient") {
  if (!has_devices(1)) return;
  for (const auto& [h, w, oh, ow] : {std::array<int64_t, 4>{7, 5, 3, 2},
                                     {4, 4, 4, 4},
                                     {3, 2, 5, 7},
                                     {40, 30, 1, 1},
                                     {33, 40, 2, 3},
                                     {8, 12, 4, 6},
                                     {7, 7, 1, 1}})
    for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
      if (!isReducedFloatingType(dtype))  // the CPU adds rows in another order, which a half type's rounding shows
        nearly_same(empty({5, oh, ow}, dtype), {randn({5, h, w}, dtype)}, tolerance(dtype),
                    [](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.adaptive_avg_forward(o, in[0]); });
      same_bits(empty({5, h, w}, dtype), {gradient({5, oh, ow}, dtype)},
                [](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.adaptive_avg_backward(o, in[0]); });
    }
}

TEST_CASE("gradients of pooling at an address that is not aligned") {
  if (!has_devices(1)) return;
  for (const Pooled& c : {Pooled{{.kernel = {2, 2}, .stride = {2, 2}}, 8, 12},
                          Pooled{{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, 9, 12}}) {
    const int64_t oh = c.p.out_size(0, c.h), ow = c.p.out_size(1, c.w);
    const Tensor g = randn({3, oh, ow}, kFloat), x = randn({3, c.h, c.w}, kFloat), indices = empty({3, oh, ow}, kLong);
    backend(kCPU).pool.max_forward(empty({3, oh, ow}, kFloat), indices, x, c.p);
    const Tensor to = alias(zeros({x.numel() + 1}, kFloat), x.sizes(), x.strides(), 1);
    same_bits(to, {g},
              [&](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.avg_backward(o, in[0], c.p); });
    same_bits(to, {g, indices},
              [&](const Backend& b, const Tensor& o, const Inputs& in) { b.pool.max_backward(o, in[0], in[1], c.p); });
  }
}

TEST_CASE("planes and windows that 31 bits cannot address are refused") {
  if (!has_devices(1)) return;
  static constexpr int64_t kLimit = int64_t{1} << 30;
  const Tensor one = zeros({1}, TensorOptions(Device("cuda:0"))), place = one.to(kLong);
  // All elements are the same one: nothing may be read or written.
  const auto planes = [&](int64_t count, int64_t h, int64_t w) { return alias(one, {count, h, w}, {0, 0, 0}, 0); };
  const auto places = [&](const Tensor& t) { return alias(place, t.sizes(), {0, 0, 0}, 0); };
  const PoolKernels& pool = backend(kCUDA).pool;
  const auto refused = [](const char* operation, auto&& run) {
    const std::string text =
        concat(operation, ": planes and windows on CUDA must have less than ", kLimit, " elements");
    CHECK_THROWS_WITH_AS(run(), doctest::Contains(text.c_str()), Error);
  };
  const auto all_refused = [&](const Tensor& x, const Tensor& y, const Pool2dParameters& p) {
    CAPTURE(x.describe());
    CAPTURE(y.describe());
    refused("avg_pool2d", [&] { pool.avg_forward(y, x, p); });
    refused("avg_pool2d_backward", [&] { pool.avg_backward(x, y, p); });
    if (reproducible() != Reproducible::kStrict) refused("max_pool2d", [&] { pool.max_forward(y, {}, x, p); });
    refused("max_pool2d", [&] { pool.max_forward(y, places(y), x, p); });
    refused("max_pool2d_backward", [&] { pool.max_backward(x, y, places(y), p); });
    refused("max_pool2d_gather", [&] { pool.max_gather(y, x, places(y), p); });
  };
  const Tensor small = planes(2, 1, 1);
  all_refused(planes(2, 1 << 15, 1 << 15), small, {});
  all_refused(small, planes(2, 1 << 15, 1 << 15), {});
  for (const std::size_t d : {0, 1}) {
    Pool2dParameters kernel, padding, dilation;
    kernel.kernel[d] = kLimit;
    padding.padding[d] = kLimit / 2;
    dilation.kernel[d] = 2;
    dilation.dilation[d] = kLimit / 2;
    for (const Pool2dParameters& p : {kernel, padding, dilation}) all_refused(small, small, p);
    Pool2dParameters stride;
    stride.stride[d] = kLimit / 2;
    all_refused(small, d == 0 ? planes(2, 2, 1) : planes(2, 1, 2), stride);
  }
  if (reproducible() != Reproducible::kStrict)
    for (const Tensor& x : {planes(2, 1 << 15, 1 << 15), small})
      refused("adaptive_avg_pool2d",
              [&] { pool.adaptive_avg_forward(x.numel() > 2 ? small : planes(2, 1 << 16, 1 << 16), x); });
  refused("adaptive_avg_pool2d_backward",
          [&] { pool.adaptive_avg_backward(planes(2, 1 << 15, 1 << 15), planes(2, 3, 1)); });
  refused("adaptive_avg_pool2d_backward", [&] { pool.adaptive_avg_backward(small, planes(2, 1 << 15, 1 << 15)); });
}
