// Helpers shared by the tests of operations that move elements: a tensor's numbers, and the harness as a
// single check.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/testing.h"

namespace tandem::testing {

/// All elements in row-major order.
inline std::vector<double> values(const Tensor& t) {
  const Tensor host = t.detach().to(kDouble).contiguous();
  return std::vector<double>(host.data_ptr<double>(), host.data_ptr<double>() + host.numel());
}

/// "[2, 2] 0 1 2 3": shape and elements, so that a failure shows both sides.
inline std::string show(const Tensor& t) {
  std::string out = concat(t.sizes());
  for (double v : values(t)) out += concat(" ", v);
  return out;
}

/// 0, 1, 2, … in shape `sizes`.
inline Tensor counting(std::vector<int64_t> sizes, ScalarType type = kFloat) {
  return arange(checked_numel(sizes), TensorOptions(type)).view(sizes);
}

inline Tensor indices(std::vector<int64_t> numbers) {
  Tensor out = empty_raw({static_cast<int64_t>(numbers.size())}, kLong, Device(kCPU, 0));
  for (std::size_t i = 0; i < numbers.size(); ++i) out.data_ptr<int64_t>()[i] = numbers[i];
  return out;
}
inline Tensor mask_of(std::vector<int64_t> numbers) { return indices(numbers).to(kBool); }

/// Runs each test in every mode and reports the failures.
inline void run_all(const std::vector<OpTest>& tests) {
  for (const OpTest& test : tests) {
    const Report report = run(test);
    CHECK(report.checks > 0);
    for (const std::string& failure : report.failures) FAIL_CHECK(test.name << ": " << failure);
  }
}

}  // namespace tandem::testing
