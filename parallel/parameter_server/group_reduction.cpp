// Sums the gradients of the devices of one process, and these sums over the processes of a group.
//
// Where the root reads all gradients in place, this happens during backward, in buckets: the last device that completes
// one starts its sum. Otherwise it happens after backward; the processes do the same calls in both cases. Sums over
// processes have to begin before the size of the whole batch is known. So this process's sum, of its mean loss, gets a
// weight for the size of the largest batch so far, which all processes know, and the sum over processes is corrected.
// The largest, not the last: an epoch may end with a smaller batch, and training that goes on from a checkpoint at the
// beginning of the next one must have the bits of training that did not stop.
#include <algorithm>
#include <mutex>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/parallel/parameter_server/local_reduction.h"
#include "tandem/parallel/shards/part_exchange.h"
#include "tandem/parallel/shared/buckets.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::parallel {
namespace {

constexpr int64_t kFirstBytes = 1 << 20;  // small, so that communication starts early

class GroupReduction final : public LocalReduction {
 public:
  GroupReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options)
      : LocalReduction(replicas, root, options),
        parts_(options.group, "ParameterServer"),
        buckets_(cut_buckets(this->root().flat, std::min(options.bucket_bytes, kFirstBytes), options.bucket_bytes)) {
    for (std::size_t i = 0; i < replicas.size(); ++i)
      if (reads_in_place(i))
        replicas[i]->report_gradients([this, i](std::size_t p) { arrived(i, p); },
                                      [this, i](std::size_t p) { arrivals_[i].arriving(p); });
  }

  // Where several calls add to the same gradients, each needs its weight in backward. Random streams differ on every
  // process, whatever the numbers of devices; rank 0 has the streams of several devices without a group.
  void begin_step(int64_t samples, int64_t step) override {
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

  void before_backward(std::size_t device, const Piece& piece) override {
    LocalReduction::before_backward(device, piece);
    if (in_backward()) replicas_[device]->reports = true;
  }

  bool complete(bool failed) override {
    if (!failed && in_backward()) start_rest();
    parts_.complete();
    samples_ = parts_.samples();
    return true;
  }

  // Sums that are on their way use the gradients' memory.
  void drop(bool failed) override {
    if (!failed) wait(1);
    works_.clear();
    LocalReduction::drop(failed);
  }

 private:
  bool weighted_late() const { return !accumulating_ && held_back == 0; }
  bool in_backward() const { return !arrivals_.empty(); }

  void begin_in_backward() {
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

  void begin(std::size_t devices, Tensors others) {
    arrivals_.resize(devices);
    for (ReplicaArrivals& arrivals : arrivals_) arrivals.begin(buckets_);
    missing_.assign(buckets_.size(), devices);
    others_ = std::move(others);
    works_.clear();
  }

  // Every device completes the buckets in their order, so all of them do.
  void arrived(std::size_t device, std::size_t parameter) {
    arrivals_[device].arrived(parameter, [&](std::size_t bucket) {
      const std::lock_guard lock(mutex_);
      if (--missing_[bucket] == 0) start(bucket);
    });
  }

  void start(std::size_t bucket) {
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
  void start_rest() {
    const std::lock_guard lock(mutex_);
    while (works_.size() < buckets_.size()) start(works_.size());
  }

  void sum(const optim::Optimizer* /*next*/) override {
    if (!in_backward()) {
      begin(0, gradients_of_others());
      start_rest();
      end_reading();
    }
    wait(weighted_late() ? share(samples_, assumed_) : 1);
  }

  void wait(double divisor) {
    const NoGradGuard no_grad;
    for (std::size_t k = 0; k < works_.size(); ++k) {
      works_[k]->wait();
      if (divisor != 1) Tensor(buckets_[k].buffer).div_(divisor);
    }
    works_.clear();
    others_.clear();
  }

  PartExchange parts_;
  std::vector<Bucket> buckets_;            // of the root's gradients
  int64_t part_ = 0;                       // samples of this process
  int64_t largest_ = 0;                    // samples of all processes in a step so far
  int64_t assumed_ = 0;                    // for this step; in the first one its own samples
  std::vector<ReplicaArrivals> arrivals_;  // by device, if the sums begin in backward
  std::mutex mutex_;                       // devices run on several threads; guards what follows
  std::vector<std::size_t> missing_;       // by bucket, devices whose gradients are not complete
  Tensors others_;                         // what is added to the root's gradients
  std::vector<distributed::WorkPtr> works_;
};

}  // namespace

std::unique_ptr<GradientReduction> make_group_reduction(const GradientReduction::Replicas& replicas, std::size_t root,
                                                        const ServerOptions& options) {
  return std::make_unique<GroupReduction>(replicas, root, options);
}

}  // namespace tandem::parallel
