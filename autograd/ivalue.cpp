// IValue: conversions between its kinds.
#include "tandem/autograd/ivalue.h"

namespace tandem {

IValue::IValue(std::vector<IValue> value) : value_(std::make_shared<ivalue::List>(ivalue::List{std::move(value)})) {}
IValue::IValue(const std::vector<std::string>& value) : IValue(std::vector<IValue>(value.begin(), value.end())) {}

const char* IValue::type_name() const {
  constexpr const char* names[] = {"None",       "Tensor",      "int64",       "double", "bool",  "string",
                                   "int64 list", "double list", "Tensor list", "list",   "tuple", "dictionary"};
  return names[value_.index()];
}
void IValue::wrong_type(const char* wanted) const { fail("IValue: expected ", wanted, ", the value is ", type_name()); }
Scalar IValue::toScalar() const {
  if (isDouble()) return toDouble();
  if (isBool()) return toBool();
  return get<int64_t>("a number");
}
GenericDict& IValue::toGenericDict() const { return *get<std::shared_ptr<GenericDict>>("dictionary"); }

std::vector<IValue> IValue::toListRef() const {
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value_)) return {v->begin(), v->end()};
  if (const auto* v = std::get_if<std::vector<double>>(&value_)) return {v->begin(), v->end()};
  if (const auto* v = std::get_if<std::vector<Tensor>>(&value_)) return {v->begin(), v->end()};
  return get<std::shared_ptr<ivalue::List>>("a list")->elements;
}

bool detail::same_key(const IValue& a, const IValue& b) {
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isDouble() && b.isDouble()) return a.toDouble() == b.toDouble();
  return a.isBool() && b.isBool() && a.toBool() == b.toBool();
}

}  // namespace tandem
