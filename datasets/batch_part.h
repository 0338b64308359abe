// BatchPart: the part of each global batch that one of several processes loads.
//
// All processes use the same seed and cut the same batches. Concatenated over the ranks, the parts of batch k
// are batch k of a single process.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace tandem::data {

struct BatchPart {
  int rank = 0;        ///< of this process
  int size = 1;        ///< number of processes
  int64_t shards = 0;  ///< pieces of a batch, divided among the processes (core/shards.h); 0: one for each

  /// The bounds of this process's shards in a batch of `examples`: each begin, then the end of the last one.
  std::vector<int64_t> bounds(int64_t examples) const;
  /// First and last + 1 of this process's examples in a batch of `examples`.
  std::pair<int64_t, int64_t> range(int64_t examples) const;
  /// Number of shards of a full batch of all processes.
  int64_t shard_count() const { return shards > 0 ? shards : size; }
  /// Throws Error, which names `user`, unless rank < size and each process has a shard of a full batch.
  void check_for(const char* user, int64_t batch_size) const;
};

/// Number of batches in an epoch. A last batch with fewer than `batch_size` examples is dropped with
/// `drop_last`, and always if it has fewer examples than there are processes, so that each has some.
int64_t batch_count(int64_t examples, int64_t batch_size, bool drop_last, const BatchPart& part = {});

}  // namespace tandem::data
