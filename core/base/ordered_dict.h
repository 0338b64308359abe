// OrderedDict: values under unique keys, in the order of insertion (LibTorch's torch::OrderedDict).
#pragma once
#include <initializer_list>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/error.h"

namespace tandem {

/// A key and its value; also supports `auto& [key, value]`.
template <class Key, class Value>
class OrderedDictItem {
 public:
  OrderedDictItem(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
  const Key& key() const noexcept { return pair_.first; }
  Value& value() noexcept { return pair_.second; }
  const Value& value() const noexcept { return pair_.second; }
  Value& operator*() { return value(); }
  const Value& operator*() const { return value(); }
  Value* operator->() { return &value(); }
  const Value* operator->() const { return &value(); }
  const std::pair<Key, Value>& pair() const noexcept { return pair_; }
  template <std::size_t I>
  auto& get() {
    if constexpr (I == 0)
      return std::as_const(pair_.first);
    else
      return pair_.second;
  }
  template <std::size_t I>
  const auto& get() const {
    return std::get<I>(pair_);
  }

 private:
  std::pair<Key, Value> pair_;
};

template <class Key, class Value>
class OrderedDict {
 public:
  using Item = OrderedDictItem<Key, Value>;
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  /// `key_description` replaces "Key" in error messages.
  explicit OrderedDict(std::string key_description = "Key") : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict() {
    for (const auto& item : items) insert(item.key(), item.value());
  }

  const std::string& key_description() const noexcept { return key_description_; }
  std::size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }
  bool empty() const noexcept { return items_.empty(); }
  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }
  /// front() and back() throw Error when there are no items.
  Item& front() { return at_end("front", 0); }
  const Item& front() const { return const_cast<OrderedDict&>(*this).front(); }
  Item& back() { return at_end("back", size() - 1); }
  const Item& back() const { return const_cast<OrderedDict&>(*this).back(); }
  Item& operator[](std::size_t index) { return items_.at(index); }
  const Item& operator[](std::size_t index) const { return items_.at(index); }

  /// Throws Error when the key does not exist.
  Value& operator[](const Key& key) {
    Value* found = find(key);
    check(found != nullptr, key_description_, " '", key, "' is not defined");
    return *found;
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }
  /// nullptr when the key does not exist.
  Value* find(const Key& key) noexcept {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &items_[at->second].value();
  }
  const Value* find(const Key& key) const noexcept { return const_cast<OrderedDict&>(*this).find(key); }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }

  /// Throws Error when the key already exists.
  Value& insert(Key key, Value value) {
    check(!contains(key), key_description_, " '", key, "' already defined");
    index_.emplace(key, items_.size());
    return items_.emplace_back(std::move(key), std::move(value)).value();
  }
  template <class K, class V>
  Value& insert(K&& key, V&& value) {
    return insert(Key(std::forward<K>(key)), Value(std::forward<V>(value)));
  }
  /// Inserts all of `other`; throws Error when a key already exists.
  void update(const OrderedDict& other) {
    for (const auto& item : other) insert(item.key(), item.value());
  }
  /// Throws Error when the key does not exist.
  void erase(const Key& key) {
    const auto at = index_.find(key);
    check(at != index_.end(), "Key '", key, "' doesn't exist");
    const std::size_t gone = at->second;
    index_.erase(at);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(gone));
    for (auto& entry : index_)
      if (entry.second > gone) --entry.second;
  }
  void clear() {
    index_.clear();
    items_.clear();
  }
  void reserve(std::size_t count) {
    index_.reserve(count);
    items_.reserve(count);
  }

  const std::vector<Item>& items() const noexcept { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> out;
    for (const auto& item : items_) out.push_back(item.key());
    return out;
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    for (const auto& item : items_) out.push_back(item.value());
    return out;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> out;
    for (const auto& item : items_) out.push_back(item.pair());
    return out;
  }

 private:
  Item& at_end(const char* function, std::size_t index) {
    check(!is_empty(), "Called ", function, "() on an empty OrderedDict");
    return items_[index];
  }
  std::unordered_map<Key, std::size_t> index_;
  std::vector<Item> items_;
  std::string key_description_;
};

}  // namespace tandem

// Structured bindings. Hidden because Doxygen reports an error for a qualified specialisation.
/// @cond TANDEM_STD
template <class Key, class Value>
struct std::tuple_size<tandem::OrderedDictItem<Key, Value>> : std::integral_constant<std::size_t, 2> {};
template <class Key, class Value>
struct std::tuple_element<0, tandem::OrderedDictItem<Key, Value>> {
  using type = const Key;
};
template <class Key, class Value>
struct std::tuple_element<1, tandem::OrderedDictItem<Key, Value>> {
  using type = Value;
};
/// @endcond
