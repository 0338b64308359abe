// Dims: the sizes or strides of a tensor, stored inline; at most kMaxDims of them.
#pragma once
#include <cstdint>

#include "tandem/core/base/array_ref.h"
#include "tandem/core/error.h"
#include "tandem/core/max_dims.h"

namespace tandem {

class Dims {
 public:
  Dims() = default;
  Dims(IntArrayRef values) { assign(values); }
  Dims(std::initializer_list<int64_t> values) { assign(IntArrayRef(values)); }
  Dims(std::size_t count, int64_t value) {
    resize(count);
    for (auto& v : *this) v = value;
  }
  Dims(const Dims& other) { assign(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other);
    return *this;
  }
  void assign(IntArrayRef values) {
    resize(values.size());
    for (std::size_t i = 0; i < count_; ++i) values_[i] = values[i];
  }
  /// New entries are uninitialised. Throws Error above kMaxDims.
  void resize(std::size_t count) {
    check(count <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", count);
    count_ = static_cast<uint32_t>(count);
  }
  void push_back(int64_t value) {
    resize(count_ + 1);
    values_[count_ - 1] = value;
  }
  void pop_back() { --count_; }
  void insert(std::size_t at, int64_t value) {
    resize(count_ + 1);
    for (std::size_t i = count_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(std::size_t at) {
    for (std::size_t i = at; i + 1 < count_; ++i) values_[i] = values_[i + 1];
    --count_;
  }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t* data() { return values_; }
  const int64_t* data() const { return values_; }
  int64_t& operator[](std::size_t i) { return values_[i]; }
  int64_t operator[](std::size_t i) const { return values_[i]; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + count_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + count_; }
  int64_t& back() { return values_[count_ - 1]; }
  int64_t back() const { return values_[count_ - 1]; }
  operator IntArrayRef() const { return {values_, count_}; }
  friend bool operator==(const Dims& a, const Dims& b) { return IntArrayRef(a) == IntArrayRef(b); }

 private:
  uint32_t count_ = 0;
  int64_t values_[kMaxDims];
};

inline void append(std::string& out, const Dims& dims) { detail::append(out, IntArrayRef(dims)); }

/// Product of the sizes. Throws Error on a negative size or on int64 overflow.
int64_t checked_numel(IntArrayRef sizes);
/// Row-major strides; a size of 0 counts as 1.
Dims contiguous_strides(IntArrayRef sizes);
/// The shape that both broadcast to. Throws Error naming both shapes and `operation`.
Dims broadcast_sizes(IntArrayRef a, IntArrayRef b, const char* operation);
/// Whether two indices of this geometry share an element. Exact, except that windows over 64 million elements
/// whose sorted strides do not nest count as overlapping.
bool overlaps_itself(IntArrayRef sizes, IntArrayRef strides);
/// Maps `dim` from [-ndim, ndim) to a non-negative index (a 0-dim tensor counts as 1-dim). Throws IndexError.
int64_t wrap_dim(int64_t dim, int64_t ndim);
/// Bit mask of `dims` (all dimensions if empty and `empty_means_all`). Throws Error on a duplicate.
uint32_t dim_mask(IntArrayRef dims, int64_t ndim, bool empty_means_all = true);

}  // namespace tandem
