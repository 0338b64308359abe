// Sums the gradients of the devices of one process: the root's own first, then the others' in their order.
//
// The root reads gradients on other CPU devices in place. From other devices they are sent to an inbox on the root, in
// buckets, while backward runs.
#pragma once
#include <memory>
#include <vector>

#include "tandem/parallel/parameter_server/gradient_reduction.h"

namespace tandem::parallel {

class LocalReduction : public GradientReduction {
 public:
  LocalReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options);
  ~LocalReduction() override;

  void begin_step(int64_t samples, int64_t step) override;
  void begin_device(std::size_t device) override;
  void before_backward(std::size_t device, const Piece& piece) override;
  void after_backward(std::size_t device) override;
  void finish(const optim::Optimizer* next) override;
  void drop(bool failed) override;
  void update(optim::Optimizer& optimizer) override;

 protected:
  /// Adds `others` [n] to `sum` [n] in their order.
  static void add_in_order(const Tensor& sum, const Tensors& others);
  bool reads_in_place(std::size_t device) const { return inboxes_[device] == nullptr; }
  /// The gradients of all devices but the root, for the root to read before end_reading().
  Tensors gradients_of_others();
  void end_reading();
  /// Writes the sum to the root's gradients.
  virtual void sum(const optim::Optimizer* next);

 private:
  struct Inbox;
  bool steps_all(const optim::Optimizer& optimizer) const;

  std::vector<std::unique_ptr<Inbox>> inboxes_;  // by device; null where the root reads in place
  optim::FlatGradients summands_;                // for the optimizer's pass to sum; empty if already summed
};

}  // namespace tandem::parallel
