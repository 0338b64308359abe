// IValue: a tensor, a number, a string, or a list, tuple or dictionary of values, as saved by a custom function for
// its backward or written to an archive.
#pragma once
#include <iosfwd>
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

/// A vector with the members of LibTorch's list. A copy has its own elements; LibTorch's shares them.
template <class T>
class List : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  List(std::vector<T> elements) : std::vector<T>(std::move(elements)) {}
  /// Throw std::out_of_range if there is no such element.
  T get(std::size_t index) const { return this->at(index); }
  void set(std::size_t index, T value) { this->at(index) = std::move(value); }
  T extract(std::size_t index) { return std::move(this->at(index)); }
  void append(const List& other) { this->insert(this->end(), other.begin(), other.end()); }
  List copy() const { return *this; }
  std::vector<T> vec() const { return *this; }
};

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
      value_ = static_cast<int64_t>(value.toUInt64());  // wraps around from 2^63 on
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
  List<int64_t> toIntList() const { return toIntVector(); }
  std::vector<double> toDoubleVector() const { return get<std::vector<double>>("double list"); }
  List<double> toDoubleList() const { return toDoubleVector(); }
  std::vector<Tensor> toTensorVector() const { return get<std::vector<Tensor>>("Tensor list"); }
  List<Tensor> toTensorList() const { return toTensorVector(); }
  std::shared_ptr<ivalue::Tuple> toTuple() const { return get<std::shared_ptr<ivalue::Tuple>>("tuple"); }
  const ivalue::Tuple& toTupleRef() const { return *get<std::shared_ptr<ivalue::Tuple>>("tuple"); }
  /// The dictionary itself, not a copy.
  GenericDict& toGenericDict() const;
  /// The elements of a list of any kind.
  std::vector<IValue> toListRef() const;
  List<IValue> toList() const;
  std::string toString() const { return toStringRef(); }
  template <class T>
  T to() const;
  /// A number of any kind.
  Scalar toScalar() const;

  /// Whether both have the same kind and equal contents; tensors are equal if they are the same tensor.
  friend bool operator==(const IValue& a, const IValue& b);
  /// As in LibTorch: None, True, 3, 1.5, 2., the text, [1, 2], (1, 2), {a: 1}, and tensors as they are printed.
  friend std::ostream& operator<<(std::ostream& out, const IValue& value);

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

namespace ivalue {

struct List {
  std::vector<IValue> elements;
};

class Tuple {
 public:
  explicit Tuple(std::vector<IValue> elements) : elements_(std::move(elements)) {}
  static std::shared_ptr<Tuple> create(std::vector<IValue> elements) {
    return std::make_shared<Tuple>(std::move(elements));
  }
  template <class... Ts>
  requires(sizeof...(Ts) > 1) static std::shared_ptr<Tuple> create(Ts&&... elements) {
    return create(std::vector<IValue>{IValue(std::forward<Ts>(elements))...});
  }
  const std::vector<IValue>& elements() const { return elements_; }
  std::size_t size() const { return elements_.size(); }

 private:
  std::vector<IValue> elements_;
};

}  // namespace ivalue

/// A dictionary in insertion order; look-ups are linear. Keys of IValue are numbers or strings.
template <class Key, class Value>
class Dict {
 public:
  class Entry {
   public:
    Entry(Key key, Value value) : key_(std::move(key)), value_(std::move(value)) {}
    const Key& key() const { return key_; }
    const Value& value() const { return value_; }
    void setValue(Value value) { value_ = std::move(value); }

   private:
    Key key_;
    Value value_;
  };
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto find(const Key& key) const {
    auto at = entries_.begin();
    while (at != entries_.end() && !(at->key() == key)) ++at;
    return at;
  }
  bool contains(const Key& key) const { return find(key) != end(); }
  /// Throws Error when the key is missing.
  const Value& at(const Key& key) const {
    const auto found = find(key);
    check(found != end(), "Dict: there is no such key");
    return found->value();
  }
  /// Adds an entry whose key is new, which is not looked up.
  void append(Key key, Value value) { entries_.emplace_back(std::move(key), std::move(value)); }
  /// Does nothing when the key exists.
  void insert(Key key, Value value) {
    if (!contains(key)) entries_.emplace_back(std::move(key), std::move(value));
  }
  void insert_or_assign(Key key, Value value) {
    const auto found = find(key);
    if (found == end())
      entries_.emplace_back(std::move(key), std::move(value));
    else
      entries_[static_cast<std::size_t>(found - begin())].setValue(std::move(value));
  }

 private:
  std::vector<Entry> entries_;
};

template <class... Ts>
IValue::IValue(const std::tuple<Ts...>& value)
    : value_(std::apply(
          [](const Ts&... elements) { return ivalue::Tuple::create(std::vector<IValue>{IValue(elements)...}); },
          value)) {}

template <class Key, class Value>
IValue::IValue(const Dict<Key, Value>& value) {
  auto copy = std::make_shared<GenericDict>();
  for (const auto& entry : value) copy->append(IValue(entry.key()), IValue(entry.value()));
  value_ = std::move(copy);
}

template <class T>
T IValue::to() const {
  if constexpr (std::is_same_v<T, Tensor>)
    return toTensor();
  else if constexpr (std::is_same_v<T, bool>)
    return toBool();
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(toInt());
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(toDouble());
  else if constexpr (std::is_same_v<T, std::string>)
    return toStringRef();
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return toIntVector();
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return toDoubleVector();
  else if constexpr (std::is_same_v<T, std::vector<Tensor>>)
    return toTensorVector();
  else
    static_assert(std::is_same_v<T, IValue>, "IValue::to: not a type of IValue");
}

}  // namespace tandem
