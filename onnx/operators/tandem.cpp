// The functions of the domain "tandem" (export/functions.h): what Tandem writes where ONNX has no operator is the same
// operation here, to the bit.
#include "tandem/autograd/ops/linalg/quantized_linear.h"
#include "tandem/autograd/ops/nn/running_statistics.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"
#include "tandem/onnx/elementwise.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

// With `mask`, its input follows the values.
template <bool masked, bool causal>
Tensor attention(Call& c) {
  return scaled_dot_product_attention(c[0], c[1], c[2], masked ? c[3] : Tensor(), 0, causal, c.number("scale"));
}

Results batch_statistics(Call& c) {
  autograd::BatchStatistics statistics;
  autograd::normalize_channels(c[0], {}, {}, {}, {}, true, 1e-5, &statistics);
  return std::tuple(statistics.mean, statistics.variance);
}

// A step of a layer whose steps differ, in float32 for half types, as the layer's kernel computes it.
void check_step(int64_t count, const Tensor& gates, const Tensor& state) {
  check(gates.dim() == 2 && state.dim() == 2 && gates.size(0) == state.size(0) &&
            gates.size(1) == count * state.size(1) && gates.scalar_type() == state.scalar_type() &&
            isFloatingType(gates.scalar_type()),
        "the gates do not fit the state\n  gates ", gates, "\n  state ", state);
}
Results lstm_step(Call& c) {
  check_step(4, c[0], c[1]);
  const ScalarType dtype = c[0].scalar_type(), computed = computed_type(dtype);
  const std::vector<Tensor> g = c[0].to(computed).chunk(4, 1);
  const Tensor next = g[1].sigmoid() * c[1].to(computed) + g[0].sigmoid() * g[2].tanh();
  return std::tuple((g[3].sigmoid() * next.tanh()).to(dtype), next.to(dtype));
}
Tensor gru_step(Call& c) {
  check_step(3, c[0], c[2]);
  check(c[1].sizes() == c[0].sizes(), "the products differ in shape: ", c[0], " and ", c[1]);
  const ScalarType dtype = c[0].scalar_type(), computed = computed_type(dtype);
  const std::vector<Tensor> a = c[0].to(computed).chunk(3, 1), b = c[1].to(computed).chunk(3, 1);
  const Tensor reset = (a[0] + b[0]).sigmoid(), update = (a[1] + b[1]).sigmoid();
  const Tensor candidate = (a[2] + reset * b[2]).tanh();
  return (candidate + update * (c[2].to(computed) - candidate)).to(dtype);
}

// Sums of squared deviations from a given mean.
Tensor variance(const Tensor& x, const Tensor& mean, double divisor, const std::vector<int64_t>& axes, bool root) {
  if (autograd::recording(x, mean)) {
    const Tensor v = (x - mean).square().sum(axes, true) / divisor;
    return root ? v.sqrt() : v;
  }
  uint32_t mask = 0;
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end());
  for (const int64_t axis : axes) {
    const int64_t dim = wrap_axis(axis, x.dim());
    mask |= uint32_t{1} << dim;
    sizes[static_cast<std::size_t>(dim)] = 1;
  }
  check(x.is_floating_point() && mean.scalar_type() == x.scalar_type() && mean.sizes() == IntArrayRef(sizes),
        "the mean does not fit the tensor\n  x    ", x, "\n  mean ", mean);
  const Tensor out = empty(sizes, x.options());
  backend(x).reduce.squared_deviation(out, x, mean.contiguous(), mask, divisor, root);
  return out;
}
template <bool root>
Tensor variance(Call& c) {
  return variance(c[0], c[1], c.number(std::size_t{2}), c.integers(std::size_t{3}), root);
}

}  // namespace

Operators tandem_operators() {
  Operators all = {
      {"adaptive_avg_pool2d",
       [](Call& c) {
         return adaptive_avg_pool2d(c[0], {c[1].size(0), c[2].size(1)});
       },
       0b110},
      {"atan2", [](Call& c) { return atan2(c[0], c[1]); }},
      {"attention", attention<false, false>},
      {"batch_norm_statistics", batch_statistics},
      {"causal_attention", attention<false, true>},
      {"cumprod",
       [](Call& c) {
         const int64_t dim = c.integer(std::size_t{1});
         if (!c.flag("reverse")) return cumprod(c[0], dim);
         return cumprod(c[0].flip(dim), dim).flip(dim);
       },
       0b10},
      {"deviation", variance<true>, 0b1100},
      {"divided_avg_pool2d",
       [](Call& c) {
         const std::vector<int64_t> pads = c.integers("pads");
         check(pads.size() == 4, "pads must hold 4 numbers, got ", pads.size());
         return avg_pool2d(c[0], c.integers("kernel_shape"), c.integers("strides"), {pads[0], pads[1]},
                           c.flag("ceil_mode"), true, c.integer("divisor"));
       }},
      {"floor_divide", [](Call& c) { return floor_divide(c[0], c[1]); }},
      {"gru_cell", gru_step},
      {"hypot", [](Call& c) { return hypot(c[0], c[1]); }},
      {"lerp", [](Call& c) { return lerp(c[0], c[1], c[2]); }},
      {"logcumsumexp", [](Call& c) { return logcumsumexp(c[0], c.integer(std::size_t{1})); }, 0b10},
      {"lstm_cell", lstm_step},
      {"masked_attention", attention<true, false>},
      {"masked_causal_attention", attention<true, true>},
      {"quantized_linear", [](Call& c) { return autograd::quantized_linear(c[0], c[1], c[2], c[3]); }},
      {"quantized_product", [](Call& c) { return autograd::quantized_linear(c[0], c[1], c[2]); }},
      {"remainder", [](Call& c) { return remainder(c[0], c[1]); }},
      {"softplus", [](Call& c) { return softplus(c[0], c.number("beta"), c.number("threshold")); }},
      {"threshold", [](Call& c) { return threshold(c[0], c.number("threshold"), c.number("value")); }},
      {"trunc_divide", [](Call& c) { return div(c[0], c[1], "trunc"); }},
      {"variance", variance<false>, 0b1100},
  };
  for (const Elementwise& e : elementwise_operations())
    if (e.body != nullptr) all.push_back({e.name, [f = e.operation](Call& c) { return f(c[0]); }});
  return all;
}

}  // namespace tandem::onnx
