// The devices' part of a step runs on one host thread per device; their gradients are summed by a reduction.
#include "tandem/parallel/parameter_server/server_core.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/inherited_autocast.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/device_threads.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/stream.h"
#include "tandem/nn/files/archive.h"
#include "tandem/parallel/parameter_server/local_reduction.h"
#include "tandem/parallel/parameter_server/server_replica.h"
#include "tandem/parallel/shared/model_sync.h"
#include "tandem/parallel/shared/parallel_apply.h"
#include "tandem/parallel/shared/replica_set.h"

namespace tandem::parallel {
namespace {

// Time since the last call, optionally measured after the device has finished its work.
class PhaseClock {
 public:
  PhaseClock(Device device, bool synchronize) : device_(device), synchronize_(synchronize), last_(seconds_now()) {}
  double lap() {
    if (synchronize_) Stream::current(device_).synchronize();
    const double before = last_;
    return (last_ = seconds_now()) - before;
  }

 private:
  Device device_;
  bool synchronize_;
  double last_;
};

std::size_t root_of(const std::vector<Device>& devices, const ServerOptions& options) {
  const Device root = options.root ? resolve(*options.root) : devices[0];
  const auto found = std::find(devices.begin(), devices.end(), root);
  check(found != devices.end(), "ParameterServer: the root ", root, " is not one of the devices");
  return static_cast<std::size_t>(found - devices.begin());
}

// Moves the copy for a device there.
void adapt(nn::Module& copy, const std::vector<Tensor>& parameters, Device device) {
  copy.to(device);
  const std::vector<Tensor> theirs = copy.parameters();
  check(theirs.size() == parameters.size(), "ParameterServer: the replica on ", device, " has ", theirs.size(),
        " parameters, but the model has ", parameters.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    check(theirs[i].dtype() == parameters[i].dtype(), "ParameterServer: parameter ", i, " of the replica differs\n  ",
          theirs[i], "\n  ", parameters[i]);
    // A flat buffer holds it in the order of its memory.
    theirs[i].set_data(theirs[i].detach().to(dense_format(parameters[i])));
    theirs[i].set_requires_grad(parameters[i].requires_grad());
  }
}

// Gives the models of all processes, which it compares, the parameters and buffers of rank 0's.
void make_models_equal(const ServerOptions& options, const nn::Module& net) {
  distributed::ProcessGroup& group = *options.group;
  group.check_member("ParameterServer");
  check(options.bucket_bytes > 0, "ParameterServer: bucket_bytes must be positive, got ", options.bucket_bytes);
  distributed::compare_models(group, net, "ParameterServer");
  distributed::broadcast_from(group, net.parameters(), 0, options.bucket_bytes);
  distributed::broadcast_from(group, net.buffers(), 0, options.bucket_bytes);
}

std::size_t sum_before(const std::vector<int64_t>& counts, std::size_t i) {
  return static_cast<std::size_t>(
      std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(i), int64_t{0}));
}

}  // namespace

struct ServerCore::Impl {
  struct Computed {
    StepResult result;
    std::vector<std::exception_ptr> errors;  // by device with pieces
    bool failed = false;
  };
  ServerReplica& master() { return *replicas[root]; }
  /// Runs f. If it throws, the other processes fail, too.
  template <class F>
  auto guarded(const F& f) {
    return options.group ? distributed::or_abort(*options.group, f) : f();
  }
  StepResult run_backward(const Tensors& batch, PieceFunction loss, const optim::Optimizer* next) {
    const double begin = seconds_now();
    if (left_at > 0) timings.data_wait += begin - left_at;
    master().check_unchanged();
    reduction->begin_step(batch_size(batch, "ParameterServer"), steps);
    Computed computed = compute(batch, loss);
    try {
      if (!reduction->complete(computed.failed)) computed = compute(batch, loss);
    } catch (...) {
      reduction->drop(true);  // they are gradients of a part alone
      rethrow(computed.errors);
      throw;
    }
    const double computed_at = seconds_now();
    StepResult& result = computed.result;
    for (const Piece& piece : reduction->pieces()) result.weights.push_back(reduction->loss_weight(piece));
    if (options.group && !computed.failed && options.not_finite == NotFinite::kSkip)  // all skip, or none
      result.skipped = distributed::gather_rows(*options.group, full({1}, result.skipped, kByte)).any().item<bool>();
    if (result.skipped || computed.failed) reduction->drop(computed.failed);
    rethrow(computed.errors);
    add_timings(computed.errors.size(), computed_at - begin);
    if (!result.skipped) reduction->finish(next);
    ++steps;
    left_at = seconds_now();
    timings.reduce += left_at - computed_at;
    timings.total += left_at - begin;
    return std::move(result);
  }

