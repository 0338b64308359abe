// Tuples and dictionaries of IValues.
#pragma once
#include <utility>

#include "tandem/autograd/ivalue.h"

namespace tandem {
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

namespace detail {
bool same_key(const IValue& a, const IValue& b);
template <class Key>
bool same_key(const Key& a, const Key& b) {
  return a == b;
}
}  // namespace detail

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
    while (at != entries_.end() && !detail::same_key(at->key(), key)) ++at;
    return at;
  }
  bool contains(const Key& key) const { return find(key) != end(); }
  /// Throws Error when the key is missing.
  const Value& at(const Key& key) const {
    const auto found = find(key);
    check(found != end(), "Dict: there is no such key");
    return found->value();
  }
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
  for (const auto& entry : value) copy->insert(IValue(entry.key()), IValue(entry.value()));
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
