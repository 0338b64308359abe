// The processes that train one model together, as a launcher has started them; usually there is only one.
#pragma once
#include <functional>
#include <memory>

#include "tandem/core/device.h"
#include "tandem/core/tensor.h"
#include "tandem/datasets/batch_part.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::cli {

/// Another process has reported the error that ends this one, too.
struct ReportedElsewhere {
  int code;  ///< exit code
};

class Team {
 public:
  using GroupPtr = std::shared_ptr<distributed::ProcessGroup>;

  /// This process alone.
  Team() = default;
  /// The processes of `group`, of which the launcher has started `local_size` on this machine.
  Team(GroupPtr group, int local_rank, int local_size);
  /// Connects the processes that a launcher has started; this process alone if there is one. Throws UsageError if the
  /// environment is not valid, and Error if a process is missing.
  static Team join();

  bool several() const { return group_ != nullptr; }
  int rank() const { return several() ? group_->rank() : 0; }
  int size() const { return several() ? group_->size() : 1; }
  /// Whether this process writes files and shows progress.
  bool leads() const { return rank() == 0; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  /// For tensors on the CPU; null for one process.
  const GroupPtr& group() const { return group_; }
  /// The group for tensors on `device`. With a CUDA device every process calls this.
  GroupPtr group_for(Device device) const;
  /// The first `size` processes; on the others, this process alone. Every process calls this.
  Team first(int size) const;
  /// What this process loads of a batch.
  data::BatchPart part(int64_t shards) const { return {rank(), size(), shards}; }

  /// Adds the doubles of all processes; exact where all but one have 0.
  void sum(const Tensor& values) const;
  double sum(double value) const;
  /// Calls f on every process. If it throws somewhere, nobody returns: the first such process throws its error, the
  /// others ReportedElsewhere.
  void together(const std::function<void()>& f) const;
  /// Calls f. If it throws, the other processes fail, too; otherwise waits until all have come here.
  int guarded(const std::function<int()>& f) const;

 private:
  GroupPtr group_;
  int local_rank_ = 0, local_size_ = 1;
  bool reported_elsewhere_ = false;  // another process or the launcher says why the group has failed
  std::shared_ptr<bool> others_informed_ = std::make_shared<bool>(false);  // together() has notified the others
};

}  // namespace tandem::cli
