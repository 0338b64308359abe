// The bounds of shards.
#include "tandem/core/shards.h"

#include <algorithm>

#include "tandem/core/error.h"

namespace tandem {

std::vector<int64_t> shard_bounds(int64_t samples, int64_t shards, int size, int rank) {
  check(samples > 0 && shards > 0 && size > 0 && rank >= 0 && rank < size,
        "shard_range: expected samples, shards and size above 0 and a rank below size, got ", samples, ", ", shards,
        ", ", size, " and ", rank);
  const int64_t count = std::min(shards, samples);
  check(count >= size, "shard_range: ", count, " shards are too few for ", size, " processes; each needs at least one");
  const int64_t first = balanced_begin(count, size, rank), last = balanced_begin(count, size, rank + 1);
  std::vector<int64_t> bounds;
  for (int64_t shard = first; shard <= last; ++shard) bounds.push_back(balanced_begin(samples, count, shard));
  return bounds;
}

std::pair<int64_t, int64_t> shard_range(int64_t samples, int64_t shards, int size, int rank) {
  const std::vector<int64_t> bounds = shard_bounds(samples, shards, size, rank);
  return {bounds.front(), bounds.back()};
}

}  // namespace tandem
