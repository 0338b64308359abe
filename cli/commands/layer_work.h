// The arithmetic of one layer.
#pragma once
#include <cstdint>
#include <vector>

#include "tandem/nn/module.h"

namespace tandem::cli {

struct Work {
  int64_t operations = 0;     ///< multiplications, additions and functions, each counted as one
  int64_t multiply_adds = 0;  ///< those of convolutions, linear layers and attention, which publications count
};

/// `outputs` sums of `terms` products each.
Work products(int64_t outputs, int64_t terms, bool bias);
/// That of a call of `layer` with these inputs; `out` is undefined if it returned more than a tensor. Children that are
/// called are not part of it.
Work work_of(const nn::Module& layer, const std::vector<Tensor>& inputs, const Tensor& out);

}  // namespace tandem::cli
