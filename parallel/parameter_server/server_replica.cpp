#include "tandem/parallel/parameter_server/server_replica.h"

#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"

namespace tandem::parallel {

// Copies bytes instead of calling copy_, which would check and record the write: this runs in gradient
// hooks too, and flat buffers of one layout need neither.
void copy_flat(const Tensor& to, const Tensor& from) {
  // Between a device and the host, streams do not order the host side, so such a copy must block.
  const bool in_order = to.device().type() == from.device().type();
  copy_bytes_raw(to, from, /*non_blocking=*/in_order);
  autograd::wrote(to, "ParameterServer");
}

Tensor seen_from(Device device, const Tensor& from) {
  if (from.device() == device) return from;
  if (reads_directly(device, from.device()) && !from.requires_grad())
    return from_blob(
        from.data_ptr(), from.sizes(), from.strides(), [kept = from.storage()](void*) {},
        TensorOptions(from.dtype()).device(device));
  return from.to(device, /*non_blocking=*/true);
}

namespace {

std::vector<Tensor> trainable(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> out;
  for (const Tensor& p : parameters)
    if (p.requires_grad()) out.push_back(p);
  check(!out.empty(), "ParameterServer: the model has no parameters that require a gradient");
  for (const Tensor& p : out)
    check(p.dtype() == out[0].dtype(), "ParameterServer: trainable parameters must have one dtype\n  first ", out[0],
          "\n  other ", p);
  return out;
}

}  // namespace

ServerReplica::ServerReplica(Device device, std::shared_ptr<nn::Module> net)
    : device(device), net(std::move(net)), parameters(this->net->parameters()), flat(trainable(parameters)) {}

void ServerReplica::check_unchanged() const {
  const std::vector<Tensor> now = net->parameters();
  bool same = now.size() == parameters.size() && flat.is_flat();
  for (std::size_t i = 0, trained = 0; same && i < now.size(); ++i) {
    const bool is_trained = trained < flat.parameters().size() && flat.parameters()[trained].is_same(parameters[i]);
    trained += is_trained;
    same = now[i].is_same(parameters[i]) && now[i].requires_grad() == is_trained;
  }
  check(same,
        "ParameterServer: the model's parameters have changed since the server was created (it was moved, a "
        "parameter was added or removed, or one was frozen or unfrozen); create a new server");
}

uint64_t ServerReplica::stamp() const {
  uint64_t sum = flat.data()._version();
  for (const Tensor& p : parameters) sum += p._version();
  return sum;
}

void ServerReplica::copy_buffers(const ServerReplica& from) {
  NoGradGuard no_grad;
  const auto mine = net->buffers(), theirs = from.net->buffers();
  check(mine.size() == theirs.size(), "ParameterServer: the model has ", theirs.size(), " buffers, but its replica on ",
        device, " has ", mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) Tensor(mine[i]).copy_(theirs[i], /*non_blocking=*/true);
}

void ServerReplica::take_from(const ServerReplica& from, bool buffers) {
  if (this == &from) return;
  if (const uint64_t now = from.stamp(); fetched != now) {
    copy_flat(flat.data(), from.flat.data());
    for (std::size_t i = 0; i < parameters.size(); ++i) {  // frozen parameters are not in the flat buffer
      if (parameters[i].requires_grad()) continue;
      NoGradGuard no_grad;
      Tensor(parameters[i]).copy_(from.parameters[i], /*non_blocking=*/true);
    }
    fetched = now;
  }
  if (buffers) copy_buffers(from);
}

void ServerReplica::report_gradients(GradientHooks::Callback arrived, GradientHooks::Callback arriving) {
  const auto while_reporting = [this](GradientHooks::Callback call) {
    return [this, call = std::move(call)](std::size_t i) {
      if (reports) call(i);
    };
  };
  hooks_ = GradientHooks(flat.parameters(), while_reporting(std::move(arrived)), while_reporting(std::move(arriving)));
}

void ServerReplica::forget_gradients() {
  for (const Tensor& p : flat.parameters()) p.mutable_grad().reset();
  reports = false;
}

}  // namespace tandem::parallel
