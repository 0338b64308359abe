// The server's part of a step: gradient sums and the optimizer step; also evaluation, state and timings.
#include <algorithm>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/inherited_autocast.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/device_threads.h"
#include "tandem/nn/files/archive.h"
#include "tandem/parallel/parallel_apply.h"
#include "tandem/parallel/server_impl.h"

namespace tandem::parallel {

int64_t batch_size(const Tensors& batch) {
  check(!batch.empty(), "ParameterServer: the batch has no tensors");
  for (const Tensor& t : batch) {
    check(t.defined() && t.dim() > 0, "ParameterServer: batch tensors must have samples along dimension 0, got ", t);
    check(t.size(0) == batch[0].size(0), "ParameterServer: batch tensors differ in the number of samples\n  ", batch[0],
          "\n  ", t);
  }
  check(batch[0].size(0) > 0, "ParameterServer: the batch has no samples: ", batch[0]);
  return batch[0].size(0);
}

Tensor seen_from(Device device, const Tensor& from) {
  if (from.device() == device) return from;
  if (reads_directly(device, from.device()) && !from.requires_grad())
    return from_blob(
        from.data_ptr(), from.sizes(), from.strides(), [kept = from.storage()](void*) {},
        TensorOptions(from.dtype()).device(device));
  return from.to(device, /*non_blocking=*/true);
}

void rethrow(const std::vector<std::exception_ptr>& errors, const std::vector<Device>& devices,
             const ServerGroup* group) {
  const std::string where = group == nullptr ? "" : concat("rank ", group->rank(), ", ");
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (errors[i]) rethrow_from(concat("ParameterServer: ", where, devices[i], ": "), errors[i]);
}

void ServerCore::Impl::reduce(std::size_t used, const optim::Optimizer* next) {
  if (held_back > 0 && !shards()) {
    accumulating = true;
    return;
  }
  NoGradGuard no_grad;
  const DeviceGuard guard(master().device);
  if (shards()) {
    reduce_tree(used);
  } else {
    if (!master().has_gradient) master().flat.zero_grad();
    if (!summing) sum_devices(used, next);
    if (group) group_sum->finish(divisor());
  }
  leaf.mutable_grad() = master().flat.grad();
  accumulating = held_back > 0;
}

// Whether the optimizer has exactly the trained parameters, as the leaf or individually, so that its pass
// covers every gradient. (An optimizer cannot contain a parameter twice.)
bool ServerCore::Impl::steps_all(const optim::Optimizer& optimizer) {
  const std::vector<Tensor>& all = master().flat.parameters();
  int64_t here = 0, there = 0;
  for (const Tensor& p : all) here += p.numel();
  for (const auto& group : optimizer.param_groups())
    for (const Tensor& p : group.params()) {
      if (p.is_same(leaf)) return optimizer.size() == 1;
      if (!p.grad().defined() || p.grad().storage() != master().flat.grad().storage() || !p.grad().is_contiguous())
        return false;
      there += p.numel();
    }
  return here == there && optimizer.size() == all.size();
}

// Sum order: the root's own gradient first, then those of the others in device order.
Tensors ServerCore::Impl::gradients_of_peers(std::size_t used) {
  Tensors others;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    ServerReplica& r = *replicas[i];
    if (i == root || !r.has_gradient) continue;
    if (inboxes[i].defined() && i >= used) r.end_sending();  // its gradients are from earlier calls
    r.before_reading();
    others.push_back(inboxes[i].defined() ? inboxes[i] : seen_from(master().device, r.flat.grad()));
  }
  return others;
}

// After backward: the sum over the devices, in the optimizer's pass if it can; in several processes also the start of
// that over processes.
void ServerCore::Impl::sum_devices(std::size_t used, const optim::Optimizer* next) {
  Tensors others = gradients_of_peers(used);
  if (next != nullptr && !group && next->sums_gradients() && steps_all(*next)) {
    summands = {master().flat.grad(), std::move(others)};
    return;
  }
  if (group) {
    group_sum->begin(0, std::move(others), part_divisor());
    group_sum->start_rest();
  } else {
    add_in_order(master().flat.grad(), others);
  }
  end_reading();
}

void ServerCore::Impl::end_reading() {
  for (auto& r : replicas) r->after_reading();
}

void ServerCore::Impl::reduce_tree(std::size_t used) {
  TreeSum total;
  total.begin(whole.total);
  for (std::size_t i = 0; i < used; ++i)
    for (const TreeSum::Node& node : replicas[i]->tree.nodes())
      total.add(node.level, node.index, seen_from(master().device, node.sum.flat));
  const Tensor& sum = master().flat.grad();
  if (group) {
    group->sum_tree(total.nodes(), whole.total, sum, accumulating, divisor());
  } else {
    const Tensor& here = total.nodes()[0].sum.flat;
    if (divisor() != 1) here.div_(divisor());
    if (accumulating)
      sum.add_(here);
    else if (!here.is_same(sum))
      sum.copy_(here);
  }
  master().look_at_gradients();
}

