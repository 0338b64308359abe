#include "tandem/parallel/group_sum.h"

#include <algorithm>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"

namespace tandem::parallel {
namespace {

constexpr int64_t kFirstBytes = 1 << 20;  // small, so that communication starts early

}  // namespace

// Adds in parts, so the sum stays in cache while the others are read.
void add_in_order(const Tensor& sum, const Tensors& others) {
  const int64_t size = sum.numel(), part = others.size() > 1 && sum.is_cpu() ? 1 << 16 : size;
  for (int64_t at = 0; at < size; at += part) {
    Tensor here = sum.narrow(0, at, std::min(part, size - at));
    for (const Tensor& other : others) here.add_(other.narrow(0, at, here.numel()));
  }
}

GroupSum::GroupSum(const nn::FlatParameters& root, std::shared_ptr<distributed::ProcessGroup> group, int64_t bytes)
    : group_(std::move(group)),
      device_(root.grad().device()),
      buckets_(cut_buckets(root, std::min(bytes, kFirstBytes), bytes)),
      places_(places_of(buckets_, root.parameters().size())) {}

void GroupSum::begin(std::size_t replicas, Tensors others, double divisor) {
  arrivals_.resize(replicas);
  for (ReplicaArrivals& arrivals : arrivals_) arrivals.begin(buckets_, places_);
  missing_.assign(buckets_.size(), replicas);
  others_ = std::move(others);
  divisor_ = divisor;
  works_.clear();
}

// Every replica completes the buckets in their order, so all of them do.
void GroupSum::arrived(std::size_t replica, std::size_t parameter) {
  arrivals_[replica].arrived(parameter, [&](std::size_t bucket) {
    const std::lock_guard lock(mutex_);
    if (--missing_[bucket] == 0) start(bucket);
  });
}

void GroupSum::start(std::size_t bucket) {
  const NoGradGuard no_grad;
  const DeviceGuard guard(device_);
  const Bucket& b = buckets_[bucket];
  Tensor sum = b.buffer;
  Tensors others;
  for (const Tensor& other : others_) others.push_back(other.narrow(0, b.begin, sum.numel()));
  add_in_order(sum, others);
  if (divisor_ != 1) sum.div_(divisor_);
  works_.push_back(group_->all_reduce(sum, distributed::ReduceOp::SUM, static_cast<int>(bucket)));
}

void GroupSum::start_rest() {
  const std::lock_guard lock(mutex_);
  while (works_.size() < buckets_.size()) start(works_.size());
}

void GroupSum::finish(double divisor) {
  const NoGradGuard no_grad;
  for (std::size_t k = 0; k < works_.size(); ++k) {
    works_[k]->wait();
    if (divisor != 1) Tensor(buckets_[k].buffer).div_(divisor);
  }
  works_.clear();
  others_.clear();
}

}  // namespace tandem::parallel
