// The backward of a replica's parameters, and gradients held back by no_sync.
#pragma once
#include <mutex>

#include "tandem/autograd/urgent_node.h"
#include "tandem/parallel/shared/replica_set.h"

namespace tandem::parallel::detail {

struct GradientSync::State {
  tandem::detail::ForkMutex mutex;  // replicas use it from different threads
  int holding = 0;
  uint64_t sends = 0;
  std::vector<Tensors> held;  // [replica][parameter or buffer]
};

/// Output j: parameter places[j] of the replica. Input j: the same parameter of the master. It is urgent because
/// forward creates it first, so it would be sent when backward has ended on the replica.
struct ReplicaBackward final : autograd::UrgentNode {
  const char* label() const override { return "ReplicaBackward"; }
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override;

  Device root;
  std::size_t replica = 0;
  std::vector<std::size_t> places;
  std::shared_ptr<GradientSync> sync;

 private:
  bool hold(std::span<Tensor> grads);
};

}  // namespace tandem::parallel::detail
