// Helpers shared by the tests of operations: running the harness as a doctest case, and checking for the same
// bits on any number of threads.
#pragma once
#include <doctest/doctest.h>

#include "tandem/core/threads/parallel_for.h"
#include "tandem/testing.h"

namespace tandem::testing {

/// Runs every mode of the harness and reports each failure.
inline void check_op(const OpTest& test) {
  const Report report = run(test);
  CHECK(report.checks > 0);
  for (const std::string& failure : report.failures) FAIL_CHECK(failure);
}

/// Checks that `compute` produces the same bits on 1, 2 and 5 threads.
inline void same_bits_on_any_threads(const std::function<Tensors()>& compute) {
  const int before = get_num_threads();
  Tensors first;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const Tensors out = compute();
    if (first.empty()) first = out;
    for (std::size_t i = 0; i < out.size(); ++i)
      CHECK_MESSAGE(identical(out[i], first[i]), "output ", i, " on ", threads, " threads");
  }
  set_num_threads(before);
}

}  // namespace tandem::testing
