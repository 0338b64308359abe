#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel_base.h"

#include <algorithm>
#include <exception>
#include <ostream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/parallel/shared/device_copies.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {
namespace {

constexpr const char* kName = "DistributedDataParallel";

DistributedDataParallelOptions resolved(DistributedDataParallelOptions options) {
  if (options.devices.empty()) return options;
  options.devices = parallel::checked_devices(kName, options.devices);
  const Device root = options.device ? resolve(*options.device) : options.devices[0];
  check(std::find(options.devices.begin(), options.devices.end(), root) != options.devices.end(), kName,
        ": the device ", root, " is not one of the devices");
  options.device = root;
  return options;
}

// Moves the module, and compares it with the other processes' modules, before anything is allocated for it.
Reducer make_reducer(nn::Module& module, const std::shared_ptr<ProcessGroup>& group,
                     const DistributedDataParallelOptions& options) {
  if (options.device) module.to(*options.device);
  compare_models(*group, module, kName);
  std::vector<Tensor> parameters;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : module.named_parameters())
    if (parameter.requires_grad()) {
      parameters.push_back(parameter);
      names.push_back(name);
    }
  return Reducer(std::move(parameters), std::move(names), group,
                 {.bucket_bytes = options.bucket_bytes,
                  .first_bucket_bytes = options.first_bucket_bytes,
                  .find_unused_parameters = options.find_unused_parameters,
                  .static_graph = options.static_graph,
                  .several_devices = options.devices.size() > 1,
                  .comm_hook = options.comm_hook});
}

}  // namespace

DistributedDataParallelBase::DistributedDataParallelBase(std::shared_ptr<nn::Module> module,
                                                         DistributedDataParallelOptions options)
    : WrappedModule(kName, std::move(module)),
      options_(resolved(std::move(options))),
      group_(given_or_default(options_.process_group, kName, "call distributed::init_process_group() first")),
      reducer_(make_reducer(*wrapped(), group_, options_)),
      buffers_(wrapped()->buffers()) {
  for (const auto& [name, parameter] : wrapped()->named_parameters())
    if (!parameter.requires_grad()) frozen_.emplace_back(name, parameter);
  broadcast_from(*group_, wrapped()->parameters(), 0, options_.bucket_bytes);
  broadcast_from(*group_, buffers_, 0, options_.bucket_bytes);
}
DistributedDataParallelBase::~DistributedDataParallelBase() = default;

void DistributedDataParallelBase::before_forward() {
  if (!GradMode::is_enabled()) return;
  reducer_.check_previous();
  if (holding_ > 0) return;
  // In join() all ranks must do the same, those that have finished included,
  // although only some may be in training mode.
  const JoinedStep step = joining_ ? announce(true) : JoinedStep{0, wants_buffers()};
  if (step.buffers) receive_buffers(step.source);
}

bool DistributedDataParallelBase::wants_buffers() const {
  return options_.broadcast_buffers && wrapped()->is_training();
}

bool DistributedDataParallelBase::after_forward(Tensors& outputs) {
  if (!GradMode::is_enabled()) return false;
  for (const auto& [name, parameter] : frozen_)
    check(!parameter.requires_grad(), kName, ": parameter ", name,
          " was unfrozen after the model was wrapped, so its gradients would not be averaged; wrap the model again");
  if (holding_ == 0) return reducer_.prepare(outputs, wrapped()->is_training());
  reducer_.skip();
  return false;
}

void DistributedDataParallelBase::forward_failed() noexcept {
  if (!GradMode::is_enabled()) return;  // the others do not wait
  abort_group();
}

void DistributedDataParallelBase::abort_group() noexcept {
  abort_with(*group_, std::current_exception(), "an exception in forward");
}

void DistributedDataParallelBase::receive_buffers(int from) {
  if (!buffers_.empty()) broadcast_from(*group_, buffers_, from, options_.bucket_bytes);
}

DistributedDataParallelBase::JoinedStep DistributedDataParallelBase::announce(bool active) {
  enum : uint8_t { kFinished, kActive, kActiveWithBuffers };
  const uint8_t own = !active ? kFinished : wants_buffers() ? kActiveWithBuffers : kActive;
  const Tensor all = gather_rows(*group_, full({1}, own, kByte));
  JoinedStep step;
  for (int rank = 0; rank < group_->size(); ++rank) {
    const uint8_t state = all.data_ptr<uint8_t>()[rank];
    if (state != kFinished) step.source = rank;
    if (state == kActiveWithBuffers) step.buffers = true;
  }
  return step;
}

void DistributedDataParallelBase::join(const std::function<void()>& loop) {
  check(!joining_, kName, ".join: join() is running already");
  joining_ = true;
  try {
    loop();
  } catch (...) {
    joining_ = false;
    abort_group();
    throw;
  }
  const NoGradGuard no_grad;
  int last = group_->rank();  // whose parameters are the newest
  for (JoinedStep step; (step = announce(false)).source >= 0; last = step.source) {
    if (step.buffers) receive_buffers(step.source);
    reducer_.shadow();
  }
  joining_ = false;
  // All ranks agree on who was active last, except those that ended at the same time.
  last = gather_rows(*group_, full({1}, last, kInt)).max().item<int>();
  broadcast_from(*group_, wrapped()->parameters(), last, options_.bucket_bytes);
  receive_buffers(last);
}

void DistributedDataParallelBase::pretty_print(std::ostream& stream) const {
  stream << kName << "[rank " << group_->rank() << " of " << group_->size() << "] ";
  wrapped()->pretty_print(stream);
}

NoSyncGuard::NoSyncGuard(DistributedDataParallelBase& model) : model_(model) { ++model_.holding_; }
NoSyncGuard::~NoSyncGuard() { --model_.holding_; }

}  // namespace tandem::distributed