  void copy_buffers() {
    for (auto& r : replicas)
      if (r.get() != &master()) r->copy_buffers(master());
  }

  // Forward and backward of all pieces of this process. Each device gets a run of consecutive pieces.
  Computed compute(const Tensors& batch, PieceFunction loss) {
    const std::size_t pieces = reduction->pieces().size();
    const std::vector<int64_t> counts = balanced_sizes(static_cast<int64_t>(pieces), devices.size());
    copy_buffers();  // before computing, since the root's forward changes its own
    Computed out;
    out.result.losses.resize(pieces);
    std::atomic<bool> skips = false;
    const autocast::detail::State callers = autocast::detail::state;
    out.errors = run_on_devices(ArrayRef<Device>(devices.data(), counts.size()), [&](std::size_t i) {
      const autocast::detail::InheritedAutocast same_precision(callers);
      ServerReplica& r = *replicas[i];
      PhaseClock clock(r.device, options.synchronize_timings);
      r.timings = {};
      r.take_from(master(), false);
      set->follow_modes(i);
      r.timings.broadcast += clock.lap();
      reduction->begin_device(i);
      const AutoGradMode recording(true);
      const std::size_t end = sum_before(counts, i + 1);
      for (std::size_t p = sum_before(counts, i); p < end; ++p)
        if (!piece(i, p, batch, loss, out.result, clock)) {
          skips = true;
          break;
        }
      r.timings.backward += clock.lap();
    });
    out.result.skipped = skips;
    out.failed = std::any_of(out.errors.begin(), out.errors.end(), [](const auto& e) { return e != nullptr; });
    return out;
  }

  // Returns false if the loss is not finite and the step is to be skipped.
  bool piece(std::size_t device, std::size_t number, const Tensors& batch, PieceFunction loss, StepResult& result,
             PhaseClock& clock) {
    ServerReplica& r = *replicas[device];
    const Piece& piece = reduction->pieces()[number];
    Tensors inputs;
    for (const Tensor& t : batch) {
      const Tensor part = t.narrow(0, piece.start, piece.size);
      inputs.push_back(options.buckets == 0 ? seen_from(r.device, part) : part.to(r.device, /*non_blocking=*/true));
    }
    r.timings.copy_in += clock.lap();
    const PieceRun run{reduction->kind, reduction->seed(), steps, options.not_finite};
    Tensor value = loss_of_piece(run, piece, reduction->log(device), r.device, [&] { return loss(*r.net, inputs); });
    result.losses[number] = value.detach();
    if (!check_finite(run, piece, value)) return false;
    r.timings.forward += clock.lap();
    reduction->before_backward(device, piece);
    parallel::run_backward(std::move(value), piece);
    reduction->after_backward(device);
    r.timings.backward += clock.lap();
    return true;
  }

