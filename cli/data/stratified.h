// Splits labelled images in two so that both parts have the same share of each class.
#pragma once
#include <cstdint>

#include "tandem/core/tensor.h"

namespace tandem::cli {

struct Split {
  Tensor rest, part;  ///< int64, ascending: positions of the labels
};

/// `labels`: int64 [N], from 0. The part has `share` of each class, rounded, but at least one and at most all but one
/// of a class with several. Which ones, `seed` decides, whatever the threads. Throws Error if the part is empty.
Split stratified_split(const Tensor& labels, double share, uint64_t seed);

}  // namespace tandem::cli
