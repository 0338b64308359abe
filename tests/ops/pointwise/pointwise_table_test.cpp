// Every elementwise operation of one and of two arguments is described in tests/ops/pointwise_table.h, or with its own
// examples in numeric_table.cpp.
#include <set>

#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/compare_ops.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/tests/ops/pointwise_table.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

template <class... Ops>
void check_described(TypeList<Ops...>, const std::set<std::string>& names) {
  for (const std::string name : {Ops::name...})
    CHECK_MESSAGE(names.contains(name), name,
                  " needs a line in a table of tests/ops, such as unary_table.cpp or binary_table.cpp");
}

}  // namespace

TEST_CASE("every elementwise operation is described") {
  std::set<std::string> names;
  for (const UnaryFunction& f : unary_functions()) names.insert(f.name);
  for (const BinaryFunction& f : binary_functions()) names.insert(f.name);
  for (const char* name : {"gcd", "lcm", "nextafter"}) names.insert(name);
  check_described(ops::UnaryOps(), names);
  check_described(ops::BinaryOps(), names);
  check_described(ops::CompareOps(), names);
}

TEST_CASE("names are distinct, and described functions have cases and parameters") {
  std::set<std::string> names;
  const auto check = [&](const OpTest& test) {
    CHECK_MESSAGE(names.insert(test.name).second, test.name);
    CHECK_MESSAGE(!test.cases.empty(), test.name);
  };
  for (const UnaryFunction& f : unary_functions()) {
    for (const OpTest& test : tests_of(f)) check(test);
    for (const Parameters& p : f.extremes) CHECK_MESSAGE(p.size() == f.parameters.size(), f.name);
  }
  for (const BinaryFunction& f : binary_functions()) {
    for (const OpTest& test : tests_of(f)) check(test);
    for (const Parameters& p : f.extremes) CHECK_MESSAGE(p.size() == f.parameters.size(), f.name);
  }
}
