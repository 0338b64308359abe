#include <cmath>
#include <limits>
#include <ostream>
#include <unordered_map>
#include <unordered_set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/embedding.h"
#include "tandem/nn/quantizable.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel_base.h"
#include "tandem/parallel/fully_sharded/sharded_construction.h"
#include "tandem/parallel/fully_sharded/unit_schedule.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {
namespace {

constexpr const char* kName = "FullyShardedDataParallel";

void check_parameters(const ProcessGroup& group, const nn::Module& module) {
  const auto parameters = module.named_parameters();
  check(!parameters.is_empty(), kName, ": the module has no parameters");
  const Device device = group.size() == 1 ? parameters.values()[0].device() : group.device();
  for (const auto& [name, parameter] : parameters) {
    check(parameter.is_leaf(), kName, ": parameter ", name, " is not a leaf");
    check(parameter.device() == device, kName, ": parameter ", name, " is on ", parameter.device(),
          ", but the group's tensors are on ", device, "; all parameters must be on this one device");
  }
}

// Layers all of whose parameters autocast rounds in forward.
bool is_rounded(const nn::Module& m) {
  const bool matrix = dynamic_cast<const nn::Quantizable*>(&m) != nullptr && m.as<nn::Embedding>() == nullptr;
  return matrix || m.as<nn::Conv1d>() != nullptr || m.as<nn::Conv2d>() != nullptr || m.as<nn::Conv3d>() != nullptr ||
         m.as<nn::ConvTranspose1d>() != nullptr || m.as<nn::ConvTranspose2d>() != nullptr ||
         m.as<nn::ConvTranspose3d>() != nullptr;
}

std::unordered_set<const TensorImpl*> rounded_parameters(const nn::Module& module) {
  std::unordered_set<const TensorImpl*> rounded, others;
  for (const auto& each : module.modules())
    for (const Tensor& p : each->parameters(/*recurse=*/false)) (is_rounded(*each) ? rounded : others).insert(p.impl());
  for (const TensorImpl* p : others) rounded.erase(p);
  return rounded;
}

std::vector<ShardedUnit> cut(nn::Module& module, const FullyShardedDataParallelOptions& options,
                             const std::shared_ptr<ProcessGroup>& group) {
  const auto rounded = options.gather_rounded ? rounded_parameters(module) : std::unordered_set<const TensorImpl*>();
  ShardedConstruction* const construction = ShardedConstruction::current();
  std::vector<ShardedUnit> out;
  for (PlannedUnit& planned : plan_units(module, options.is_unit)) {
    if (construction != nullptr) construction->gather(planned.parameters, group);
    out.push_back({planned.name, planned.module, cut_parameters(std::move(planned.parameters), group, rounded)});
    if (construction != nullptr) construction->release();
  }
  return out;
}

[[noreturn]] void refuse_to() {
  fail(kName, ".to: the model is cut into slices; convert or move the module before wrapping it");
}

}  // namespace

FullyShardedDataParallelBase::FullyShardedDataParallelBase(std::shared_ptr<nn::Module> module,
                                                           FullyShardedDataParallelOptions options)
    : options_(std::move(options)), wrapped_(std::move(module)) {
  check(wrapped_ != nullptr, kName, ": the module is empty");
  group_ = given_or_default(options_.process_group, kName, "call distributed::init_process_group() first");
  check_parameters(*group_, *wrapped_);
  compare_models(*group_, *wrapped_, kName);
  broadcast_from(*group_, wrapped_->parameters(), 0);
  broadcast_from(*group_, wrapped_->buffers(), 0);
  schedule_ = std::make_shared<UnitSchedule>(cut(*wrapped_, options_, group_), group_, options_.reshard_after_forward,
                                             options_.overlap);
  schedule_->start();
  for (const ShardedUnit& unit : schedule_->units())
    for (const auto& part : unit.parts) {
      const std::string prefix = unit.name.empty() ? "" : unit.name + ".";
      std::string name = prefix + (part->trains() ? "flat" : "flat_frozen");
      if (part->rounds()) name += "_rounded";
      if (parameters_.contains(name)) name += concat("_", part->slice().dtype());
      parameters_.insert(std::move(name), part->slice());
    }
  for (const auto& [name, buffer] : wrapped_->named_buffers()) buffers_.insert(name, buffer);
  nn::Module::train(wrapped_->is_training());
}
FullyShardedDataParallelBase::~FullyShardedDataParallelBase() = default;

