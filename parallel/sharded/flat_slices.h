// Parameters in flat buffers that are cut into one slice per rank. Internal to ZeroRedundancyOptimizer.
#pragma once
#include <functional>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::distributed {

/// Parameters of one dtype and device, one after another. Each starts at a multiple of 16 elements, as slices do, so
/// that an elementwise kernel treats each element in its vectors or in its rest as it would without slices.
struct SlicedBuffer {
  Tensor data;                          // [slice · ranks]; gaps are zero
  int64_t slice = 0;                    // elements per rank
  std::vector<std::size_t> parameters;  // their numbers
  std::vector<int64_t> offsets;         // of each in `data`
};

/// The part of a parameter in a slice: `length` elements from `begin`, which start at `at` in the slice.
struct Segment {
  std::size_t parameter = 0, buffer = 0;
  int64_t begin = 0, length = 0, at = 0;
};

class FlatSlices {
 public:
  static constexpr int64_t kAlignment = 16;

  /// Moves the values of `parameters` into buffers; each keeps its identity, shape and requires_grad.
  FlatSlices(std::vector<Tensor> parameters, int ranks);
  const std::vector<Tensor>& parameters() const { return parameters_; }
  const std::vector<SlicedBuffer>& buffers() const { return buffers_; }
  /// Of all buffers. Parameters without elements, which have a state, too, are with rank 0.
  std::vector<Segment> segments(int rank) const;
  /// The first parameter that is no longer in its buffer, as after Module::to; undefined if there is none.
  Tensor moved() const;
  /// Calls part(parameter, begin, length, at) for all parameters in elements `from` … `from` + `count` - 1 of a buffer,
  /// where `at` counts from `from`.
  void for_parts(const SlicedBuffer& buffer, int64_t from, int64_t count,
                 const std::function<void(std::size_t, int64_t, int64_t, int64_t)>& part) const;

 private:
  std::vector<Tensor> parameters_;
  std::vector<SlicedBuffer> buffers_;
};

}  // namespace tandem::distributed
