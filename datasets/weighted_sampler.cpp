// The draws of WeightedRandomSampler.
#include "tandem/datasets/weighted_sampler.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops/random/random.h"
#include "tandem/datasets/order.h"

namespace tandem::data::samplers {
namespace {

Tensor to_tensor(const std::vector<double>& values) {
  Tensor out = empty_raw({static_cast<int64_t>(values.size())}, kDouble, Device(kCPU, 0));
  std::copy(values.begin(), values.end(), out.data_ptr<double>());
  return out;
}

Tensor copied(const Tensor& weights) {
  check(weights.dim() == 1 && weights.numel() > 0 && !is_complex(weights.dtype()),
        "WeightedRandomSampler: expected real weights [N] with N > 0, got ", weights);
  return weights.detach().to(Device(kCPU, 0), kDouble, /*non_blocking=*/false, /*copy=*/true).contiguous();
}

// The number of weights that are not 0.
int64_t checked(const Tensor& weights) {
  const double* w = weights.data_ptr<double>();
  int64_t positive = 0;
  double sum = 0;
  for (int64_t i = 0; i < weights.numel(); ++i) {
    check(w[i] >= 0 && std::isfinite(w[i]), "WeightedRandomSampler: weight ", i, " is ", w[i],
          "; weights must be finite and not negative");
    positive += w[i] > 0;
    sum += w[i];
  }
  check(positive > 0, "WeightedRandomSampler: all weights are 0");
  check(std::isfinite(sum), "WeightedRandomSampler: the sum of the weights is not finite; scale them down");
  return positive;
}

void check_samples(int64_t samples, bool replacement, int64_t positive) {
  check(samples > 0, "WeightedRandomSampler: num_samples must be at least 1, got ", samples);
  check(replacement || samples <= positive, "WeightedRandomSampler: ", samples,
        " samples without replacement, but only ", positive, " weights are not 0");
}

}  // namespace

WeightedRandomSampler::WeightedRandomSampler(const std::vector<double>& weights, int64_t num_samples, bool replacement,
                                             const optional<Generator>& generator)
    : WeightedRandomSampler(to_tensor(weights), num_samples, replacement, generator) {}

WeightedRandomSampler::WeightedRandomSampler(const Tensor& weights, int64_t num_samples, bool replacement,
                                             const optional<Generator>& generator)
    : IndexSampler(static_cast<size_t>(num_samples), nullopt),
      weights_(copied(weights)),
      positive_(checked(weights_)),
      replacement_(replacement) {
  check_samples(num_samples, replacement_, positive_);
  if (generator) set_seed(drawn_seed(*generator));  // after the checks, so that a failure draws nothing
}

void WeightedRandomSampler::reset(optional<size_t> new_size) {
  if (new_size) check_samples(static_cast<int64_t>(*new_size), replacement_, positive_);
  IndexSampler::reset(new_size);
}

std::vector<size_t> WeightedRandomSampler::order() {
  // No batch has the number -1, so a batch's random numbers are others.
  const Generator generator = batch_generator(seed().value_or(0), static_cast<int64_t>(epoch()), -1);
  const Tensor drawn = multinomial(weights_, static_cast<int64_t>(size_), replacement_, generator);
  const int64_t* indices = drawn.data_ptr<int64_t>();
  return std::vector<size_t>(indices, indices + drawn.numel());
}

}  // namespace tandem::data::samplers
