// CUDA's pooling against the CPU.
#include <doctest/doctest.h>

#include <cmath>

#include "tandem/core/backend/pool.h"
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