std::vector<ShardedSlice> FullyShardedDataParallelBase::slices() const {
  std::vector<ShardedSlice> out;
  for (const ShardedUnit& unit : schedule_->units())
    for (const auto& part : unit.parts) {
      ShardedSlice slice{unit.name, {}, part->slice()};
      for (const FlatPart::Place& place : part->places())
        slice.parameters.push_back({place.name,
                                    {place.sizes.begin(), place.sizes.end()},
                                    {place.strides.begin(), place.strides.end()},
                                    place.offset,
                                    place.numel});
      out.push_back(std::move(slice));
    }
  return out;
}

OrderedDict<std::string, Tensor> FullyShardedDataParallelBase::gather_parameters() {
  const NoGradGuard no_grad;
  std::unordered_map<const TensorImpl*, Tensor> whole;
  OrderedDict<std::string, Tensor> out("Parameter");
  for (std::size_t u = 0; u < schedule_->units().size(); ++u)
    schedule_->with_whole(u, [&](const ShardedUnit& unit) {
      for (const auto& part : unit.parts)
        for (const FlatPart::Place& place : part->places())
          whole[place.parameter.impl()] = place.parameter.detach().clone();
    });
  for (const auto& [name, parameter] : wrapped_->named_parameters()) out.insert(name, whole.at(parameter.impl()));
  return out;
}

double FullyShardedDataParallelBase::clip_grad_norm_(double max_norm, double norm_type) {
  check(norm_type > 0, kName, ".clip_grad_norm_: norm_type must be positive, got ", norm_type);
  const NoGradGuard no_grad;
  const bool largest = std::isinf(norm_type);
  double sum = 0;
  for (const Tensor& slice : parameters()) {
    if (!slice.grad().defined()) continue;
    const double norm = slice.grad().norm(norm_type).item<double>();
    sum = !largest ? sum + std::pow(norm, norm_type) : norm <= sum ? sum : norm;  // keeps a NaN
  }
  const Tensor all = full({1}, sum, TensorOptions(kDouble).device(group_->device()));
  group_->all_reduce(all, largest ? ReduceOp::MAX : ReduceOp::SUM)->wait();
  const double total = largest ? all.item<double>() : std::pow(all.item<double>(), 1 / norm_type);
  clip_gradients(max_norm, total);
  return total;
}

void FullyShardedDataParallelBase::clip_gradients(double max_norm, double norm) {
  const NoGradGuard no_grad;
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return;
  for (const Tensor& slice : parameters())
    if (slice.grad().defined()) slice.mutable_grad().mul_(factor);
}

void FullyShardedDataParallelBase::train(bool on) {
  wrapped_->train(on);
  nn::Module::train(on);
}
void FullyShardedDataParallelBase::to(Device, ScalarType, bool) { refuse_to(); }
void FullyShardedDataParallelBase::to(ScalarType, bool) { refuse_to(); }
void FullyShardedDataParallelBase::to(Device, bool) { refuse_to(); }
void FullyShardedDataParallelBase::to(MemoryFormat) { refuse_to(); }

void FullyShardedDataParallelBase::zero_grad(bool set_to_none) {
  nn::Module::zero_grad(set_to_none);
  wrapped_->zero_grad(true);  // what no_sync() has left
}

void FullyShardedDataParallelBase::pretty_print(std::ostream& stream) const {
  stream << kName << "[rank " << group_->rank() << " of " << group_->size() << "] ";
  wrapped_->pretty_print(stream);
}

void FullyShardedDataParallelBase::before_forward() {
  if (!schedule_->begin_forward(holding_ == 0)) return;
  const bool trains = GradMode::is_enabled() && is_training();
  if (trains && options_.broadcast_buffers && holding_ == 0) broadcast_from(*group_, wrapped_->buffers(), 0);
  schedule_->gather_root();
}

void FullyShardedDataParallelBase::after_forward(const Tensors& outputs) { schedule_->end_forward(outputs); }
void FullyShardedDataParallelBase::forward_failed() noexcept { schedule_->forward_failed(); }

}  // namespace tandem::distributed
