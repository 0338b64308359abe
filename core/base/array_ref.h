// ArrayRef<T>: a borrowed, read-only span of T. Use it for parameters, not for members: it does not own.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "tandem/core/base/cpp20.h"

namespace tandem {

namespace detail {
/// Throws IndexError.
[[noreturn]] void not_an_element(std::size_t index, std::size_t size);
}  // namespace detail

template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = const T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<const T*>;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<std::size_t>(end - begin)) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  // The list lives until the end of the full expression, so an argument is valid until the call returns. With
  // list.begin() GCC would warn.
  constexpr ArrayRef(std::initializer_list<T> list) : data_(std::data(list)), size_(list.size()) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  template <std::size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <std::size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}

  constexpr const T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  /// Throws IndexError if there is no such element.
  constexpr const T& at(std::size_t i) const {
    if (i >= size_) detail::not_an_element(i, size_);
    return data_[i];
  }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* cbegin() const { return begin(); }
  constexpr const T* cend() const { return end(); }
  constexpr reverse_iterator rbegin() const { return reverse_iterator(end()); }
  constexpr reverse_iterator rend() const { return reverse_iterator(begin()); }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  /// The elements from `from` on, at most `count` of them.
  constexpr ArrayRef slice(std::size_t from, std::size_t count) const { return {data_ + from, count}; }
  constexpr ArrayRef slice(std::size_t from) const { return {data_ + from, size_ - from}; }
  constexpr bool equals(ArrayRef other) const { return *this == other; }
  template <class Predicate>
  constexpr bool allMatch(const Predicate& holds) const {
    for (const T& element : *this)
      if (!holds(element)) return false;
    return true;
  }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

  friend constexpr bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

using IntArrayRef = ArrayRef<int64_t>;

}  // namespace tandem
