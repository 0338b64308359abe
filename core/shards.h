// Which samples of a batch belong to which shard, and which shards to which process.
//
// A batch is cut into shards, so that sums over its samples can be added in an order that does not depend on
// the number of processes. Shards differ in size by at most one, and so do the numbers of shards per process;
// both are consecutive, and larger ones come first.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace tandem {

/// Where run `i` begins when `items` are cut into `runs` runs like this; i = runs: the end of the last one.
constexpr int64_t balanced_begin(int64_t items, int64_t runs, int64_t i) {
  const int64_t longer = items % runs;
  return i * (items / runs) + (i < longer ? i : longer);
}

/// The bounds of the shards of rank `rank`, of `size` processes, in a batch of `samples` that is cut into
/// `shards` pieces: the begin of each shard, then the end of the last one. A batch with fewer samples than
/// shards has one shard per sample. Throws Error if a rank would have none.
std::vector<int64_t> shard_bounds(int64_t samples, int64_t shards, int size, int rank);

/// First and last + 1 of these samples.
std::pair<int64_t, int64_t> shard_range(int64_t samples, int64_t shards, int size, int rank);

}  // namespace tandem
