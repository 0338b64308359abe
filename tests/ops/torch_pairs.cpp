// Elementwise operations on three tensors, and comparisons with a result that is not elementwise.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

void add_three(Table& table) {
  table.give<T(CT, CT, CT, CS)>("addcmul", addcmul);
  table.give<T(CT, CT, CT, CS)>("addcdiv", addcdiv);
  table.write<CT, CT, CS>("addcmul_", &T::addcmul_);
  table.write<CT, CT, CS>("addcdiv_", &T::addcdiv_);
  table.give<T(CT, CT, CS)>("lerp", lerp);
  table.give<T(CT, CT, CT)>("lerp", lerp);
  table.write<CT, CS>("lerp_", &T::lerp_);
  table.write<CT, CT>("lerp_", &T::lerp_);
  table.give<T(CT, CT, CT)>("where", where);
  table.give<T(CT, CT, CS)>("where", where);
  table.give<T(CT, CS, CT)>("where", where);
  table.give<T(CT, CS, CS)>("where", where);
  table.give<T(CT, CT, CS)>("masked_fill", masked_fill);
  table.give<T(CT, CT, CT)>("masked_fill", masked_fill);
  table.write<CT, CS>("masked_fill_", &T::masked_fill_);
  table.write<CT, CT>("masked_fill_", &T::masked_fill_);
}

}  // namespace

void add_pairs(Table& table) {
  add_three(table);
  table.give<T(CT, CT, double, double, bool)>("isclose", isclose);
  table.give<bool(CT, CT, double, double, bool)>("allclose", allclose);
  table.give<bool(CT, CT)>("equal", equal);
  table.give<ScalarType(CT, CT)>("result_type", result_type);
  table.give<ScalarType(CT, CS)>("result_type", result_type);
}

}  // namespace tandem::testing
