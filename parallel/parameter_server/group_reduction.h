// Sums the gradients of the devices of one process, and these sums over the processes of a group.
//
// Where the root reads all gradients in place, this happens during backward, in buckets: the last device that completes
// one starts its sum. Otherwise it happens after backward; the processes do the same calls in both cases. Sums over
// processes have to begin before the size of the whole batch is known. So this process's sum, of its mean loss, gets a
// weight for the size of the largest batch so far, which all processes know, and the sum over processes is corrected.
// The largest, not the last: training that goes on from a checkpoint at the begin of an epoch, whose first batch is as
// large as any, then has the bits of training that did not stop after the smaller batch at the end of an epoch.
#pragma once
#include <mutex>
#include <vector>

#include "tandem/parallel/parameter_server/local_reduction.h"
#include "tandem/parallel/parameter_server/part_exchange.h"
#include "tandem/parallel/shared/buckets.h"

namespace tandem::parallel {

class GroupReduction final : public LocalReduction {
 public:
  GroupReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options);

  void begin_step(int64_t samples, int64_t step) override;
  void before_backward(std::size_t device, const Piece& piece) override;
  bool complete(bool failed) override;
  void drop(bool failed) override;

 private:
  bool weighted_late() const { return !accumulating_ && held_back == 0; }
  bool in_backward() const { return !arrivals_.empty(); }
  void sum(const optim::Optimizer* next) override;
  void begin_in_backward();
  void begin(std::size_t devices, Tensors others);
  void arrived(std::size_t device, std::size_t parameter);
  void start(std::size_t bucket);
  void start_rest();
  void wait(double divisor);

  PartExchange parts_;
  std::vector<Bucket> buckets_;            // of the root's gradients
  int64_t part_ = 0;                       // samples of this process
  int64_t largest_ = 0;                    // samples of all processes in a step so far
  int64_t assumed_ = 0;                    // for this step; in the first one those of this step
  std::vector<ReplicaArrivals> arrivals_;  // by device, if the sums begin in backward
  std::mutex mutex_;                       // devices run on several threads; guards what follows
  std::vector<std::size_t> missing_;       // by bucket, devices whose gradients are not complete
  Tensors others_;                         // what is added to the root's gradients
  std::vector<distributed::WorkPtr> works_;
};

}  // namespace tandem::parallel
