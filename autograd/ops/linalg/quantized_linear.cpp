// quantized_linear: y = x Wᵀ + b, where W has int8 values and a scale per group. No gradients.
#include "tandem/autograd/ops/linalg/quantized_linear.h"

#include <algorithm>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/reproducible.h"

namespace tandem::autograd {
namespace {

constexpr double kLargest = 127;      // of the values: symmetric
constexpr int64_t kAtOnce = 1 << 22;  // elements that are quantised at a time, for their copies' memory

void check_quantized(const char* operation, const Tensor& values, const Tensor& scales) {
  check(values.defined() && scales.defined() && values.dtype() == kChar && scales.is_floating_point() &&
            values.dim() >= 1 && scales.dim() == values.dim() && values.device() == scales.device() &&
            std::equal(values.sizes().begin(), values.sizes().end() - 1, scales.sizes().begin()),
        operation, ": expected int8 values [N, K] and floating point scales [N, G]\n  values ", values, "\n  scales ",
        scales);
  group_size(values.size(-1), scales.size(-1));
}

// One scale per element [..., K] instead of per group.
Tensor repeated(const Tensor& scales, int64_t elements) {
  Dims sizes(scales.sizes());
  sizes.push_back(group_size(elements, scales.size(-1)));
  return scales.unsqueeze(-1).expand(sizes).flatten(-2).slice(-1, 0, elements);
}

}  // namespace

int64_t group_size(int64_t elements, int64_t groups) {
  const int64_t size = groups > 0 ? (elements + groups - 1) / groups : 0;
  check(elements == 0 ? groups == 0 : groups > 0 && (elements + size - 1) / size == groups, elements,
        " elements in a row cannot have ", groups, " groups of equal size");
  return size;
}

QuantizedMatrix quantize(const Tensor& weight, int64_t group) {
  check(weight.defined() && weight.dim() == 2 && weight.is_floating_point(),
        "quantize: expected a floating point matrix, got ", weight);
  check(group >= 1, "quantize: expected a group of at least 1, got ", group);
  const NoGradGuard no_grad;
  const int64_t rows = weight.size(0), columns = weight.size(1), groups = columns / group + (columns % group != 0),
                size = group_size(columns, groups),
                at_once = std::max<int64_t>(1, kAtOnce / std::max<int64_t>(1, columns));
  const QuantizedMatrix out{empty({rows, columns}, weight.options().dtype(kChar).requires_grad(false)),
                            empty({rows, groups}, weight.options().requires_grad(false))};
  if (columns == 0) return out;
  for (int64_t first = 0; first < rows; first += at_once) {
    const int64_t last = std::min(first + at_once, rows);
    const Tensor part = weight.detach().slice(0, first, last).to(computed_type(weight.dtype()));
    const Tensor grouped = constant_pad_nd(part, {0, groups * size - columns}).view({last - first, groups, size});
    const Tensor scales = (grouped.abs().amax(IntArrayRef{-1}) / kLargest).to(out.scales.dtype());
    check(scales.isfinite().all().item<bool>(), "quantize: there are values that are not finite");
    const Tensor divisor = scales.masked_fill(scales.eq(0), 1).to(part.dtype()).unsqueeze(-1);  // 0: all values are 0
    const Tensor values = (grouped / divisor).round().clamp(-kLargest, kLargest).flatten(1).slice(1, 0, columns);
    out.values.slice(0, first, last).copy_(values);
    out.scales.slice(0, first, last).copy_(scales);
  }
  return out;
}

Tensor dequantize(const QuantizedMatrix& matrix) {
  check_quantized("dequantize", matrix.values, matrix.scales);
  const NoGradGuard no_grad;
  return matrix.values.to(matrix.scales.dtype()) * repeated(matrix.scales, matrix.values.size(-1));
}

Tensor quantized_linear(const Tensor& x, const Tensor& values, const Tensor& scales, const Tensor& bias) {
  if (const auto to = autocast::lower_precision(x)) return quantized_linear(to(x), values, scales, to(bias));
  check_quantized("quantized_linear", values, scales);
  check(x.is_floating_point() && x.dim() >= 1 && values.dim() == 2 && x.size(-1) == values.size(1),
        "quantized_linear: expected x [..., K] and values [N, K]\n  x      ", x, "\n  values ", values);
  check(x.device() == values.device(), "quantized_linear: x and values are on different devices\n  x      ", x,
        "\n  values ", values);
  check_parameter("quantized_linear", x, "scales", scales);
  if (bias.defined()) {
    check(bias.dim() == 1 && bias.size(0) == values.size(0), "quantized_linear: bias must be [", values.size(0),
          "], got ", bias);
    check_alike("quantized_linear", "x   ", x, "bias", bias);
  }
  check(!recording(x, scales, bias),
        "quantized_linear: int8 weights have no gradient, nor gives the product one to its input; compute under "
        "NoGradGuard or InferenceMode, or keep the weights floating point to train");
  const auto& kernel = backend(x).linalg.quantized_linear;
  // On CUDA, the kernel is for the CPU's bits.
  const bool has_kernel = kernel && (!x.is_cuda() || reproducible() == Reproducible::kStrict);
  if (!has_kernel || computed_type(x.dtype()) != kFloat)
    return linear(x, dequantize({values, scales}).to(x.dtype()), bias);
  Dims sizes(x.sizes());
  sizes.back() = values.size(0);
  Tensor out = empty_raw(sizes, x.dtype(), x.device());
  const NoGradGuard no_grad;
  const int64_t rows = checked_numel(IntArrayRef(sizes).slice(0, sizes.size() - 1));
  const Dims flat{rows, values.size(0)};
  kernel(alias(out, flat, contiguous_strides(flat), 0), x.reshape({rows, x.size(-1)}).contiguous(), values.contiguous(),
         scales.contiguous(), bias.defined() ? bias.contiguous() : Tensor());
  return out;
}

}  // namespace tandem::autograd
