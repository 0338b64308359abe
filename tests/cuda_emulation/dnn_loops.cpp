// Convolutions by plain loops over dense copies of the operands.
#include <algorithm>
#include <vector>

#include "tandem/tests/cuda_emulation/dnn.h"

namespace tandem::cuda_emulation {
namespace {

template <class F>
void for_each(const Strided& t, F f) {
  int64_t dense = 0;
  for (int64_t n = 0; n < t.sizes[0]; ++n)
    for (int64_t c = 0; c < t.sizes[1]; ++c)
      for (int64_t d = 0; d < t.sizes[2]; ++d)
        for (int64_t h = 0; h < t.sizes[3]; ++h)
          for (int64_t w = 0; w < t.sizes[4]; ++w)
            f(static_cast<std::size_t>(dense++),
              n * t.strides[0] + c * t.strides[1] + d * t.strides[2] + h * t.strides[3] + w * t.strides[4]);
}

// Operands are stored as S.
template <class T, class S>
std::vector<T> dense(const Strided& t, const void* p, bool tf32) {
  std::vector<T> out(static_cast<std::size_t>(t.count()));
  for_each(t, [&](std::size_t i, int64_t at) { out[i] = operand(static_cast<T>(static_cast<const S*>(p)[at]), tf32); });
  return out;
}

template <class T, class S>
void store(const Strided& t, void* p, const std::vector<T>& values, double alpha, double beta) {
  S* to = static_cast<S*>(p);
  for_each(t, [&](std::size_t i, int64_t at) {
    const T value = static_cast<T>(alpha) * values[i];
    to[at] = static_cast<S>(beta == 0 ? value : value + static_cast<T>(beta) * static_cast<T>(to[at]));
  });
}

// A row of outputs that one weight contributes to: dense indices of the first input, the weight and the first
// output.
struct Row {
  int64_t x, w, y, count, step;
};

// The outputs o of one dimension for which the input o * stride - pad + k * dilation exists: [first, last).
struct Range {
  int64_t first, last;
};
Range outputs(const Convolution& c, int dim, int64_t k) {
  const int64_t shift = k * c.dilations[dim] - c.pads[dim], stride = c.strides[dim], size = c.x.sizes[dim + 2];
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t last = size - shift <= 0 ? 0 : (size - shift - 1) / stride + 1;
  return {first, std::max(first, std::min(last, c.y.sizes[dim + 2]))};
}

template <class F>
void rows_of_filter(const Convolution& c, int64_t x, int64_t w, int64_t y, F f) {
  const int64_t *xs = c.x.sizes, *ws = c.w.sizes, *ys = c.y.sizes;
  const auto input = [&](int dim, int64_t o, int64_t k) {
    return o * c.strides[dim] - c.pads[dim] + k * c.dilations[dim];
  };
  for (int64_t kd = 0; kd < ws[2]; ++kd)
    for (int64_t kh = 0; kh < ws[3]; ++kh)
      for (int64_t kw = 0; kw < ws[4]; ++kw, ++w) {
        const Range ds = outputs(c, 0, kd), hs = outputs(c, 1, kh), row = outputs(c, 2, kw);
        for (int64_t d = ds.first; d < ds.last; ++d)
          for (int64_t h = hs.first; h < hs.last; ++h)
            f(Row{x + (input(0, d, kd) * xs[3] + input(1, h, kh)) * xs[4] + input(2, row.first, kw), w,
                  y + (d * ys[3] + h) * ys[4] + row.first, row.last - row.first, c.strides[2]});
      }
}

// Visits every product of an input and a weight that contributes to an output.
template <class F>
void for_each_row(const Convolution& c, bool reversed, F f) {
  const int64_t batch = c.x.sizes[0], inputs = c.w.sizes[1], all_outputs = c.w.sizes[0], own = all_outputs / c.groups;
  const int64_t x_plane = c.x.sizes[2] * c.x.sizes[3] * c.x.sizes[4];
  const int64_t w_plane = c.w.sizes[2] * c.w.sizes[3] * c.w.sizes[4];
  const int64_t y_plane = c.y.sizes[2] * c.y.sizes[3] * c.y.sizes[4];
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t j = 0; j < all_outputs; ++j) {
      const int64_t n = reversed ? batch - 1 - i : i, k = reversed ? all_outputs - 1 - j : j;
      for (int64_t channel = 0; channel < inputs; ++channel) {
        const int64_t x = (n * c.x.sizes[1] + k / own * inputs + channel) * x_plane;
        rows_of_filter(c, x, (k * inputs + channel) * w_plane, (n * all_outputs + k) * y_plane, f);
      }
    }
}

template <class T, class S>
void run_as(const Convolution& c, Pass pass, const Pointers& p, double alpha, double beta, bool reversed) {
  const Strided& first = pass == Pass::kData ? c.y : c.x;
  const Strided& second = pass == Pass::kFilter ? c.y : c.w;
  const Strided& result = pass == Pass::kForward ? c.y : pass == Pass::kData ? c.x : c.w;
  const std::vector<T> a = dense<T, S>(first, p.a, c.tf32), b = dense<T, S>(second, p.b, c.tf32);
  std::vector<T> sum(static_cast<std::size_t>(result.count()));
  for_each_row(c, reversed, [&](const Row& r) {
    if (pass == Pass::kForward) {
      const T weight = b[static_cast<std::size_t>(r.w)], *x = a.data() + r.x;
      T* y = sum.data() + r.y;
      for (int64_t i = 0; i < r.count; ++i) y[i] += weight * x[i * r.step];
    } else if (pass == Pass::kData) {
      const T weight = b[static_cast<std::size_t>(r.w)], *dy = a.data() + r.y;
      T* dx = sum.data() + r.x;
      for (int64_t i = 0; i < r.count; ++i) dx[i * r.step] += weight * dy[i];
    } else {
      const T *x = a.data() + r.x, *dy = b.data() + r.y;
      T total = 0;
      for (int64_t i = 0; i < r.count; ++i) total += x[i * r.step] * dy[i];
      sum[static_cast<std::size_t>(r.w)] += total;
    }
  });
  store<T, S>(result, p.out, sum, alpha, beta);
}

}  // namespace

void run(const Convolution& c, Pass pass, const Pointers& p, double alpha, double beta, bool reversed) {
  by_dtype(c.type, [&]<class T, class S>(T, S) { run_as<T, S>(c, pass, p, alpha, beta, reversed); });
}

}  // namespace tandem::cuda_emulation
