#include "tandem/parallel/shared/buckets.h"

#include <numeric>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/nn/flat.h"

namespace tandem::parallel {
namespace {

constexpr int64_t kAlignment = 64;  // bytes

int64_t padded_elements(const Tensor& parameter) {
  const int64_t unit = kAlignment / static_cast<int64_t>(parameter.element_size());
  return (parameter.numel() + unit - 1) / unit * unit;
}

// Allocates the buffer for bucket.parameters.
void fill(Bucket& bucket, const std::vector<Tensor>& parameters) {
  int64_t elements = 0;
  for (const std::size_t i : bucket.parameters) elements += padded_elements(parameters[i]);
  const Tensor& first = parameters[bucket.parameters.front()];
  bucket.buffer = zeros({elements}, TensorOptions(first.dtype()).device(first.device()));
  int64_t at = 0;
  for (const std::size_t i : bucket.parameters) {
    bucket.views.push_back(part_like(bucket.buffer, parameters[i], at));
    at += padded_elements(parameters[i]);
  }
}

}  // namespace

std::vector<std::size_t> backward_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

std::vector<std::vector<std::size_t>> group_parameters(const std::vector<Tensor>& parameters,
                                                       const std::vector<std::size_t>& order, int64_t first_bytes,
                                                       int64_t bytes) {
  std::vector<std::vector<std::size_t>> out;
  int64_t filled = 0;
  for (const std::size_t i : order) {
    const Tensor& p = parameters[i];
    const int64_t limit = out.size() <= 1 ? first_bytes : bytes;
    const bool fits = !out.empty() && filled < limit && p.dtype() == parameters[out.back().front()].dtype() &&
                      p.device() == parameters[out.back().front()].device();
    if (!fits) {
      out.emplace_back();
      filled = 0;
    }
    out.back().push_back(i);
    filled += padded_elements(p) * static_cast<int64_t>(p.element_size());
  }
  return out;
}

std::vector<Bucket> make_buckets(const std::vector<Tensor>& parameters, const std::vector<std::size_t>& order,
                                 int64_t first_bytes, int64_t bytes) {
  const NoGradGuard no_grad;
  std::vector<Bucket> out;
  for (auto& group : group_parameters(parameters, order, first_bytes, bytes)) {
    out.push_back({{}, std::move(group), {}});
    fill(out.back(), parameters);
  }
  return out;
}

std::vector<Bucket> cut_buckets(const nn::FlatParameters& flat, int64_t first_bytes, int64_t bytes) {
  const NoGradGuard no_grad;
  const std::vector<Tensor>& parameters = flat.parameters();
  std::vector<Bucket> out;
  int64_t end = flat.size();
  for (auto& group : group_parameters(parameters, backward_order(parameters.size()), first_bytes, bytes)) {
    const int64_t begin = flat.offset(group.back());
    out.push_back({flat.grad().narrow(0, begin, end - begin), std::move(group), {}, begin});
    end = begin;
  }
  return out;
}

std::vector<BucketPlace> places_of(const std::vector<Bucket>& buckets, std::size_t parameters) {
  std::vector<BucketPlace> out(parameters);
  for (std::size_t k = 0; k < buckets.size(); ++k)
    for (std::size_t j = 0; j < buckets[k].parameters.size(); ++j) out[buckets[k].parameters[j]] = {k, j};
  return out;
}

void BucketQueue::begin(const std::vector<Bucket>& buckets) {
  next_ = 0;
  missing_.clear();
  for (const Bucket& bucket : buckets) missing_.push_back(bucket.parameters.size());
}

void ReplicaArrivals::begin(const std::vector<Bucket>& buckets) {
  queue_.begin(buckets);
  std::size_t parameters = 0;
  for (const Bucket& bucket : buckets) parameters += bucket.parameters.size();
  places_ = places_of(buckets, parameters);
  seen_.assign(parameters, 0);
}

void ReplicaArrivals::arriving(std::size_t parameter) const {
  check(places_[parameter].bucket >= queue_.started(), "ParameterServer: parameter ", parameter,
        " would receive another gradient after the first had been sent; a module that one backward pass reaches "
        "several times, as from nested passes, needs no_sync and a later pass");
}

}  // namespace tandem::parallel
