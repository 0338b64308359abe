// The arithmetic of one layer.
#pragma once
#include <cstdint>
#include <vector>

#include "tandem/nn/module.h"

namespace tandem::cli {

struct Work {
  int64_t operations = 0;     ///< multiplications, additions and functions, each counted as one
  int64_t multiply_adds = 0;  ///< in convolutions, linear layers and attention, as publications count them
};

/// `outputs` sums of `terms` products each.
Work products(int64_t outputs, int64_t terms, bool bias);
/// The work of a call of `layer` with these inputs, without children that it calls; `out` is undefined if it returned
/// more than a tensor.
Work work_of(const nn::Module& layer, const std::vector<Tensor>& inputs, const Tensor& out);

}  // namespace tandem::cli
