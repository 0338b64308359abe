// Shared by the tests of the raw CPU kernels: random data, comparison, and equal bits on 1, 2 and 5 threads.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tandem/core/threads/parallel_for.h"

namespace tandem::testing_kernels {

template <class T>
std::vector<T> random_values(int64_t count, std::mt19937& random) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::uniform_int_distribution<int> integer(-100, 100);
  for (T& v : values) {
    if constexpr (std::is_floating_point_v<T>)
      v = static_cast<T>(uniform(random));
    else
      v = static_cast<T>(integer(random));
  }
  return values;
}

inline int64_t pick(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// The largest |got - want| / (1 + |want|); infinite if only one of them is NaN or the sizes differ.
template <class T, class U>
double worst_error(const std::vector<T>& got, const std::vector<U>& want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    const double error = std::abs(g - w) / (1 + std::abs(w));
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

/// Runs `compute(out)` on 1, 2 and 5 threads, checks that the results are bitwise equal, and returns one.
/// `out` starts as NaN (or 77), which exposes kernels that read it or leave elements unwritten.
template <class T, class F>
std::vector<T> on_any_threads(int64_t count, F compute) {
  std::vector<T> first;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    std::vector<T> out(static_cast<std::size_t>(count), std::is_floating_point_v<T> ? static_cast<T>(NAN) : T(77));
    compute(out.data());
    if (first.empty()) first = out;
    REQUIRE(out.size() == first.size());
    CHECK_MESSAGE((out.empty() || std::memcmp(out.data(), first.data(), out.size() * sizeof(T)) == 0),
                  "different bits on ", threads, " threads than on 1");
  }
  return first;
}

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 2e-4 : 1e-11;

}  // namespace tandem::testing_kernels
