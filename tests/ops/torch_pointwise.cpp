// Factories, and the operations on one tensor that pointwise_table.h does not describe.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

void add_factories(Table& table) {
  table.give<T(Ints, Options)>("zeros", zeros);
  table.give<T(Ints, Options)>("ones", ones);
  table.give<T(Ints, CS, Options)>("full", full);
  table.give<T(CS, Options)>("arange", arange);
  table.give<T(CS, CS, Options)>("arange", arange);
  table.give<T(CS, CS, CS, Options)>("arange", arange);
  table.give<T(CS, CS, I, Options)>("linspace", linspace);
  table.give<T(CS, CS, I, double, Options)>("logspace", logspace);
  table.give<T(I, Options)>("eye", eye);
  table.give<T(I, I, Options)>("eye", eye);
  table.give<T(CT, Options)>("zeros_like", zeros_like);
  table.give<T(CT, Options)>("ones_like", ones_like);
  table.give<T(CT, CS, Options)>("full_like", full_like);
  table.give<T(CS, Options)>("scalar_tensor", scalar_tensor);
  table.add("new_zeros", std::type_identity<T(T, Ints, Options)>(),
            [](CT x, Ints size, Options o) { return x.new_zeros(size, o); });
  table.add("new_full", std::type_identity<T(T, Ints, CS, Options)>(),
            [](CT x, Ints size, CS value, Options o) { return x.new_full(size, value, o); });
}

}  // namespace

void add_pointwise(Table& table) {
  table.give<T(CT, I)>("round", round);
  table.write<I>("round_", &T::round_);
  add_factories(table);
  table.give<T(CT, CT, CT)>("clamp", clamp);
  table.give<T(CT, double, bool)>("dropout", dropout);
  table.add("dropout_", std::type_identity<T(T, double, bool)>(),
            [](T x, double p, bool train) { return dropout_(x, p, train); });
  table.give<T(CT, double, bool)>("feature_dropout", feature_dropout);
  table.write<CS>("fill_", &T::fill_);
  table.write<CT>("fill_", &T::fill_);
  table.write<>("zero_", &T::zero_);
}

}  // namespace tandem::testing
