// Dropout, and rearranging pixels.
#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

// The module's mode decides, not the node's. The attribute `seed` has no effect: draws come from the default generator.
Results dropout_of(Call& c) {
  const Tensor& x = c[0];
  const double ratio = c.has(1) ? c.number(std::size_t{1}) : c.number("ratio", 0.5);
  check(ratio >= 0 && ratio < 1, "ratio must be in [0, 1), got ", ratio);
  const ScalarType mask_type = c.version() < 10 ? x.scalar_type() : kBool;
  if (!c.training() || ratio == 0)
    return Results::of({x, c.wants(1) ? ones(x.sizes(), x.options().dtype(mask_type).requires_grad(false)) : Tensor()});
  if (!c.wants(1)) return dropout(x, ratio, true);
  const Tensor mask = rand(x.sizes(), x.options().dtype(kFloat).requires_grad(false)).ge(ratio);
  return Results::of({x * mask.to(x.scalar_type()) / (1 - ratio), mask.to(mask_type)});
}

int64_t block_of(const Call& c) {
  const int64_t block = c.integer("blocksize");
  check(block >= 1 && block <= INT32_MAX, "blocksize must be positive, got ", block);
  check(c[0].dim() == 4, "expected [N, C, H, W], got ", c[0]);
  return block;
}
bool columns_first(const Call& c) {
  const std::string mode = c.text("mode", "DCR");
  check(mode == "DCR" || mode == "CRD", "unknown mode '", mode, "'");
  return mode == "CRD";
}
Tensor depth_to_space(Call& c) {
  const Tensor& x = c[0];
  const int64_t b = block_of(c), n = x.size(0), depth = x.size(1), h = x.size(2), w = x.size(3);
  if (columns_first(c)) return pixel_shuffle(x, b);
  check(depth % (b * b) == 0, "the channels are no multiple of ", b * b, ": ", x);
  return x.reshape({n, b, b, depth / (b * b), h, w})
      .permute({0, 3, 4, 1, 5, 2})
      .reshape({n, depth / (b * b), h * b, w * b});
}
Tensor space_to_depth(Call& c) {
  const Tensor& x = c[0];
  const int64_t b = block_of(c), n = x.size(0), depth = x.size(1), h = x.size(2), w = x.size(3);
  if (columns_first(c)) return pixel_unshuffle(x, b);
  check(h % b == 0 && w % b == 0, "height and width are no multiples of ", b, ": ", x);
  return x.reshape({n, depth, h / b, b, w / b, b})
      .permute({0, 3, 5, 1, 2, 4})
      .reshape({n, depth * b * b, h / b, w / b});
}

}  // namespace

Operators network_operators() {
  return {
      {"Dropout", dropout_of, 0b10},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
  };
}

}  // namespace tandem::onnx
