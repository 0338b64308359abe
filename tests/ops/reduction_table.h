// The reductions, scans and sorts, described once for the harness and for the comparisons with PyTorch.
#pragma once
#include <string>
#include <vector>

#include "tandem/testing.h"
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {

struct ReductionFunction {
  std::string name;
  std::string drawn;  ///< a function of torch_cases/reductions.py, which draws the arguments
  void (*overloads)(Table& table, const std::string& name);
  std::vector<OpTest> tests;  ///< of the harness
};

const std::vector<ReductionFunction>& reduction_functions();

}  // namespace tandem::testing
