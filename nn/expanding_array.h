// ExpandingArray<D>: D values, given individually or as a single value for all of them.
#pragma once
#include <array>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <vector>

#include "tandem/core/base/array_ref.h"
#include "tandem/core/error.h"

namespace tandem {

template <std::size_t D, class T = int64_t>
class ExpandingArray {
 public:
  /// Throws Error unless `list` has D elements.
  ExpandingArray(std::initializer_list<T> list) : ExpandingArray(ArrayRef<T>(list.begin(), list.size())) {}
  ExpandingArray(const std::vector<T>& values) : ExpandingArray(ArrayRef<T>(values)) {}
  ExpandingArray(ArrayRef<T> values) {
    check(values.size() == D, "Expected ", D, " values, but instead got ", values.size());
    for (std::size_t i = 0; i < D; ++i) values_[i] = values[i];
  }
  ExpandingArray(T single) { values_.fill(single); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }
  operator ArrayRef<T>() const { return ArrayRef<T>(values_); }
  static constexpr std::size_t size() { return D; }
  bool all(T value) const {
    for (const T& v : values_)
      if (v != value) return false;
    return true;
  }

 private:
  std::array<T, D> values_;
};

/// Like ExpandingArray, but elements may be omitted: {7, nullopt}.
template <std::size_t D, class T = int64_t>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<T>> {
 public:
  using ExpandingArray<D, std::optional<T>>::ExpandingArray;
  /// Throws Error unless `list` has D elements.
  ExpandingArrayWithOptionalElem(std::initializer_list<T> list)
      : ExpandingArrayWithOptionalElem(ArrayRef<T>(list.begin(), list.size())) {}
  ExpandingArrayWithOptionalElem(const std::vector<T>& values) : ExpandingArrayWithOptionalElem(ArrayRef<T>(values)) {}
  ExpandingArrayWithOptionalElem(ArrayRef<T> values)
      : ExpandingArray<D, std::optional<T>>(std::vector<std::optional<T>>(values.begin(), values.end())) {}
  ExpandingArrayWithOptionalElem(T single) : ExpandingArray<D, std::optional<T>>(std::optional<T>(single)) {}
  ExpandingArrayWithOptionalElem(const std::array<T, D>& values)
      : ExpandingArrayWithOptionalElem(ArrayRef<T>(values)) {}
};

template <std::size_t D>
void append(std::string& out, const ExpandingArray<D>& values) {
  if constexpr (D == 1)  // as LibTorch prints it
    detail::append(out, values[0]);
  else
    detail::append(out, IntArrayRef(values));
}
template <std::size_t D>
std::ostream& operator<<(std::ostream& out, const ExpandingArray<D>& values) {
  return out << concat(values);
}

}  // namespace tandem
