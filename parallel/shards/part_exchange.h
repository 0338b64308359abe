// The processes that train with a ParameterServer exchange the sizes of their parts of a batch.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "tandem/parallel/distributed/process_group.h"

namespace tandem::parallel {

class PartExchange {
 public:
  struct Part {
    int64_t samples, shards, step, seed;
    bool operator==(const Part&) const = default;
  };

  explicit PartExchange(std::shared_ptr<distributed::ProcessGroup> group) : group_(std::move(group)) {}
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

 private:
  std::shared_ptr<distributed::ProcessGroup> group_;
  std::vector<Part> parts_;
  Tensor arriving_;  // the parts as the ranks have sent them, complete after work_
  distributed::WorkPtr work_;
};

}  // namespace tandem::parallel
