// The part of FullyShardedDataParallel that does not depend on the type of the module: its options, its units, and the
// Module interface.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/nn/module.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/fully_sharded/unit_plan.h"

namespace tandem::distributed {

class UnitSchedule;

struct FullyShardedDataParallelOptions {
  std::shared_ptr<ProcessGroup> process_group = nullptr;  ///< null: the default group
  /// Whether a unit is freed between its forward and its backward, which then gathers it again: less memory for half as
  /// much traffic again. The root's unit, which backward needs first, is kept in any case.
  bool reshard_after_forward = true;
  /// Whether a unit computes while the next one is gathered and the gradients of the one before are averaged. Beyond its
  /// slices, a process then needs memory for the values or gradients of 3 units, otherwise of 2.
  bool overlap = true;
  /// Whether parameters are gathered in autocast's half type while it is enabled around the model's forward: half the
  /// traffic of a gather and half the memory of a gathered unit. Only those that autocast rounds anyway, of Linear,
  /// convolutions and GPT-2's layers, so the bits are those of autocast, if a layer runs once in a step; their gradients
  /// are widened before they are added (torch.distributed.fsdp.MixedPrecision rounds all, and adds halves). The slices
  /// stay float32. Such layers must not run in a region without autocast within forward.
  bool gather_rounded = false;
  /// Which modules are units; they may contain others. Null: the blocks of each Sequential, ModuleList and ModuleDict,
  /// but not those within them. The root is a unit of all other parameters.
  UnitRule is_unit = nullptr;
  bool broadcast_buffers = true;  ///< whether forward in training mode first receives the buffers of rank 0
};

/// Parameters of one unit and dtype, either all trained or all frozen, of which this process keeps a slice.
struct ShardedSlice {
  struct Parameter {
    std::string name;  ///< in the wrapped module
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;  ///< in the flat buffer, in elements
    int64_t numel = 0;   ///< consecutive elements, in the order of the parameter's memory
  };
  std::string unit;  ///< the name of its module; "" for the root
  std::vector<Parameter> parameters;
  /// [n]: elements rank · n … (rank + 1) · n - 1 of the flat buffer of n · P; gaps are zero. The leaf that parameters()
  /// has.
  Tensor slice;
};

/// Base of FullyShardedDataParallel. As a Module it has the slices as parameters, the wrapped module's buffers, and no
/// children; its state dict is that of this process.
class FullyShardedDataParallelBase : public nn::Module {
 public:
  using IsWrapper = void;  // places of errors begin with the wrapped module
  FullyShardedDataParallelBase(std::shared_ptr<nn::Module> module, FullyShardedDataParallelOptions options);
  ~FullyShardedDataParallelBase() override;
  FullyShardedDataParallelBase(const FullyShardedDataParallelBase&) = delete;
  FullyShardedDataParallelBase& operator=(const FullyShardedDataParallelBase&) = delete;

  /// In the order of parameters().
  std::vector<ShardedSlice> slices() const;
  /// Copies of all parameters, whole, under their names in the wrapped module. Every process calls it, between steps.
  OrderedDict<std::string, Tensor> gather_parameters();
  /// nn::utils::clip_grad_norm_ for the gradients of all processes together, which all call it; the norm is added in
  /// another order (BatchShards has one that keeps it). Throws Error unless norm_type is positive.
  double clip_grad_norm_(double max_norm, double norm_type = 2);
  const std::shared_ptr<ProcessGroup>& process_group() const { return group_; }
  /// The wrapped module.
  const nn::Module& wrapped() const { return *wrapped_; }

  /// While alive, backward passes leave whole gradients on this process, which take memory for all parameters. The first
  /// pass whose forward runs afterwards averages their sum. Guards nest; the model must outlive them.
  class NoSync {
   public:
    explicit NoSync(FullyShardedDataParallelBase& model) : model_(model) { ++model_.holding_; }
    ~NoSync() { --model_.holding_; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    FullyShardedDataParallelBase& model_;
  };
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  void train(bool on = true) override;
  /// Throw Error: convert or move the module before wrapping it.
  void to(Device device, ScalarType dtype, bool non_blocking = false) override;
  void to(ScalarType dtype, bool non_blocking = false) override;
  void to(Device device, bool non_blocking = false) override;
  void to(MemoryFormat format) override;
  void zero_grad(bool set_to_none = true) override;
  void pretty_print(std::ostream& stream) const override;

 protected:
  void before_forward();
  void after_forward(const Tensors& outputs);
  /// For handlers: aborts the group, so the other processes do not wait for this one.
  void forward_failed() noexcept;

 private:
  friend class BatchShards;
  /// As nn::utils::clip_grad_norm_ does for gradients with this norm.
  void clip_gradients(double max_norm, double norm);

  FullyShardedDataParallelOptions options_;
  std::shared_ptr<nn::Module> wrapped_;
  std::shared_ptr<ProcessGroup> group_;
  std::shared_ptr<UnitSchedule> schedule_;
  int holding_ = 0;
};

}  // namespace tandem::distributed
