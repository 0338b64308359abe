// Orders of indices, for the tests of samplers.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tandem::test {

using Indices = std::vector<size_t>;

inline Indices counting(size_t n) {
  Indices out(n);
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}
inline Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}
/// All remaining indices of the current epoch.
template <class S>
Indices rest(S& sampler, size_t batch_size = 3) {
  Indices out;
  while (auto batch = sampler.next(batch_size)) {
    CHECK(!batch->empty());
    CHECK(batch->size() <= batch_size);
    out.insert(out.end(), batch->begin(), batch->end());
  }
  return out;
}
template <class S>
Indices epoch(S& sampler) {
  sampler.reset();
  return rest(sampler);
}

}  // namespace tandem::test
