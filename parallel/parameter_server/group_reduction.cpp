#include "tandem/parallel/parameter_server/group_reduction.h"

#include <algorithm>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::parallel {
namespace {

constexpr int64_t kFirstBytes = 1 << 20;  // small, so that communication starts early

}  // namespace

GroupReduction::GroupReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options)
    : LocalReduction(replicas, root, options),
      parts_(options.group),
      buckets_(cut_buckets(this->root().flat, std::min(options.bucket_bytes, kFirstBytes), options.bucket_bytes)) {
  for (std::size_t i = 0; i < replicas.size(); ++i)
    if (reads_in_place(i))
      replicas[i]->report_gradients([this, i](std::size_t p) { arrived(i, p); },
                                    [this, i](std::size_t p) { arrivals_[i].arriving(p); });
}

// Where several calls add to the same gradients, each needs its weight in backward. Random streams differ on every
// process, whatever the numbers of devices; those of rank 0 are as on several devices without a group.
void GroupReduction::begin_step(int64_t samples, int64_t step) {
  largest_ = std::max(largest_, parts_.samples());
  parts_.begin(samples, 0, step, !weighted_late());
  part_ = samples;
  samples_ = parts_.samples();
  assumed_ = largest_ > 0 ? largest_ : samples_;
  seed_ = default_generator().current_seed();
  set_pieces(cut(samples, replicas_.size()), 0, weighted_late() ? samples : samples_);
  for (Piece& piece : pieces_) *piece.stream |= static_cast<uint64_t>(options_.group->rank()) << 32;
  distributed::broadcast_from(*options_.group, root().net->buffers(), 0, options_.bucket_bytes);
  begin_in_backward();
}

void GroupReduction::begin_in_backward() {
  arrivals_.clear();
  if (held_back > 0) return;
  Tensors others;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (i >= used_ && !replicas_[i]->has_gradient()) continue;
    if (!reads_in_place(i)) return;
    if (i != root_) others.push_back(seen_from(root().device, replicas_[i]->flat.grad()));
  }
  if (root_ >= used_ && !root().has_gradient()) {
    const DeviceGuard guard(root().device);
    root().flat.zero_grad();
  }
  begin(used_, std::move(others));
}

void GroupReduction::begin(std::size_t devices, Tensors others) {
  arrivals_.resize(devices);
  for (ReplicaArrivals& arrivals : arrivals_) arrivals.begin(buckets_);
  missing_.assign(buckets_.size(), devices);
  others_ = std::move(others);
  works_.clear();
}

void GroupReduction::before_backward(std::size_t device, const Piece& piece) {
  LocalReduction::before_backward(device, piece);
  if (in_backward()) replicas_[device]->reports = true;
}

// Every device completes the buckets in their order, so all of them do.
void GroupReduction::arrived(std::size_t device, std::size_t parameter) {
  arrivals_[device].arrived(parameter, [&](std::size_t bucket) {
    const std::lock_guard lock(mutex_);
    if (--missing_[bucket] == 0) start(bucket);
  });
}

void GroupReduction::start(std::size_t bucket) {
  const NoGradGuard no_grad;
  const DeviceGuard guard(root().device);
  const Bucket& b = buckets_[bucket];
  Tensor sum = b.buffer;
  Tensors others;
  for (const Tensor& other : others_) others.push_back(other.narrow(0, b.begin, sum.numel()));
  add_in_order(sum, others);
  if (const double divisor = weighted_late() ? share(assumed_, part_) : 1; divisor != 1) sum.div_(divisor);
  works_.push_back(options_.group->all_reduce(sum, distributed::ReduceOp::SUM, static_cast<int>(bucket)));
}

// Gradients that did not arrive are as they are.
void GroupReduction::start_rest() {
  const std::lock_guard lock(mutex_);
  while (works_.size() < buckets_.size()) start(works_.size());
}

bool GroupReduction::complete(bool failed) {
  if (!failed && in_backward()) start_rest();
  parts_.complete();
  samples_ = parts_.samples();
  return true;
}

void GroupReduction::sum(const optim::Optimizer* /*next*/) {
  if (!in_backward()) {
    begin(0, gradients_of_others());
    start_rest();
    end_reading();
  }
  wait(weighted_late() ? share(samples_, assumed_) : 1);
}

void GroupReduction::wait(double divisor) {
  const NoGradGuard no_grad;
  for (std::size_t k = 0; k < works_.size(); ++k) {
    works_[k]->wait();
    if (divisor != 1) Tensor(buckets_[k].buffer).div_(divisor);
  }
  works_.clear();
  others_.clear();
}

// Sums that are on their way use the gradients' memory.
void GroupReduction::drop(bool failed) {
  if (!failed) wait(1);
  works_.clear();
  LocalReduction::drop(failed);
}

}  // namespace tandem::parallel
