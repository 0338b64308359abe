// Sampling at positions of a grid, as weighted sums of gathers. Positions are computed with differentiable operations,
// so the gradient with respect to the grid needs no separate code; steps of rounding carry none.
#include "tandem/autograd/ops/nn/grid_sampler.h"

#include <vector>

#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace {

enum class Outside : uint8_t { kZeros, kBorder, kReflection };

// Positions in one dimension of the input: [N, places].
struct Axis {
  int64_t size;
  bool align_corners;
  Outside outside;

  // From the grid's [-1, 1] to elements.
  Tensor unnormalized(const Tensor& x) const {
    const auto n = static_cast<double>(size);
    return align_corners ? (x + 1) * ((n - 1) / 2) : ((x + 1) * n - 1) / 2;
  }
  // Moves positions inside; those moved to the border, or on it, carry no gradient.
  Tensor clipped(const Tensor& x) const {
    const auto last = static_cast<double>(size - 1);
    return where((x > 0).logical_and(x < last), x, x.detach().clamp(0, last));
  }
  Tensor reflected(const Tensor& x) const {
    const double low = align_corners ? 0 : -0.5, span = static_cast<double>(align_corners ? size - 1 : size);
    if (span == 0) return x * 0;
    const Tensor shifted = x - low, distance = where(shifted < 0, -shifted, shifted);
    const Tensor flips = (distance.detach() / span).floor();
    const Tensor extra = distance - flips * span;
    return where(flips.remainder(Scalar(2)) == 0, extra + low, span - extra + low);
  }
  Tensor inside(const Tensor& x) const {
    if (outside == Outside::kZeros) return x;
    return clipped(outside == Outside::kReflection ? reflected(x) : x);
  }
};

// One neighbour along an axis: its position (int64, inside) and its weight, 0 for positions outside and NaN.
struct Tap {
  Tensor index, weight;
};

Tap tap(const Axis& axis, const Tensor& position, const Tensor& weight) {
  const Tensor at = position.detach();
  const Tensor valid = (at >= 0).logical_and(at <= static_cast<double>(axis.size - 1));
  const Tensor index = where(valid, at, zeros_like(at)).to(kLong);
  return {index, where(valid, weight, zeros_like(weight))};
}

std::vector<Tap> nearest_taps(const Axis& axis, const Tensor& x) {
  const Tensor at = axis.inside(x).round();
  // The weight is 1, and depends on the grid with derivative 0.
  return {tap(axis, at, where(at == at.detach(), ones_like(at), at))};
}

std::vector<Tap> linear_taps(const Axis& axis, const Tensor& x) {
  const Tensor at = axis.inside(x), low = at.detach().floor(), t = at - low;
  return {tap(axis, low, 1 - t), tap(axis, low + 1, t)};
}

