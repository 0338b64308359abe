// Sums the gradients of the replicas of one process, and these sums over the processes of a group, while backward still
// runs. Internal to ParameterServer.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "tandem/nn/flat.h"
#include "tandem/parallel/buckets.h"
#include "tandem/parallel/comm.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::parallel {

/// Adds `others` [n] to `sum` [n] in their order.
void add_in_order(const Tensor& sum, const Tensors& others);

class GroupSum {
 public:
  /// The sums replace root.grad(), in buckets of about `bytes`.
  GroupSum(const nn::FlatParameters& root, std::shared_ptr<distributed::ProcessGroup> group, int64_t bytes);

  /// Before backward. `others`: flat gradients that are added to the root's in this order; the root can read them. The
  /// sum of this process is divided by `divisor`. `replicas`: how many call arriving() and arrived()
  /// for their parameters.
  void begin(std::size_t replicas, Tensors others, double divisor);
  /// On a replica's thread, before it adds to the gradient of a parameter.
  /// Throws Error if that completed a bucket before.
  void arriving(std::size_t replica, std::size_t parameter) const { arrivals_[replica].arriving(parameter); }
  /// Tells that the replica has the gradient. The last replica's thread starts a complete bucket.
  void arrived(std::size_t replica, std::size_t parameter);
  /// After backward: starts the other buckets. Gradients that did not arrive are as they are.
  void start_rest();
  /// Waits for the sums over all processes and divides them by `divisor`.
  void finish(double divisor);
  /// Forgets a pass that failed, whose sums may still be on their way.
  void drop() { works_.clear(); }

 private:
  void start(std::size_t bucket);

  std::shared_ptr<distributed::ProcessGroup> group_;
  Device device_;
  std::vector<Bucket> buckets_;
  std::vector<BucketPlace> places_;
  std::vector<ReplicaArrivals> arrivals_;  // by replica
  std::mutex mutex_;                       // replicas run on several threads; guards what follows
  std::vector<std::size_t> missing_;       // by bucket, replicas whose gradients are not complete
  Tensors others_;
  double divisor_ = 1;
  std::vector<distributed::WorkPtr> works_;
};

}  // namespace tandem::parallel
