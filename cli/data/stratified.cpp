#include "tandem/cli/data/stratified.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/datasets/order.h"

namespace tandem::cli {

Split stratified_split(const Tensor& labels, double share, uint64_t seed) {
  const int64_t count = labels.numel(), *of = labels.data_ptr<int64_t>();
  std::vector<int64_t> wanted;  // of each class, still to be found
  for (int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::size_t>(of[i]);
    if (label >= wanted.size()) wanted.resize(label + 1);
    ++wanted[label];
  }
  for (int64_t& n : wanted) {
    const int64_t rounded = std::llround(share * static_cast<double>(n));
    n = n < 2 ? 0 : std::clamp<int64_t>(rounded, 1, n - 1);
  }
  std::vector<int64_t> part, rest;
  for (const int64_t at : data::shuffled_order(count, seed, 0)) {
    int64_t& missing = wanted[static_cast<std::size_t>(of[at])];
    (missing-- > 0 ? part : rest).push_back(at);
  }
  check(!part.empty(), "no class has two images, so none can be held out");
  const auto sorted = [](std::vector<int64_t>& positions) {
    std::sort(positions.begin(), positions.end());
    return tensor(positions, TensorOptions(Device(kCPU, 0)).dtype(kLong));
  };
  return {sorted(rest), sorted(part)};
}

}  // namespace tandem::cli