// Cubic convolution with A = -0.75 (R. Keys, 1981).
std::vector<Tap> cubic_taps(const Axis& axis, const Tensor& x) {
  constexpr double a = -0.75;
  const auto near = [](const Tensor& d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](const Tensor& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const Tensor low = x.detach().floor(), t = x - low;
  const Tensor weights[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  std::vector<Tap> taps;
  for (int k = 0; k < 4; ++k) taps.push_back(tap(axis, axis.inside(low + (k - 1)), weights[k]));
  return taps;
}

// The sum over all combinations of neighbours, one per axis, the first axis outermost.
Tensor weighted_sum(const Tensor& flat, const std::vector<std::vector<Tap>>& taps, const std::vector<int64_t>& sizes,
                    std::size_t axis, const Tensor& index, const Tensor& weight) {
  if (axis == taps.size()) {
    const Tensor places = index.unsqueeze(1).expand({flat.size(0), flat.size(1), index.size(1)});
    return flat.gather(2, places) * weight.unsqueeze(1);
  }
  Tensor sum;
  for (const Tap& t : taps[axis]) {
    const Tensor part =
        weighted_sum(flat, taps, sizes, axis + 1, index.defined() ? index * sizes[axis] + t.index : t.index,
                     weight.defined() ? weight * t.weight : t.weight);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

void check_arguments(const char* operation, const Tensor& input, const Tensor& grid, int64_t rank,
                     int64_t interpolation, int64_t padding) {
  check(input.dim() == rank + 2 && grid.dim() == rank + 2, operation, ": expected input [N, C] and grid [N] with ",
        rank, " more dimensions\n  input ", input, "\n  grid  ", grid);
  check(grid.size(0) == input.size(0) && grid.size(-1) == rank, operation, ": expected a grid [", input.size(0),
        ", ..., ", rank, "]\n  input ", input, "\n  grid  ", grid);
  for (int64_t d = 2; d < input.dim(); ++d) check(input.size(d) > 0, operation, ": the input is empty: ", input);
  autograd::check_floating_point(operation, input);
  autograd::check_alike(operation, "input", input, "grid ", grid);
  check(interpolation >= 0 && interpolation <= 2, operation,
        ": interpolation_mode must be 0 (bilinear), 1 (nearest) or 2 (bicubic), got ", interpolation);
  check(padding >= 0 && padding <= 2, operation, ": padding_mode must be 0 (zeros), 1 (border) or 2 (reflection), got ",
        padding);
}

Tensor sample(const char* operation, const Tensor& input, const Tensor& grid, int64_t rank, int64_t interpolation,
              int64_t padding, bool align_corners) {
  if (const auto to = autocast::promoted_on_cuda(input, grid))
    return sample(operation, to(input), to(grid), rank, interpolation, padding, align_corners);
  if (const auto to = autograd::in_full_precision_on_cpu(input, grid))
    return to.rounded(sample(operation, to(input), to(grid), rank, interpolation, padding, align_corners));
  check_arguments(operation, input, grid, rank, interpolation, padding);
  Dims sizes(grid.sizes());
  sizes.pop_back();
  sizes.insert(1, input.size(1));
  const Tensor places = grid.flatten(1, -2);  // [N, places, rank]
  if (places.numel() == 0 || input.numel() == 0) return zeros(sizes, input.options().requires_grad(false));
  std::vector<std::vector<Tap>> taps;
  std::vector<int64_t> lengths;
  for (int64_t d = 0; d < rank; ++d) {
    const Axis axis{input.size(d + 2), align_corners, static_cast<Outside>(padding)};
    const Tensor x = axis.unnormalized(places.select(-1, rank - 1 - d));
    taps.push_back(interpolation == 0   ? linear_taps(axis, x)
                   : interpolation == 1 ? nearest_taps(axis, x)
                                        : cubic_taps(axis, x));
    lengths.push_back(axis.size);
  }
  return weighted_sum(input.flatten(2, -1), taps, lengths, 0, {}, {}).view(sizes);
}

// Positions of `size` elements in [-1, 1].
Tensor base_line(int64_t size, bool align_corners, const TensorOptions& options) {
  if (size <= 1) return zeros({size}, options);
  const Tensor line = linspace(-1, 1, size, options);
  return align_corners ? line : line * (static_cast<double>(size - 1) / static_cast<double>(size));
}

}  // namespace

Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                       bool align_corners) {
  return sample("grid_sampler_2d", input, grid, 2, interpolation_mode, padding_mode, align_corners);
}
Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                       bool align_corners) {
  return sample("grid_sampler_3d", input, grid, 3, interpolation_mode, padding_mode, align_corners);
}
Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners) {
  check(input.dim() == 4 || input.dim() == 5, "grid_sampler: expected [N, C, H, W] or [N, C, D, H, W], got ", input);
  return sample("grid_sampler", input, grid, input.dim() - 2, interpolation_mode, padding_mode, align_corners);
}

Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  if (const auto half = autograd::half_result(theta))
    return affine_grid_generator(autograd::widened(theta), size, align_corners).to(*half);
  check(size.size() == 4 || size.size() == 5, "affine_grid_generator: expected [N, C, H, W] or [N, C, D, H, W], got ",
        size);
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  autograd::check_floating_point("affine_grid_generator", theta);
  check(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == rank && theta.size(2) == rank + 1,
        "affine_grid_generator: expected theta [", size[0], ", ", rank, ", ", rank + 1, "], got ", theta);
  const TensorOptions options = theta.options().requires_grad(false);
  Dims sizes, shape{size[0]};
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t length = size[static_cast<std::size_t>(d) + 2];
    check(length > 0, "affine_grid_generator: sizes must be positive, got ", size);
    sizes.push_back(length);
    shape.push_back(length);
  }
  std::vector<Tensor> coordinates;  // (x, y[, z], 1)
  for (int64_t d = rank - 1; d >= 0; --d) {
    Dims line(static_cast<std::size_t>(rank), 1);
    line[static_cast<std::size_t>(d)] = sizes[static_cast<std::size_t>(d)];
    coordinates.push_back(
        base_line(sizes[static_cast<std::size_t>(d)], align_corners, options).view(line).expand(sizes));
  }
  coordinates.push_back(ones({1}, options).expand(sizes));
  shape.push_back(rank);
  return stack(coordinates, -1).view({-1, rank + 1}).matmul(theta.transpose(1, 2)).view(shape);
}

}  // namespace tandem
