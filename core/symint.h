// Sizes that LibTorch's compilers treat as symbols. Here they are integers.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include "tandem/core/base/array_ref.h"

namespace tandem {

class SymInt {
 public:
  SymInt() = default;
  template <class T>
  requires std::is_integral_v<T> SymInt(T value) : value_(static_cast<int64_t>(value)) {}
  operator int64_t() const { return value_; }
  int64_t expect_int() const { return value_; }
  int64_t guard_int(const char* /*file*/, int64_t /*line*/) const { return value_; }
  int64_t as_int_unchecked() const { return value_; }
  std::optional<int64_t> maybe_as_int() const { return value_; }
  bool is_symbolic() const { return false; }
  bool is_heap_allocated() const { return false; }
  SymInt& operator+=(SymInt other) { return *this = value_ + other.value_; }
  SymInt& operator-=(SymInt other) { return *this = value_ - other.value_; }
  SymInt& operator*=(SymInt other) { return *this = value_ * other.value_; }
  SymInt& operator/=(SymInt other) { return *this = value_ / other.value_; }

 private:
  int64_t value_ = 0;
};

/// Converts from and to sizes.
class SymIntArrayRef : public ArrayRef<SymInt> {
 public:
  using ArrayRef::ArrayRef;
  SymIntArrayRef(ArrayRef<SymInt> values) : ArrayRef(values) {}
  SymIntArrayRef(ArrayRef<int64_t> values) : ArrayRef(reinterpret_cast<const SymInt*>(values.data()), values.size()) {}
  operator ArrayRef<int64_t>() const { return {reinterpret_cast<const int64_t*>(data()), size()}; }
};
static_assert(sizeof(SymInt) == sizeof(int64_t) && std::is_standard_layout_v<SymInt>);
using OptionalSymIntArrayRef = std::optional<SymIntArrayRef>;

inline ArrayRef<int64_t> asIntArrayRefUnchecked(SymIntArrayRef values) { return values; }
inline ArrayRef<int64_t> asIntArrayRefSlow(SymIntArrayRef values, const char*, int64_t) { return values; }
inline std::optional<ArrayRef<int64_t>> asIntArrayRefSlowOpt(SymIntArrayRef values) { return values; }
inline SymIntArrayRef fromIntArrayRefUnchecked(ArrayRef<int64_t> values) { return values; }
inline SymIntArrayRef fromIntArrayRefSlow(ArrayRef<int64_t> values) { return values; }

}  // namespace tandem
