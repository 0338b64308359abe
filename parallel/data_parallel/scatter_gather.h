// scatter and gather as objects, under LibTorch's names.
#pragma once
#include "tandem/autograd/function.h"
#include "tandem/parallel/shared/device_copies.h"

namespace tandem::autograd {

/// Scatter({"cuda:0", "cuda:1"}).apply({input}): the pieces of one tensor, one per device, as
/// parallel::scatter returns them.
class Scatter {
 public:
  /// `chunk_sizes`: the sizes of the pieces, by default as chunk cuts. `unsqueeze_scalars`: treats a scalar
  /// as a vector of one element, which is an Error otherwise.
  explicit Scatter(std::vector<Device> devices, optional<std::vector<int64_t>> chunk_sizes = nullopt, int64_t dim = 0,
                   bool unsqueeze_scalars = false);
  /// Throws Error unless exactly one tensor is given.
  variable_list apply(variable_list inputs) const;

 private:
  std::vector<Device> devices_;
  optional<std::vector<int64_t>> sizes_;
  int64_t dim_;
  bool unsqueeze_scalars_;
};

/// Gather("cuda:0").apply(pieces): one tensor, as returned by parallel::gather.
class Gather {
 public:
  explicit Gather(const Device& destination_device, int64_t dim = 0);
  variable_list apply(variable_list inputs) const;

 private:
  Device device_;
  int64_t dim_;
};

}  // namespace tandem::autograd
