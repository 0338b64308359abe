// Products with a matrix of int8 values, in the order of core/cpu/linalg/quantized_linear.cpp: few rows are multiplied with
// the bytes, more rows with the converted matrix.
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/formulas/math.h"
#include "tandem/core/formulas/sum_order.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/strict/matmul.h"

namespace tandem::cuda_impl::strict {
namespace {

constexpr int kWidth = 16, kThreads = 256, kMatrixRows = kThreads / kWidth;

struct Int8Matrix {
  const int8_t* values;
  const float* scales;
  int64_t n, k, groups, group;  // group: values that share a scale
};

// Sixteen threads have a row of the matrix. Their sums of a group are multiplied by its scale, and added at the end.
__global__ void __launch_bounds__(kThreads)
    few_rows_kernel(Int8Matrix w, const float* x, int m, const float* bias, float* out) {
  __shared__ float totals[kMatrixRows][kWidth];
  const int lane = static_cast<int>(threadIdx.x) % kWidth, set = static_cast<int>(threadIdx.x) / kWidth;
  const int64_t row = int64_t{blockIdx.x} * kMatrixRows + set;
  for (int i = 0; i < m; ++i) {
    float total = 0;
    for (int64_t g = 0; row < w.n && g < w.groups; ++g) {
      const int64_t first = g * w.group, count = w.k - first < w.group ? w.k - first : w.group;
      float sum = 0;
      for (int64_t at = first + lane; at < first + count; at += kWidth)
        sum = math::fma(static_cast<float>(w.values[row * w.k + at]), x[i * w.k + at], sum);
      total = math::fma(w.scales[row * w.groups + g], sum, total);
    }
    __syncthreads();
    totals[set][lane] = total;
    __syncthreads();
    if (lane != 0 || row >= w.n) continue;
    float sum = bias == nullptr ? 0.0f : bias[row];
    for (int l = 0; l < kWidth; ++l) sum += totals[set][l];
    out[i * w.n + row] = sum;
  }
}

__global__ void convert_kernel(Int8Matrix w, float* to) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= w.n * w.k) return;
  to[at] = static_cast<float>(w.values[at]) * w.scales[at / w.k * w.groups + at % w.k / w.group];
}

Tensor columns(const Tensor& t, int64_t from, int64_t count) {
  return alias(t, {t.size(0), count}, t.strides(), t.storage_offset() + from * t.stride(1));
}

}  // namespace

void quantized_linear(const Tensor& out, const Tensor& x, const Tensor& values, const Tensor& scales,
                      const Tensor& bias) {
  Context& c = context(out.device());
  const int64_t m = x.size(0), n = values.size(0), k = values.size(1), groups = scales.size(1);
  if (out.numel() == 0) return;
  const Int8Matrix w{values.ptr<int8_t>(), scales.ptr<float>(), n, k, groups, groups == 0 ? 0 : ceil_div(k, groups)};
  if (m <= kFewInt8Rows)
    return launch("quantized_linear", c, Grid{ceil_div(n, int64_t{kMatrixRows}), kThreads}, few_rows_kernel, w,
                  x.ptr<float>(), static_cast<int>(m), data_or_null<float>(bias), out.ptr<float>());
  const Tensor weight = empty_raw({n, k}, kFloat, out.device());
  launch("quantized_linear", c, grid_for(n * k), convert_kernel, w, weight.ptr<float>());
  // A part of one column has the order of a single one.
  const Tensor b = alias(weight, {k, n}, {1, k}, 0);
  const int64_t last = n % int8_part(k) == 1 ? n - 1 : n;
  for (const auto& [from, count] : {std::pair{int64_t{0}, last}, {last, n - last}})
    if (count > 0)
      matmul(columns(out, from, count), x, columns(b, from, count), bias.defined() ? 1 : 0, 1,
             bias.defined() ? alias(bias, {count}, {1}, bias.storage_offset() + from) : bias);
}

}  // namespace tandem::cuda_impl::strict
