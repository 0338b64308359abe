// WeightedRandomSampler draws examples with given weights: rare classes can occur more often.
#pragma once
#include <vector>

#include "tandem/core/random/generator.h"
#include "tandem/core/tensor.h"
#include "tandem/datasets/index_samplers.h"

namespace tandem::data {
namespace samplers {

/// `num_samples` indices in an epoch, drawn by multinomial: index i with a probability proportional to weights[i]. With
/// replacement, an epoch may have an index several times; without, once at most. Each epoch has new draws, which are a
/// function of seed, epoch and weights. The seed is drawn from `generator`; without one, by the first reset() or save()
/// from the default generator.
class WeightedRandomSampler : public IndexSampler {
 public:
  /// `weights`, one for each example of the data set, need not sum to 1; they are copied. Throws Error if there is none,
  /// if one is negative or not finite, if all are 0, if num_samples < 1 and, without replacement, if it is above the
  /// number of weights that are not 0.
  WeightedRandomSampler(const std::vector<double>& weights, int64_t num_samples, bool replacement = true,
                        const optional<Generator>& generator = nullopt);
  /// `weights` is [N], of any real dtype, on any device. Also throws Error on other shapes.
  WeightedRandomSampler(const Tensor& weights, int64_t num_samples, bool replacement = true,
                        const optional<Generator>& generator = nullopt);
  /// Throws Error if the new number of samples is none.
  void reset(optional<size_t> new_size = nullopt) override;
  /// float64 [N], on the CPU.
  const Tensor& weights() const { return weights_; }

 protected:
  std::vector<size_t> order() override;

 private:
  Tensor weights_;  // not written, so that copies share it
  int64_t positive_;
  bool replacement_;
};

}  // namespace samplers

using samplers::WeightedRandomSampler;

}  // namespace tandem::data
