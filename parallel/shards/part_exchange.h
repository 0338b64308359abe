// The processes that train on shards of a batch exchange the sizes of their parts.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "tandem/parallel/distributed/process_group.h"

namespace tandem::parallel {

/// The shards of a process, of all processes' batch.
struct ShardRun {
  uint64_t seed = 0;  ///< of the default generator on rank 0
  int64_t total = 0, first = 0;
  std::vector<int64_t> sizes;  ///< of shards first, first + 1, …
  bool operator==(const ShardRun&) const = default;
};

class PartExchange {
 public:
  struct Part {
    int64_t samples, shards, step, seed;
    bool operator==(const Part&) const = default;
  };

  /// `caller`: the class that messages name.
  PartExchange(std::shared_ptr<distributed::ProcessGroup> group, const char* caller)
      : group_(std::move(group)), caller_(caller) {}
  /// Starts to exchange the parts of a batch. If this process's part is as in the last step, the others' are assumed to
  /// be as well (unless `wait`), so that forward does not wait for them. Throws Error on every process if one has other
  /// shards or is at another step; where the parts are assumed, complete() throws.
  void begin(int64_t samples, int64_t shards, int64_t step, bool wait);
  /// Waits for the actual parts.
  void complete();
  /// The parts of the last step, by rank; empty before the first one.
  const std::vector<Part>& parts() const { return parts_; }
  /// The samples of all of them.
  int64_t samples() const;
  /// This process's run of the shards, which have these sizes. Throws Error if a process has none, or if its part has
  /// another size than its shards.
  ShardRun own_run(const std::vector<int64_t>& sizes) const;

 private:
  std::shared_ptr<distributed::ProcessGroup> group_;
  const char* caller_;
  std::vector<Part> parts_;
  Tensor arriving_;  // the parts as the ranks have sent them, complete after work_
  distributed::WorkPtr work_;
};

}  // namespace tandem::parallel
