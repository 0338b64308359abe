// The training of a random network: optimizer, clipping and schedule as its description says.
#pragma once
#include <iosfwd>

#include "tandem/tests/networks/network.h"

namespace tandem::testing {

/// What training leaves: the losses of the steps, and parameters and buffers by name.
struct Outcome {
  Tensors losses;
  std::vector<std::pair<std::string, Tensor>> state;
};

class Training {
 public:
  static constexpr int64_t kSteps = 5;

  Training(DescriptionPtr description, ScalarType dtype, Device device = kCPU);
  NetImpl& net() { return *net_; }
  const std::shared_ptr<NetImpl>& net_ptr() { return net_; }
  optim::Optimizer& optimizer() { return *optimizer_; }

  /// Steps [first, last), whose losses are kept.
  void run(int64_t first = 0, int64_t last = kSteps, bool checkpointed = false);
  /// The loss of a batch, whose gradients the parameters then have.
  Tensor backward(const Tensors& batch, bool checkpointed = false);
  void keep_loss(const Tensor& loss) { losses_.push_back(loss.detach().cpu().clone()); }
  void clip();
  void advance();           ///< the schedule
  Outcome outcome() const;  ///< on the CPU

  void save(std::ostream& net, std::ostream& optimizer, std::ostream& scheduler) const;
  void load(std::istream& net, std::istream& optimizer, std::istream& scheduler);

 private:
  DescriptionPtr description_;
  std::shared_ptr<NetImpl> net_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<optim::LRScheduler> scheduler_;
  Tensors losses_;
};

}  // namespace tandem::testing