  void add_timings(std::size_t used, double elapsed) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const DeviceTimings t = i < used ? replicas[i]->timings : DeviceTimings{};
      DeviceTimings& sum = timings.devices[i];
      sum.broadcast += t.broadcast;
      sum.copy_in += t.copy_in;
      sum.forward += t.forward;
      sum.backward += t.backward;
      sum.idle += elapsed - (t.broadcast + t.copy_in + t.forward + t.backward);
    }
  }

  // Rethrows the first device's error, with the device prepended to its message.
  void rethrow(const std::vector<std::exception_ptr>& errors) const {
    const std::string where = options.group ? concat("rank ", options.group->rank(), ", ") : "";
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (errors[i]) rethrow_from(concat("ParameterServer: ", where, devices[i], ": "), errors[i]);
  }

  void update(optim::Optimizer& optimizer) {
    const double begin = seconds_now();
    const Tensor& leaf = reduction->leaf;
    check(leaf.grad().defined(), "ParameterServer.update: there is no gradient; call backward first");
    check(!reduction->accumulating(), "ParameterServer.update: gradients are still held back by no_sync");
    master().check_unchanged();
    for (const auto& group : optimizer.param_groups())
      for (const Tensor& p : group.params())
        check(p.defined() && p.storage() == leaf.storage(),
              "ParameterServer.update: the optimizer has a parameter that is not the server's, ", p,
              "; create it on server.parameters()");
    const DeviceGuard guard(master().device);
    PhaseClock clock(master().device, options.synchronize_timings);
    reduction->update(optimizer);
    timings.optimizer += clock.lap();
    for (auto& r : replicas)  // the others fetch them concurrently at their next step
      if (!reads_directly(r->device, master().device)) r->take_from(master(), false);
    ++timings.steps;
    left_at = seconds_now();
    timings.total += left_at - begin;
  }

  std::vector<Device> devices;
  std::size_t root = 0;
  ServerOptions options;
  std::unique_ptr<detail::ReplicaSet> set;
  GradientReduction::Replicas replicas;  // one per device, on the modules of `set`
  std::unique_ptr<GradientReduction> reduction;
  int64_t steps = 0;  // successful backward passes
  double left_at = 0;
  ServerTimings timings;
};

ServerCore::ServerCore(std::shared_ptr<nn::Module> net, ArrayRef<Device> devices, const ServerOptions& options,
                       MakeFunction make)
    : impl_(std::make_unique<Impl>()) {
  Impl& s = *impl_;
  check(net != nullptr, "ParameterServer: no model given");
  check(options.shards >= 0, "ParameterServer: shards must not be negative, got ", options.shards);
  check(options.buckets >= 0, "ParameterServer: buckets must not be negative, got ", options.buckets);
  check(options.loss == Reduction::Mean || options.loss == Reduction::Sum,
        "ParameterServer: options.loss must be Mean or Sum");
  s.devices = checked_devices("ParameterServer", devices);
  s.options = options;
  s.root = root_of(s.devices, options);
  const std::vector<Tensor> parameters = net->parameters();
  check(!parameters.empty(), "ParameterServer: the model has no parameters");
  for (const Tensor& p : parameters)
    check(p.device() == parameters[0].device(), "ParameterServer: the model must be on one device\n  ", parameters[0],
          "\n  ", p);
  if (const Device root = s.devices[s.root]; parameters[0].device() != root) net->to(root);
  if (options.group) make_models_equal(options, *net);
  s.set = std::make_unique<detail::ReplicaSet>(std::make_shared<detail::Master>(net, nullptr), s.devices, s.root,
                                               "ParameterServer");
  s.set->create(s.devices.size(), [&](Device device) {
    std::shared_ptr<nn::Module> copy = make(device);
    check(copy != nullptr && copy != net, "ParameterServer: each device needs a separate module; for ", device,
          copy ? " the model itself was returned" : " no module was created");
    return copy;
  });
  for (std::size_t i = 0; i < s.devices.size(); ++i) {
    if (i != s.root) adapt(*s.set->module(i), parameters, s.devices[i]);
    s.replicas.push_back(std::make_unique<ServerReplica>(s.devices[i], s.set->module(i)));
  }
  if (options.shards > 0)
    s.reduction = make_tree_reduction(s.replicas, s.root, s.options);
  else if (options.group)
    s.reduction = make_group_reduction(s.replicas, s.root, s.options);
  else
    s.reduction = std::make_unique<LocalReduction>(s.replicas, s.root, s.options);
  s.timings.devices.resize(s.devices.size());
  for (auto& r : s.replicas) r->forget_gradients(), r->take_from(s.master(), true);
}
ServerCore::~ServerCore() = default;

