// Views as ONNX nodes: how the elements of a strided tensor are found in a dense one.
#pragma once
#include <optional>

#include "tandem/onnx/export/graph.h"

namespace tandem::onnx::exporter {

/// The place of a tensor's elements in a storage, in elements.
struct Geometry {
  ScalarType dtype = kFloat;
  Ints sizes, strides;
  int64_t offset = 0;
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

int64_t numel_of(const Ints& sizes);
Geometry geometry_of(const Tensor& t);
/// Row-major from `offset` on.
Geometry row_major(ScalarType dtype, Ints sizes, int64_t offset = 0);
/// Whether the elements fill numel() places from the offset on, each once.
bool is_dense(const Geometry& g);
/// Whether both are the same elements in the same order; sizes of 1 and the strides of such dimensions do not count.
bool same_elements(const Geometry& a, const Geometry& b);

/// One dimension of the memory, once it has been cut where the view needs it.
struct Axis {
  int64_t unit = 1, size = 1;   ///< its stride in elements, and how many steps it has
  int64_t start = 0, step = 1;  ///< of the positions that the view takes
  std::vector<int> dims;        ///< of the view: usually one; none: a single position; several: `index` has them
  Ints counts;                  ///< the sizes of `dims`
  Ints index;                   ///< the positions, if they are not `start + i step`
  int64_t count() const { return numel_of(counts); }
  bool is_whole() const { return index.empty() && start == 0 && step == 1 && count() == size; }
};

/// A view of dense memory: cut the memory into axes, take positions of each, permute, insert sizes of 1 and repeat.
struct ViewPlan {
  std::vector<int> to_memory;  ///< the dimensions of the dense tensor, the slowest first
  std::vector<Axis> axes;      ///< the slowest first
};
/// nullopt if elements of `view` are outside the dense `from`.
std::optional<ViewPlan> plan_view(const Geometry& from, const Geometry& view);

}  // namespace tandem::onnx::exporter
