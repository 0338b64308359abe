// Reductions. Their axes are an attribute or, in newer sets, an input.
#include <algorithm>
#include <limits>

#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

using Axes = const std::vector<int64_t>&;

// Calls f(x, axes, keep), where there is something to reduce. The result has the dtype of the input.
template <class F>
Operator fold(const char* name, F f) {
  return {name,
          [f](Call& c) {
            const Tensor& x = c[0];
            std::vector<int64_t> axes = c.integers_at(1, "axes");
            for (int64_t& axis : axes) axis = wrap_axis(axis, x.dim());
            const bool keep = c.flag("keepdims", true), nothing = axes.empty() && c.flag("noop_with_empty_axes");
            if (nothing || x.dim() == 0) return f(x.unsqueeze(0), {0}, false).to(x.scalar_type());
            return f(x, axes.empty() ? dims_of(x) : axes, keep).to(x.scalar_type());
          },
          0b10};
}

// Means and norms of integers are computed as floating point numbers.
Tensor floating(const Tensor& x) { return isIntegralType(x.scalar_type(), true) ? x.to(kDouble) : x; }

Tensor product(const Tensor& x, Axes axes, bool keep) {
  std::vector<int64_t> left = axes;
  std::sort(left.rbegin(), left.rend());  // from the last on, so that the others keep their place
  Tensor out = x;
  for (const int64_t axis : left) out = prod(out, axis, keep);
  return out;
}

// The largest of nothing is the lowest number.
template <bool largest>
Tensor extreme(const Tensor& x, Axes axes, bool keep) {
  if (x.numel() > 0) return largest ? amax(x, axes, keep) : amin(x, axes, keep);
  const Tensor shape = sum(x.to(kFloat), axes, keep);
  if (isFloatingType(x.scalar_type())) {
    const double infinity = std::numeric_limits<double>::infinity();
    return full_like(shape, largest ? -infinity : infinity).to(x.scalar_type());
  }
  int64_t low = 0, high = 1;
  if (x.scalar_type() != kBool) {
    const int64_t bits = static_cast<int64_t>(elementSize(x.scalar_type())) * 8;
    const bool is_signed = x.scalar_type() != kByte;
    high = static_cast<int64_t>(~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0)));
    low = is_signed ? -high - 1 : 0;
  }
  return full_like(shape, largest ? low : high, x.scalar_type());
}

Tensor log_sum_exp(const Tensor& x, Axes axes, bool keep) {
  // logsumexp needs a largest element.
  return x.numel() == 0 ? log(sum(floating(x), axes, keep)) : logsumexp(floating(x), axes, keep);
}

template <bool largest>
Tensor arg(Call& c) {
  const int64_t axis = wrap_axis(c.integer("axis", 0), c[0].dim());
  const bool keep = c.flag("keepdims", true);
  const auto first = [&](const Tensor& x) { return largest ? argmax(x, axis, keep) : argmin(x, axis, keep); };
  if (!c.flag("select_last_index")) return first(c[0]);
  return c[0].size(axis) - 1 - first(flip(c[0], axis));
}

}  // namespace

Operators reduce_operators() {
  return {
      {"ArgMax", arg<true>},
      {"ArgMin", arg<false>},
      fold("ReduceL1", [](const Tensor& x, Axes axes, bool keep) { return sum(abs(x), axes, keep); }),
      fold("ReduceL2", [](const Tensor& x, Axes axes, bool keep) { return norm(floating(x), 2, axes, keep); }),
      fold("ReduceLogSum", [](const Tensor& x, Axes axes, bool keep) { return log(sum(floating(x), axes, keep)); }),
      fold("ReduceLogSumExp", log_sum_exp),
      fold("ReduceMax", extreme<true>),
      fold("ReduceMean", [](const Tensor& x, Axes axes, bool keep) { return mean(floating(x), axes, keep); }),
      fold("ReduceMin", extreme<false>),
      fold("ReduceProd", product),
      fold("ReduceSum", [](const Tensor& x, Axes axes, bool keep) { return sum(x, axes, keep); }),
      fold("ReduceSumSquare", [](const Tensor& x, Axes axes, bool keep) { return sum(square(x), axes, keep); }),
  };
}

}  // namespace tandem::onnx