StepResult ServerCore::run_backward(const Tensors& batch, PieceFunction loss, const optim::Optimizer* next) {
  const Exclusive::Use use(exclusive_, "ParameterServer.backward");
  return impl_->guarded([&] { return impl_->run_backward(batch, loss, next); });
}

void ServerCore::update(optim::Optimizer& optimizer) {
  const Exclusive::Use use(exclusive_, "ParameterServer.update");
  impl_->guarded([&] { impl_->update(optimizer); });
}

Tensor ServerCore::run_evaluate(const Tensors& batch, PieceFunction f) {
  const Exclusive::Use use(exclusive_, "ParameterServer.evaluate");
  Impl& s = *impl_;
  s.master().check_unchanged();
  const std::vector<int64_t> sizes = balanced_sizes(batch_size(batch, "ParameterServer"), s.devices.size());
  s.copy_buffers();
  const auto modules = s.master().net->modules();
  std::vector<bool> training;
  for (const auto& m : modules) training.push_back(m->is_training());
  s.master().net->eval();
  Tensors out(sizes.size());
  const autocast::detail::State callers = autocast::detail::state;
  const auto errors = run_on_devices(ArrayRef<Device>(s.devices.data(), sizes.size()), [&](std::size_t i) {
    const autocast::detail::InheritedAutocast same_precision(callers);
    NoGradGuard no_grad;
    ServerReplica& r = *s.replicas[i];
    r.take_from(s.master(), false);
    if (&r != &s.master()) r.net->eval();
    const auto start = static_cast<int64_t>(sum_before(sizes, i));
    Tensors piece;
    for (const Tensor& t : batch) piece.push_back(t.narrow(0, start, sizes[i]).to(r.device, /*non_blocking=*/true));
    out[i] = f(*r.net, piece);
  });
  for (std::size_t i = 0; i < modules.size(); ++i)
    if (modules[i]->is_training() != training[i]) modules[i]->train(training[i]);
  s.rethrow(errors);
  return gather(out, s.master().device, 0);
}

std::vector<Tensor> ServerCore::parameters() const { return {impl_->reduction->leaf}; }
const std::vector<Device>& ServerCore::devices() const { return impl_->devices; }
Device ServerCore::root() const { return impl_->devices[impl_->root]; }
const ServerOptions& ServerCore::options() const { return impl_->options; }
int64_t ServerCore::steps() const { return impl_->steps; }

nn::Module& ServerCore::refreshed(std::size_t i) {
  const Exclusive::Use use(exclusive_, "ParameterServer.replica");
  check(i < impl_->replicas.size(), "ParameterServer.replica: there are ", impl_->replicas.size(),
        " replicas, got index ", i);
  impl_->replicas[i]->take_from(impl_->master(), true);
  return *impl_->replicas[i]->net;
}

ServerCore::NoSync::NoSync(ServerCore& server) : server_(server) { ++server.impl_->reduction->held_back; }
ServerCore::NoSync::~NoSync() { --server_.impl_->reduction->held_back; }

void ServerCore::set_steps(int64_t steps) {
  check(steps >= 0, "ParameterServer.set_steps: steps must not be negative, got ", steps);
  impl_->steps = steps;
}
void ServerCore::save(serialize::OutputArchive& archive) const { archive.write("steps", impl_->steps); }
void ServerCore::load(serialize::InputArchive& archive) { archive.read("steps", impl_->steps); }

const ServerTimings& ServerCore::timings() const { return impl_->timings; }
void ServerCore::reset_timings() {
  impl_->timings = {};
  impl_->timings.devices.resize(impl_->devices.size());
  impl_->left_at = 0;
}

}  // namespace tandem::parallel
