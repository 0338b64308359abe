// The indices of subsets and the parts of a random split.
#include "tandem/datasets/subset.h"

#include <cmath>
#include <numeric>
#include <string>

#include "tandem/autograd/ops/random/random.h"
#include "tandem/core/warning.h"

namespace tandem::data::datasets::detail {
namespace {

int64_t known_size(optional<size_t> size) {
  check(size.has_value(), "random_split: the size of the data set is unknown; split one with a size");
  return static_cast<int64_t>(*size);
}

// Python's arithmetic: PyTorch's subsets have the same sizes.
std::vector<int64_t> counts_of(const std::vector<double>& fractions, int64_t size) {
  double sum = 0;
  std::vector<int64_t> counts;
  for (const double fraction : fractions) {
    check(fraction >= 0 && fraction <= 1, "random_split: the fraction ", fraction,
          " is not between 0 and 1; counts of examples are integers");
    sum += fraction;
    counts.push_back(static_cast<int64_t>(std::floor(static_cast<double>(size) * fraction)));
  }
  const int64_t left = size - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  // Above 10^9 examples, fractions that sum to 1 up to rounding can ask for more than there are.
  check(std::abs(sum - 1) <= 1e-9 && left >= 0, "random_split: the fractions must sum to 1, got ", sum);
  for (int64_t i = 0; i < left; ++i) ++counts[static_cast<size_t>(i) % counts.size()];
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0) warn("random_split: subset " + std::to_string(i) + " is empty");
  return counts;
}

}  // namespace

std::vector<size_t> subset_indices(ArrayRef<int64_t> indices, optional<size_t> size) {
  std::vector<size_t> out;
  out.reserve(indices.size());
  for (const int64_t i : indices) {
    check(i >= 0, "Subset: index ", i, " is negative; indices count from 0");
    check(!size || static_cast<size_t>(i) < *size, "Subset: index ", i, " is out of range for a data set of ",
          size.value_or(0), " examples");
    out.push_back(static_cast<size_t>(i));
  }
  return out;
}

std::vector<size_t> elements(const std::vector<size_t>& indices, ArrayRef<size_t> at) {
  std::vector<size_t> out;
  out.reserve(at.size());
  for (const size_t i : at) {
    check_index(i < indices.size(), "Subset: index ", i, " is out of range for ", indices.size(), " examples");
    out.push_back(indices[i]);
  }
  return out;
}

std::vector<std::vector<int64_t>> random_parts(optional<size_t> size, const std::vector<int64_t>& counts,
                                               const optional<Generator>& generator) {
  const int64_t examples = known_size(size);
  int64_t sum = 0;
  for (const int64_t count : counts) {
    check(count >= 0 && count <= examples, "random_split: the length ", count, " is not between 0 and ", examples,
          ", the size of the data set");
    sum += count;
  }
  check(sum == examples, "random_split: the lengths sum to ", sum, ", but the data set has ", examples, " examples");
  const Tensor order = randperm(examples, generator, TensorOptions(kLong).device(kCPU));
  const int64_t* next = order.data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> parts;
  for (const int64_t count : counts) {
    parts.emplace_back(next, next + count);
    next += count;
  }
  return parts;
}

std::vector<std::vector<int64_t>> random_parts(optional<size_t> size, const std::vector<double>& fractions,
                                               const optional<Generator>& generator) {
  return random_parts(size, counts_of(fractions, known_size(size)), generator);
}

}  // namespace tandem::data::datasets::detail
