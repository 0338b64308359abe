// ZeroRedundancyOptimizer: each process keeps the optimizer state of a part of the parameters only, updates that part
// and receives the others (torch.distributed.optim.ZeroRedundancyOptimizer; S. Rajbhandari et al.: ZeRO. 2020, stage
// 1).
//
//   distributed::DistributedDataParallel<Net> model(net);
//   distributed::ZeroRedundancyOptimizer<optim::Adam> optimizer(net->parameters(), optim::AdamOptions(1e-3));
//   …
//   optimizer.consolidate_state_dict();                       // every process; the state goes to rank 0
//   if (get_rank() == 0) save(optimizer, "adam.safetensors");  // as optim::Adam saves it
//
// With P processes the state takes about 1 / P of the memory, and results have the bits of the optimizer itself. The
// parameters become views of flat buffers, so move the model to its device first.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/nn/optim/optim.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

/// Whether optimizer O updates every element of a parameter with nothing but that element's gradient and state and the
/// parameter's step count, and its state has only tensors of the parameter's shape and counts.
/// Specialise it for others.
template <class O>
inline constexpr bool is_elementwise = false;
template <>
inline constexpr bool is_elementwise<optim::SGD> = true;
template <>
inline constexpr bool is_elementwise<optim::Adam> = true;
template <>
inline constexpr bool is_elementwise<optim::AdamW> = true;
template <>
inline constexpr bool is_elementwise<optim::RMSprop> = true;
template <>
inline constexpr bool is_elementwise<optim::Adagrad> = true;

struct ZeroRedundancyOptimizerOptions {
  std::shared_ptr<ProcessGroup> process_group = nullptr;  ///< the default group
  /// Whether step() itself averages the gradients over the processes, in rank order, each process receiving only its
  /// part. This takes the place of DistributedDataParallel, and .grad() stays the process's own.
  bool reduce_gradients = false;
  int64_t bucket_bytes = 25 << 20;  ///< of gradients that reduce_gradients sends at a time
};

namespace detail {
/// The optimizer of this process's part.
struct PartOptimizer {
  virtual ~PartOptimizer() = default;
  virtual optim::Optimizer& optimizer() = 0;
  virtual const char* type() const = 0;
  virtual std::unique_ptr<optim::OptimizerParamState> blank_state() const = 0;
};
}  // namespace detail

/// The part of ZeroRedundancyOptimizer that does not depend on the optimizer.
class ZeroRedundancyOptimizerBase : public optim::Optimizer {
 public:
  ~ZeroRedundancyOptimizerBase() override;
  /// Every process calls it. Throws Error, before anything is changed,
  /// if the parameters were moved or groups were added.
  Tensor step(LossClosure closure = nullptr) override;
  void add_param_group(const optim::OptimizerParamGroup&) = delete;
  void add_parameters(const std::vector<Tensor>&) = delete;

  /// Collects the state on rank `to`, or on every rank if -1, until the next step(). Every process calls it.
  void consolidate_state_dict(int to = 0);
  /// The complete state, in the format of the optimizer itself, which can load it. Throws Error unless it was
  /// consolidated here since the last step.
  void save(serialize::OutputArchive& archive) const override;
  /// Of the complete state, which any number of processes or the optimizer itself has saved. Every process loads it.
  void load(serialize::InputArchive& archive) override;
  /// The same for the state of this process only, which the same rank of as many processes can load.
  void save_part(serialize::OutputArchive& archive) const;
  void load_part(serialize::InputArchive& archive);

  /// Bytes of the state that this process keeps.
  std::size_t state_bytes() const;
  const std::shared_ptr<ProcessGroup>& process_group() const;

 protected:
  using MakePart =
      std::function<std::unique_ptr<detail::PartOptimizer>(const std::vector<optim::OptimizerParamGroup>&)>;
  ZeroRedundancyOptimizerBase(const std::vector<optim::OptimizerParamGroup>& groups,
                              std::unique_ptr<optim::OptimizerOptions> defaults, const MakePart& make,
                              ZeroRedundancyOptimizerOptions options);
  const char* name() const override;
  std::unique_ptr<optim::OptimizerParamState> make_state() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class O>
class ZeroRedundancyOptimizer final : public ZeroRedundancyOptimizerBase {
  static_assert(is_elementwise<O>,
                "ZeroRedundancyOptimizer cuts parameters into parts, so the optimizer must be elementwise; if yours "
                "is, say so with tandem::distributed::is_elementwise<Yours> = true");

  struct Part final : O, detail::PartOptimizer {
    template <class Defaults>
    Part(const std::vector<optim::OptimizerParamGroup>& groups, const Defaults& defaults) : O(groups, defaults) {}
    optim::Optimizer& optimizer() override { return *this; }
    const char* type() const override { return O::name(); }
    std::unique_ptr<optim::OptimizerParamState> blank_state() const override { return O::make_state(); }
  };

 public:
  using Groups = std::vector<optim::OptimizerParamGroup>;
  using Options = ZeroRedundancyOptimizerOptions;

  /// Every process receives the parameters of rank 0. `defaults`: the options of O, for groups without options. Throws
  /// Error as O does and if there is no process group, and DistributedError (on every process) if the parameters differ
  /// in shape or dtype.
  template <std::derived_from<optim::OptimizerOptions> Defaults>
  ZeroRedundancyOptimizer(const Groups& groups, Defaults defaults, Options options = {})
      : ZeroRedundancyOptimizerBase(
            groups, std::make_unique<Defaults>(defaults),
            [&](const Groups& parts) { return std::make_unique<Part>(parts, defaults); }, std::move(options)) {}
  template <std::derived_from<optim::OptimizerOptions> Defaults>
  ZeroRedundancyOptimizer(std::vector<Tensor> parameters, Defaults defaults, Options options = {})
      : ZeroRedundancyOptimizer(Groups{std::move(parameters)}, std::move(defaults), std::move(options)) {}
  template <std::derived_from<optim::OptimizerOptions> Defaults>
  ZeroRedundancyOptimizer(std::vector<Tensor> parameters, Defaults defaults, std::shared_ptr<ProcessGroup> group)
      : ZeroRedundancyOptimizer(Groups{std::move(parameters)}, std::move(defaults),
                                Options{.process_group = std::move(group)}) {}
};

}  // namespace tandem::distributed
