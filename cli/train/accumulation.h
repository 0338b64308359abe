// --accumulate: the gradients of several batches are added before one step. The sum is the gradient of the mean loss of
// all their images, so that a group of N batches has the effect of one batch N times as large.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tandem/cli/train/recipe.h"

namespace tandem::cli {

/// The place of a batch in its group.
struct GroupPlace {
  double share = 1;  ///< of the group's images
  bool first = true, last = true;
  bool alone() const { return first && last; }
};

/// Of batch `batch` in an epoch of `images` images. The last group may have fewer batches, the last batch fewer images.
inline GroupPlace place_in_group(const Recipe& recipe, int64_t batch, int64_t images) {
  const int64_t size = recipe.batch_size, batches = (images + size - 1) / size;
  const int64_t begin = batch - batch % recipe.accumulate, end = std::min(batches, begin + recipe.accumulate);
  const auto images_in = [&](int64_t from, int64_t to) {
    return static_cast<double>(std::min(images, to * size) - from * size);
  };
  return {images_in(batch, batch + 1) / images_in(begin, end), batch == begin, batch + 1 == end};
}

/// Steps of the optimizer in an epoch of `batches` batches.
inline int64_t steps_in(const Recipe& recipe, int64_t batches) {
  return (batches + recipe.accumulate - 1) / recipe.accumulate;
}

}  // namespace tandem::cli
