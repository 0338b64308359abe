// Parts of batches.
#include "tandem/datasets/batch_part.h"

#include "tandem/core/error.h"
#include "tandem/core/shards.h"

namespace tandem::data {

std::vector<int64_t> BatchPart::bounds(int64_t examples) const {
  return shard_bounds(examples, shard_count(), size, rank);
}

std::pair<int64_t, int64_t> BatchPart::range(int64_t examples) const {
  return shard_range(examples, shard_count(), size, rank);
}

void BatchPart::check_for(const char* user, int64_t batch_size) const {
  check(size >= 1 && rank >= 0 && rank < size, user, ": part of rank ", rank, " of ", size,
        " processes, expected a rank in [0, size)");
  check(shards >= 0 && shard_count() >= size, user, ": ", shards, " shards are too few for ", size,
        " processes; each needs at least one");
  check(batch_size >= size, user, ": a batch of ", batch_size, " is too small for ", size,
        " processes; batch_size counts the examples of all processes");
}

int64_t batch_count(int64_t examples, int64_t batch_size, bool drop_last, const BatchPart& part) {
  const int64_t last = examples % batch_size;
  return examples / batch_size + (!drop_last && last > 0 && last >= part.size ? 1 : 0);
}

}  // namespace tandem::data
