// SyncBatchNorm: batch normalisation with the statistics of all processes' batches (torch.nn.SyncBatchNorm).
//
//   auto net = std::make_shared<Net>();             // with nn::BatchNorm2d layers
//   distributed::convert_sync_batchnorm(*net, group);
//   distributed::DistributedDataParallel<Net> model(net);
//
// The processes may have different numbers of samples, or none. In training, forward and backward communicate, so all
// processes must run the same layers in the same order. Running statistics are equal on all of them.
#pragma once
#include <memory>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

/// nn::BatchNorm with the group's statistics, for input [N, C, ...] with any number of dimensions.
class SyncBatchNormImpl : public nn::Cloneable<SyncBatchNormImpl> {
 public:
  /// Without a group, forward uses the default group. Throws Error unless num_features is positive.
  explicit SyncBatchNormImpl(const nn::BatchNormOptions& options, std::shared_ptr<ProcessGroup> group = nullptr);
  void reset() override;
  void reset_running_stats();
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// Throws Error on an input with the wrong rank or number of channels, or if there is no group.
  Tensor forward(const Tensor& input);

  nn::BatchNormOptions options;
  std::shared_ptr<ProcessGroup> process_group;
  /// As in nn::BatchNorm, under the same names.
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
};
TANDEM_MODULE(SyncBatchNorm);

/// Makes every BatchNorm1d, 2d and 3d in `module`, itself included, use the statistics of the group (the default one if
/// null), wherever the module holds it; parameters, names and state dicts stay. A null group is looked up at once.
/// Returns how many layers there are. Throws Error when there is no group.
int convert_sync_batchnorm(nn::Module& module, std::shared_ptr<ProcessGroup> group = nullptr);

}  // namespace tandem::distributed
