// Elementwise operations on two or three tensors, or a tensor and a number.
#include "tandem/tests/ops/torch_table.h"

#define PAIR(f)                 \
  table.give<T(CT, CT)>(#f, f); \
  table.give<T(CT, CS)>(#f, f)
#define PAIR_WRITES(f)               \
  PAIR(f);                           \
  table.write<CT>(#f "_", &T::f##_); \
  table.write<CS>(#f "_", &T::f##_)
#define TENSORS(f) table.give<T(CT, CT)>(#f, f)

namespace tandem::testing {
namespace {

void add_arithmetic(Table& table) {
  table.give<T(CT, CT, CS)>("add", add);
  table.give<T(CT, CS, CS)>("add", add);
  table.write<CT, CS>("add_", &T::add_);
  table.write<CS, CS>("add_", &T::add_);
  table.give<T(CT, CT, CS)>("sub", sub);
  table.give<T(CT, CS, CS)>("sub", sub);
  table.write<CT, CS>("sub_", &T::sub_);
  table.write<CS, CS>("sub_", &T::sub_);
  table.give<T(CT, CT, CS)>("rsub", rsub);
  table.give<T(CT, CS, CS)>("rsub", rsub);
  PAIR_WRITES(mul);
  PAIR_WRITES(div);
  table.give<T(CS, CT)>("div", div);
  using Mode = optional<std::string_view>;
  table.give<T(CT, CT, Mode)>("div", div);
  table.give<T(CT, CS, Mode)>("div", div);
  table.write<CT, Mode>("div_", &T::div_);
  table.write<CS, Mode>("div_", &T::div_);
  PAIR_WRITES(floor_divide);
  PAIR_WRITES(fmod);
  PAIR_WRITES(remainder);
  table.give<T(CS, CT)>("remainder", remainder);
  PAIR_WRITES(pow);
  table.give<T(CS, CT)>("pow", pow);
  TENSORS(maximum);
  TENSORS(minimum);
  TENSORS(atan2);
  table.write<CT>("atan2_", &T::atan2_);
  TENSORS(hypot);
  table.write<CT>("hypot_", &T::hypot_);
}

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
  add_arithmetic(table);
  add_three(table);
  PAIR(eq);
  PAIR(ne);
  PAIR(lt);
  PAIR(le);
  PAIR(gt);
  PAIR(ge);
  TENSORS(logical_and);
  TENSORS(logical_or);
  TENSORS(logical_xor);
  PAIR_WRITES(bitwise_and);
  PAIR_WRITES(bitwise_or);
  PAIR_WRITES(bitwise_xor);
  PAIR(bitwise_left_shift);
  PAIR(bitwise_right_shift);
  table.give<T(CT, CT, double, double, bool)>("isclose", isclose);
  table.give<bool(CT, CT, double, double, bool)>("allclose", allclose);
  table.give<bool(CT, CT)>("equal", equal);
  table.give<ScalarType(CT, CT)>("result_type", result_type);
  table.give<ScalarType(CT, CS)>("result_type", result_type);
}

}  // namespace tandem::testing
