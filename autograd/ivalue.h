// IValue: a tensor, a number, a string, or a list, tuple or dictionary of values, as saved by a custom function for
// its backward or written to an archive.
#pragma once
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

class IValue;
namespace ivalue {
class Tuple;
struct List;
}  // namespace ivalue
template <class Key, class Value>
class Dict;
using GenericDict = Dict<IValue, IValue>;

class IValue {
 public:
  IValue() = default;
  IValue(Tensor value) : value_(std::move(value)) {}
  IValue(std::string value) : value_(std::move(value)) {}
  IValue(const char* value) : value_(std::string(value)) {}
  IValue(std::vector<int64_t> value) : value_(std::move(value)) {}
  IValue(IntArrayRef value) : value_(value.vec()) {}
  IValue(std::vector<double> value) : value_(std::move(value)) {}
  IValue(std::vector<Tensor> value) : value_(std::move(value)) {}
  /// Lists of other values, tuples and dictionaries; copies share them.
  IValue(std::vector<IValue> value);
  IValue(const std::vector<std::string>& value);
  IValue(std::shared_ptr<ivalue::Tuple> value) : value_(std::move(value)) {}
  template <class... Ts>
  IValue(const std::tuple<Ts...>& value);
  template <class Key, class Value>
  IValue(const Dict<Key, Value>& value);
  IValue(const Scalar& value) {
    check(!value.isComplex(), "IValue: there are no complex values");
    if (value.isFloatingPoint())
      value_ = value.toDouble();
    else if (value.isBoolean())
      value_ = value.toBool();
    else
      value_ = value.toLong();
  }
  template <class T>
  requires(std::is_arithmetic_v<T>) IValue(T value) : IValue(Scalar(value)) {}

  bool isNone() const { return is<std::monostate>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isInt() const { return is<int64_t>(); }
  bool isDouble() const { return is<double>(); }
  bool isBool() const { return is<bool>(); }
  bool isString() const { return is<std::string>(); }
  bool isIntList() const { return is<std::vector<int64_t>>(); }
  bool isDoubleList() const { return is<std::vector<double>>(); }
  bool isTensorList() const { return is<std::vector<Tensor>>(); }
  bool isTuple() const { return is<std::shared_ptr<ivalue::Tuple>>(); }
  bool isGenericDict() const { return is<std::shared_ptr<GenericDict>>(); }
  /// A list of any kind.
  bool isList() const { return isIntList() || isDoubleList() || isTensorList() || isGenericList(); }
  bool isGenericList() const { return is<std::shared_ptr<ivalue::List>>(); }
  bool isScalar() const { return isInt() || isDouble() || isBool(); }
  /// "int64", "Tensor", …
  const char* type_name() const;

  // Each throws Error naming both types when the value has a different type.
  const Tensor& toTensor() const { return get<Tensor>("Tensor"); }
  int64_t toInt() const { return get<int64_t>("int64"); }
  double toDouble() const { return get<double>("double"); }
  bool toBool() const { return get<bool>("bool"); }
  const std::string& toStringRef() const { return get<std::string>("string"); }
  std::vector<int64_t> toIntVector() const { return get<std::vector<int64_t>>("int64 list"); }
  std::vector<int64_t> toIntList() const { return toIntVector(); }
  std::vector<double> toDoubleVector() const { return get<std::vector<double>>("double list"); }
  std::vector<Tensor> toTensorVector() const { return get<std::vector<Tensor>>("Tensor list"); }
  std::shared_ptr<ivalue::Tuple> toTuple() const { return get<std::shared_ptr<ivalue::Tuple>>("tuple"); }
  const ivalue::Tuple& toTupleRef() const { return *get<std::shared_ptr<ivalue::Tuple>>("tuple"); }
  /// The dictionary itself, not a copy.
  GenericDict& toGenericDict() const;
  /// The elements of a list of any kind.
  std::vector<IValue> toListRef() const;
  std::vector<IValue> toList() const { return toListRef(); }
  std::string toString() const { return toStringRef(); }
  template <class T>
  T to() const;
  /// A number of any kind.
  Scalar toScalar() const;

 private:
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& get(const char* wanted) const {
    const T* value = std::get_if<T>(&value_);
    if (value == nullptr) [[unlikely]]
      wrong_type(wanted);
    return *value;
  }
  [[noreturn]] void wrong_type(const char* wanted) const;

  std::variant<std::monostate, Tensor, int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<double>,
               std::vector<Tensor>, std::shared_ptr<ivalue::List>, std::shared_ptr<ivalue::Tuple>,
               std::shared_ptr<GenericDict>>
      value_;
};

}  // namespace tandem

#include "tandem/autograd/ivalue_containers.h"