// Applied as if the shards had run sequentially: devices, and processes, hold consecutive runs of shards.
void ServerCore::Impl::fold_buffers(std::size_t used) {
  const std::vector<Tensor> buffers = master().net->buffers();
  const auto copy_written = [&] {
    for (std::size_t i = 0; i < used; ++i) replicas[i]->shard_buffers.copy_written(buffers);
  };
  const auto replay = [&] {
    for (std::size_t i = 0; i < used; ++i) replicas[i]->shard_buffers.replay(buffers);
  };
  if (group) {
    std::vector<bool> written(buffers.size());
    for (std::size_t k = 0; k < buffers.size(); ++k)
      for (std::size_t i = 0; i < used; ++i) written[k] = written[k] || replicas[i]->shard_buffers.wrote(k);
    group->fold_buffers(buffers, written, copy_written, replay);
  } else {
    copy_written();
    replay();
  }
}

std::vector<Tensor> ServerCore::parameters() const { return {impl_->leaf}; }
const std::vector<Device>& ServerCore::devices() const { return impl_->devices; }
Device ServerCore::root() const { return impl_->devices[impl_->root]; }
const ServerOptions& ServerCore::options() const { return impl_->options; }
int64_t ServerCore::steps() const { return impl_->steps; }

void ServerCore::update(optim::Optimizer& optimizer) {
  const Exclusive::Use use(exclusive_, "ParameterServer.update");
  impl_->guarded([&] { impl_->update(optimizer); });
}

void ServerCore::Impl::update(optim::Optimizer& optimizer) {
  Impl& s = *this;
  const double begin = seconds_now();
  check(s.leaf.grad().defined(), "ParameterServer.update: there is no gradient; call backward first");
  check(!s.accumulating, "ParameterServer.update: gradients are still held back by no_sync");
  s.master().check_unchanged();
  for (const auto& group : optimizer.param_groups())
    for (const Tensor& p : group.params())
      check(p.defined() && p.storage() == s.leaf.storage(),
            "ParameterServer.update: the optimizer has a parameter that is not the server's, ", p,
            "; create it on server.parameters()");
  const DeviceGuard guard(s.master().device);
  PhaseClock clock(s.master().device, s.options.synchronize_timings);
  if (const optim::FlatGradients gradients = std::exchange(s.summands, {}); !gradients.own.defined()) {
    optimizer.step();
  } else {
    try {
      optimizer.step_with(gradients);
    } catch (...) {
      s.end_reading();
      s.forget();  // a partial sum is useless
      throw;
    }
    s.end_reading();
  }
  s.timings.optimizer += clock.lap();
  for (auto& r : s.replicas)  // the others fetch them concurrently at their next step
    if (!reads_directly(r->device, s.master().device)) r->take_from(s.master(), false);
  ++s.timings.steps;
  s.left_at = seconds_now();
  s.timings.total += s.left_at - begin;
}

Tensor ServerCore::run_evaluate(const Tensors& batch, PieceFunction f) {
  const Exclusive::Use use(exclusive_, "ParameterServer.evaluate");
  Impl& s = *impl_;
  s.master().check_unchanged();
  const std::vector<int64_t> sizes = balanced_sizes(batch_size(batch), s.devices.size());
  const std::vector<Device> used(s.devices.begin(), s.devices.begin() + static_cast<std::ptrdiff_t>(sizes.size()));
  if (s.has_buffers)
    for (auto& r : s.replicas)
      if (r.get() != &s.master()) r->copy_buffers(s.master());
  const auto modules = s.master().net->modules();
  std::vector<bool> training;
  for (const auto& m : modules) training.push_back(m->is_training());
  s.master().net->eval();
  Tensors out(used.size());
  const autocast::detail::State callers = autocast::detail::state;
  const auto errors = run_on_devices(used, [&](std::size_t i) {
    const autocast::detail::InheritedAutocast same_precision(callers);
    NoGradGuard no_grad;
    ServerReplica& r = *s.replicas[i];
    r.take_from(s.master(), false);
    if (&r != &s.master()) r.net->eval();
    int64_t start = 0;
    for (std::size_t j = 0; j < i; ++j) start += sizes[j];
    Tensors piece;
    for (const Tensor& t : batch) piece.push_back(t.narrow(0, start, sizes[i]).to(r.device, /*non_blocking=*/true));
    out[i] = f(*r.net, piece);
  });
  for (std::size_t i = 0; i < modules.size(); ++i)
    if (modules[i]->is_training() != training[i]) modules[i]->train(training[i]);
  rethrow(errors, used, s.group.get());
  return gather(out, s.master().device, 0);
}

nn::Module& ServerCore::refreshed(std::size_t i) {
  const Exclusive::Use use(exclusive_, "ParameterServer.replica");
  check(i < impl_->replicas.size(), "ParameterServer.replica: there are ", impl_->replicas.size(),
        " replicas, got index ", i);
  impl_->replicas[i]->take_from(impl_->master(), true);
  return *impl_->replicas[i]->net;
}

ServerCore::NoSync::NoSync(ServerCore& server) : server_(server) { ++server.impl_->held_back; }
ServerCore::NoSync::~NoSync() { --server_.impl_->held_back; }

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
