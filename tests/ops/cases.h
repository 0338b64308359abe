// The framework's operations, described for the harness of tandem/testing.h; one file per family.
#pragma once
#include "tandem/tandem.h"
#include "tandem/testing.h"

namespace tandem::testing {

std::vector<OpTest> unary_cases();
std::vector<OpTest> binary_cases();
std::vector<OpTest> operation_cases();

inline std::vector<OpTest> all_cases() {
  std::vector<OpTest> all;
  for (auto list : {unary_cases, binary_cases, operation_cases})
    for (OpTest& test : list()) all.push_back(std::move(test));
  return all;
}

/// Compares dtypes under autocast with a table of PyTorch's; prints the differences and the counts,
/// and returns main's result.
int check_autocast(const char* path);
/// Compares rows of batches with the same rows alone, to the bit; prints what differs and the counts, and returns
/// main's result.
int check_batches();

/// Describes an operation with one output.
template <class F>
OpTest op(std::string name, std::string torch, F f, std::vector<std::vector<InputSpec>> cases) {
  return {.name = std::move(name),
          .torch = std::move(torch),
          .fn = [f](const Tensors& x) { return Tensors{f(x)}; },
          .cases = std::move(cases)};
}
inline OpTest without_gradient(OpTest test) {
  test.first_order = test.second_order = false;
  return test;
}

}  // namespace tandem::testing
