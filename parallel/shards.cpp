#include "tandem/parallel/shards.h"

#include "tandem/core/error.h"
#include "tandem/parallel/comm.h"
#include "tandem/parallel/tree_exchange.h"

namespace tandem::distributed {

std::pair<int64_t, int64_t> shard_range(int64_t samples, int64_t shards, int size, int rank) {
  check(samples > 0 && shards > 0 && size > 0 && rank >= 0 && rank < size,
        "shard_range: expected samples, shards and size above 0 and a rank below size, got ", samples, ", ",
        shards, ", ", size, " and ", rank);
  const std::vector<int64_t> sizes = parallel::balanced_sizes(samples, static_cast<std::size_t>(shards));
  const auto count = static_cast<int64_t>(sizes.size());
  check(count >= size, "shard_range: ", count, " shards are too few for ", size,
        " processes; each needs at least one");
  const std::vector<int64_t> runs = runs_of_ranks(count, size);
  int64_t shard = 0, begin = 0;
  for (int r = 0; r < rank; ++r)
    for (int64_t k = 0; k < runs[static_cast<std::size_t>(r)]; ++k)
      begin += sizes[static_cast<std::size_t>(shard++)];
  int64_t end = begin;
  for (int64_t k = 0; k < runs[static_cast<std::size_t>(rank)]; ++k)
    end += sizes[static_cast<std::size_t>(shard++)];
  return {begin, end};
}

}  // namespace tandem::distributed
