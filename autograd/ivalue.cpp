// IValue: conversions between its kinds.
#include "tandem/autograd/ivalue.h"

#include <cmath>
#include <limits>
#include <ostream>

#include "tandem/core/print.h"

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

List<IValue> IValue::toList() const { return toListRef(); }

namespace {

bool same_dictionary(const GenericDict& a, const GenericDict& b) {
  bool same = a.size() == b.size();
  for (auto entry = a.begin(); same && entry != a.end(); ++entry) {
    const auto other = b.find(entry->key());
    same = other != b.end() && entry->value() == other->value();
  }
  return same;
}

void print(std::ostream& out, double value) {
  // A number without a fraction keeps its point: "2.".
  if (std::abs(value) < 0x1p63 && std::floor(value) == value) {
    out << static_cast<int64_t>(value) << '.';
    return;
  }
  const std::streamsize digits = out.precision(std::numeric_limits<double>::max_digits10);
  out << value;
  out.precision(digits);
}

void print(std::ostream& out, char open, const std::vector<IValue>& elements, const char* close) {
  out << open;
  const char* comma = "";
  for (const IValue& element : elements) {
    out << comma << element;
    comma = ", ";
  }
  out << close;
}

}  // namespace

bool operator==(const IValue& a, const IValue& b) {
  if (a.value_.index() != b.value_.index()) return false;
  if (a.isTensor()) return a.toTensor().is_same(b.toTensor());
  if (a.isTuple()) return a.toTupleRef().elements() == b.toTupleRef().elements();
  if (a.isGenericDict()) return same_dictionary(a.toGenericDict(), b.toGenericDict());
  if (a.isList()) return a.toListRef() == b.toListRef();
  if (a.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isDouble()) return a.toDouble() == b.toDouble();
  if (a.isInt()) return a.toInt() == b.toInt();
  return a.isNone() || a.toBool() == b.toBool();
}

std::ostream& operator<<(std::ostream& out, const IValue& value) {
  if (value.isNone()) return out << "None";
  if (value.isTensor()) return out << value.toTensor();
  if (value.isString()) return out << value.toStringRef();
  if (value.isInt()) return out << value.toInt();
  if (value.isBool()) return out << (value.toBool() ? "True" : "False");
  if (value.isDouble()) {
    print(out, value.toDouble());
  } else if (value.isTuple()) {
    const std::vector<IValue>& elements = value.toTupleRef().elements();
    print(out, '(', elements, elements.size() == 1 ? ",)" : ")");
  } else if (value.isGenericDict()) {
    const char* comma = "";
    out << '{';
    for (const auto& entry : value.toGenericDict()) {
      out << comma << entry.key() << ": " << entry.value();
      comma = ", ";
    }
    out << '}';
  } else {
    print(out, '[', value.toListRef(), "]");
  }
  return out;
}

}  // namespace tandem
