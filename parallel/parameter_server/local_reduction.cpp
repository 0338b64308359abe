#include "tandem/parallel/parameter_server/local_reduction.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/stream.h"
#include "tandem/parallel/shared/buckets.h"

namespace tandem::parallel {
namespace {

// Bytes of a bucket.
int64_t bucket_bytes(int64_t bytes, int buckets) {
  const int64_t count = buckets > 0 ? buckets : std::min<int64_t>(4, 1 + bytes / (1 << 20));
  return std::max<int64_t>(1, (bytes + count - 1) / count);
}

}  // namespace

// Receives the gradients of one device on dedicated streams, concurrently with the devices' computation, which waits
// only where it needs the result.
struct LocalReduction::Inbox {
  Inbox(const ServerReplica& from, const ServerReplica& root, int64_t bytes)
      : buckets(cut_buckets(from.flat, bytes, bytes)),
        gradients(zeros_like(root.flat.grad())),
        source(from.device),
        target(root.device),
        source_event(from.device.type()),
        target_event(root.device.type()) {
    free_receiver();  // waits for the zero fill
  }
  ~Inbox() {
    try {
      source.synchronize();
      target.synchronize();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "ParameterServer: %s\n", error.what());
    }
  }
  // Queues the copy of a bucket behind the work submitted to its device so far.
  void send(std::size_t k) {
    order(source_event, Stream::current(source.device()), source);
    const StreamGuard sender(source), receiver(target);
    const Bucket& bucket = buckets[k];
    copy_flat(gradients.narrow(0, bucket.begin, bucket.buffer.numel()), bucket.buffer);
  }
  // Makes work submitted to the receiver from now on wait for everything sent.
  void receive() { order(target_event, target, Stream::current(target.device())); }
  // Makes later sends wait for the work submitted to the receiver so far.
  void free_receiver() { order(target_event, Stream::current(target.device()), target); }
  // Makes work submitted to the sender from now on wait for everything sent.
  void free_sender() { order(source_event, source, Stream::current(source.device())); }
  static void order(Event& event, const Stream& before, const Stream& after) {
    event.record(before);
    event.wait(after);
  }

  const std::vector<Bucket> buckets;  // of the device's gradients
  const Tensor gradients;             // on the root
  ReplicaArrivals arrivals;
  Stream source, target;
  Event source_event, target_event;
};

LocalReduction::LocalReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options)
    : GradientReduction(replicas, root, options, "piece"), inboxes_(replicas.size()) {
  const NoGradGuard no_grad;
  const int64_t bytes = bucket_bytes(static_cast<int64_t>(this->root().flat.grad().nbytes()), options.buckets);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    ServerReplica& replica = *replicas[i];
    if (i == root || (options.buckets == 0 && reads_directly(this->root().device, replica.device))) continue;
    inboxes_[i] = std::make_unique<Inbox>(replica, this->root(), bytes);
    replica.report_gradients(
        [inbox = inboxes_[i].get()](std::size_t p) {
          inbox->arrivals.arrived(p, [&](std::size_t bucket) { inbox->send(bucket); });
        },
        [inbox = inboxes_[i].get()](std::size_t p) { inbox->arrivals.arriving(p); });
  }
}
LocalReduction::~LocalReduction() = default;

// A single device draws from the caller's stream, as training without a server does.
void LocalReduction::begin_step(int64_t samples, int64_t /*step*/) {
  samples_ = samples;
  seed_ = default_generator().current_seed();
  set_pieces(cut(samples, replicas_.size()), 0, samples);
  if (replicas_.size() == 1) pieces_[0].stream.reset();
}

void LocalReduction::begin_device(std::size_t device) {
  ServerReplica& replica = *replicas_[device];
  if (inboxes_[device]) inboxes_[device]->free_sender();
  if (!accumulating_ || !replica.has_gradient()) replica.flat.zero_grad();
}

void LocalReduction::before_backward(std::size_t device, const Piece& /*piece*/) {
  if (reads_in_place(device) || held_back > 0) return;
  inboxes_[device]->arrivals.begin(inboxes_[device]->buckets);
  replicas_[device]->reports = true;
}

void LocalReduction::after_backward(std::size_t device) {
  if (std::exchange(replicas_[device]->reports, false) && !reads_in_place(device))
    inboxes_[device]->arrivals.start_all([&](std::size_t bucket) { inboxes_[device]->send(bucket); });
}

Tensors LocalReduction::gradients_of_others() {
  Tensors out;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    const ServerReplica& replica = *replicas_[i];
    if (i == root_ || !replica.has_gradient()) continue;
    if (Inbox* inbox = inboxes_[i].get()) {
      for (std::size_t k = 0; i >= used_ && k < inbox->buckets.size(); ++k) inbox->send(k);  // from earlier calls
      inbox->receive();
      out.push_back(inbox->gradients);
    } else {
      out.push_back(seen_from(root().device, replica.flat.grad()));
    }
  }
  return out;
}

void LocalReduction::end_reading() {
  for (const auto& inbox : inboxes_)
    if (inbox) inbox->free_receiver();
}

void LocalReduction::finish(const optim::Optimizer* next) {
  if (held_back == 0) {
    const NoGradGuard no_grad;
    const DeviceGuard guard(root().device);
    if (!root().has_gradient()) root().flat.zero_grad();
    sum(next);
    leaf.mutable_grad() = root().flat.grad();
  }
  accumulating_ = held_back > 0;
}

void LocalReduction::sum(const optim::Optimizer* next) {
  Tensors others = gradients_of_others();
  if (next != nullptr && next->sums_gradients() && steps_all(*next)) {
    summands_ = {root().flat.grad(), std::move(others)};
    return;
  }
  add_in_order(root().flat.grad(), others);
  end_reading();
}

// Whether the optimizer has exactly the trained parameters, as the leaf or individually, so that its pass
// covers every gradient. (An optimizer cannot contain a parameter twice.)
bool LocalReduction::steps_all(const optim::Optimizer& optimizer) const {
  int64_t here = 0, there = 0;
  for (const Tensor& p : root().flat.parameters()) here += p.numel();
  for (const auto& group : optimizer.param_groups())
    for (const Tensor& p : group.params()) {
      if (p.is_same(leaf)) return optimizer.size() == 1;
      if (!p.grad().defined() || p.grad().storage() != root().flat.grad().storage() ||
          !p.grad().is_contiguous(dense_format(p)))
        return false;
      there += p.numel();
    }
  return here == there;
}

// Adds in parts, so the sum stays in cache while the others are read.
void LocalReduction::add_in_order(const Tensor& sum, const Tensors& others) {
  const int64_t size = sum.numel(), part = others.size() > 1 && sum.is_cpu() ? 1 << 16 : size;
  for (int64_t at = 0; at < size; at += part) {
    Tensor here = sum.narrow(0, at, std::min(part, size - at));
    for (const Tensor& other : others) here.add_(other.narrow(0, at, here.numel()));
  }
}

void LocalReduction::drop(bool failed) {
  summands_ = {};
  GradientReduction::drop(failed);
}

// Where the optimizer throws, a partial sum is useless.
void LocalReduction::update(optim::Optimizer& optimizer) {
  const optim::FlatGradients gradients = std::exchange(summands_, {});
  if (!gradients.own.defined()) return GradientReduction::update(optimizer);
  try {
    optimizer.step_with(gradients);
  } catch (...) {
    end_reading();
    drop(true);
    throw;
  }
  end_reading();
}

}  // namespace tandem::parallel
