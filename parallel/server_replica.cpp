// Replicas: flat parameters, copies, buckets.
#include "tandem/parallel/server_replica.h"

#include <algorithm>
#include <cstdio>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/core/base/clock.h"

namespace tandem::parallel {

// Copies bytes instead of calling copy_, which would check and record the write: this runs in gradient
// hooks too, and flat buffers of one layout need neither.
void copy_flat(const Tensor& to, const Tensor& from) {
  // Between a device and the host, streams do not order the host side, so such a copy must block.
  const bool in_order = to.device().type() == from.device().type();
  copy_bytes_raw(to, from, /*non_blocking=*/in_order);
  autograd::wrote(to, "ParameterServer");
}

Channel::Channel(Device from, Device to)
    : source_(from), target_(to), source_event_(from.type()), target_event_(to.type()) {}

Channel::~Channel() {
  try {
    source_.synchronize();
    target_.synchronize();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ParameterServer: %s\n", error.what());
  }
}

void Channel::send(const Tensor& to, const Tensor& from) {
  source_event_.record(Stream::current(source_.device()));
  source_event_.wait(source_);
  const StreamGuard sender(source_), receiver(target_);
  copy_flat(to, from);
}
void Channel::receive() {
  target_event_.record(target_);
  target_event_.wait(Stream::current(target_.device()));
}
void Channel::free_receiver() {
  target_event_.record(Stream::current(target_.device()));
  target_event_.wait(target_);
}
void Channel::free_sender() {
  source_event_.record(source_);
  source_event_.wait(Stream::current(source_.device()));
}

PhaseClock::PhaseClock(Device device, bool synchronize)
    : device_(device), synchronize_(synchronize), last_(seconds_now()) {}

double PhaseClock::lap() {
  if (synchronize_) Stream::current(device_).synchronize();
  const double before = last_;
  return (last_ = seconds_now()) - before;
}

// Skips the copy of a buffer that has not been written since the last step.
void ShardBuffers::begin(const nn::Module& net) {
  NoGradGuard no_grad;
  std::vector<Tensor> now = net.buffers();
  initial_.resize(now.size());
  stamps_.resize(now.size());
  for (std::size_t k = 0; k < now.size(); ++k) {
    if (k < buffers_.size() && buffers_[k].is_same(now[k]) && stamp(now[k]) == stamps_[k]) continue;
    if (initial_[k].defined() && initial_[k].sizes() == now[k].sizes() && initial_[k].dtype() == now[k].dtype() &&
        initial_[k].device() == now[k].device())
      initial_[k].copy_(now[k]);
    else
      initial_[k] = now[k].clone();
    stamps_[k] = stamp(now[k]);
  }
  buffers_ = std::move(now);
  written_.assign(buffers_.size(), {});
  log_.watch(buffers_);
}

void ShardBuffers::end_shard() {
  NoGradGuard no_grad;
  for (std::size_t k = 0; k < buffers_.size(); ++k)
    if (stamp(buffers_[k]) != stamps_[k]) written_[k] = buffers_[k].clone();
  restore();
}

void ShardBuffers::restore() {
  NoGradGuard no_grad;
  for (std::size_t k = 0; k < buffers_.size(); ++k) {
    if (stamp(buffers_[k]) == stamps_[k]) continue;
    buffers_[k].copy_(initial_[k]);
    stamps_[k] = stamp(buffers_[k]);
  }
}

void ShardBuffers::copy_written(const std::vector<Tensor>& buffers) const {
  NoGradGuard no_grad;
  for (std::size_t k = 0; k < written_.size(); ++k)
    if (written_[k].defined()) Tensor(buffers.at(k)).copy_(written_[k], /*non_blocking=*/true);
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
    : device(device), net(std::move(net)), parameters(this->net->parameters()), flat(trainable(parameters)) {
  for (std::size_t i = 0; i < flat.parameters().size(); ++i) offsets.push_back(flat.offset(i));
}

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

void ServerReplica::send_by(const std::vector<Bucket>& buckets, const Tensor& inbox) {
  const NoGradGuard no_grad;
  for (const Bucket& bucket : buckets)
    buckets_.push_back(
        {flat.grad().narrow(0, bucket.begin, bucket.buffer.numel()), bucket.parameters, {}, bucket.begin});
  inbox_ = inbox;
  channel_ = std::make_unique<Channel>(device, inbox.device());
  channel_->free_receiver();  // waits for the zero fill
  hooks_ = GradientHooks(
      flat.parameters(),
      [this](std::size_t i) {
        if (sending_) arrivals_.arrived(i, [&](std::size_t k) { send(buckets_[k]); });
      },
      [this](std::size_t i) {
        if (sending_) arrivals_.arriving(i);
      });
}

void ServerReplica::begin_sending() {
  if (!channel_) return;
  arrivals_.begin(buckets_, places_of(buckets_, offsets.size()));
  sending_ = true;
}

void ServerReplica::send(const Bucket& bucket) {
  channel_->send(inbox_.narrow(0, bucket.begin, bucket.buffer.numel()), bucket.buffer);
}

void ServerReplica::end_sending() {
  if (!channel_) return;
  if (!sending_) begin_sending();
  arrivals_.start_all([&](std::size_t k) { send(buckets_[k]); });
  sending_ = false;
}

void ServerReplica::before_reading() {
  if (channel_) channel_->receive();
}
void ServerReplica::after_reading() {
  if (channel_) channel_->free_receiver();
}
void ServerReplica::await_sent() {
  if (channel_) channel_->free_sender();
}

FlatSum ServerReplica::gradients() const {
  NoGradGuard no_grad;
  FlatSum out{flat.grad(), {}};
  for (std::size_t i = 0; i < flat.parameters().size(); ++i) {
    const Tensor& p = flat.parameters()[i];
    out.views.push_back(flat.grad().narrow(0, offsets[i], p.numel()).view(p.sizes()));
  }
  return out;
}

void ServerReplica::look_at_gradients() {
  const FlatSum all = gradients();
  for (std::size_t i = 0; i < all.views.size(); ++i) flat.parameters()[i].mutable_grad() = all.views[i];
}

// Otherwise the gradients of all parameters would be in memory twice at the end of backward.
void ServerReplica::collect_into_tree() {
  hooks_ = GradientHooks(
      flat.parameters(),
      [this](std::size_t i) {
        if (adding_shard) tree.collect(i, flat.parameters()[i]);
      },
      [this](std::size_t i) {
        if (adding_shard) tree.check_arriving(i);
      });
}

void ServerReplica::tell(GroupSum& sum, std::size_t number) {
  hooks_ = GradientHooks(
      flat.parameters(),
      [this, &sum, number](std::size_t i) {
        if (summing) sum.arrived(number, i);
      },
      [this, &sum, number](std::size_t i) {
        if (summing) sum.arriving(number, i);
      });
}

void ServerReplica::forget_gradients() {
  for (const Tensor& p : flat.parameters()) p.mutable_grad().reset();
  has_gradient = sending_ = adding_shard = summing = false;
}

}  // namespace tandem::parallel
