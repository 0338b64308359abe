// The part of a batch that each process computes when gradients are summed in the tree of the shards.
#pragma once
#include <cstdint>
#include <utility>

namespace tandem::distributed {

/// First and last + 1 of the samples of rank `rank`, of `size` processes, in a batch of `samples` that is cut into `shards`
/// pieces. Shards differ in size by at most one, and so do the numbers of shards per rank; both are consecutive, and larger
/// ones come first. A batch with fewer samples than shards has one shard per sample. Throws Error if a rank would have none.
std::pair<int64_t, int64_t> shard_range(int64_t samples, int64_t shards, int size, int rank);

}  // namespace tandem::distributed
