// TensorAccessor: t[i][j] = x on CPU memory, without checks. PackedTensorAccessor also holds the sizes and strides.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/base/cpp20.h"

namespace tandem {

template <class T, std::size_t N, class Index = int64_t>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const Index* sizes, const Index* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  /// The next dimension's accessor, or the element if this is the last one.
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1)
      return static_cast<T&>(data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1, Index>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }
  Index size(Index d) const { return sizes_[d]; }
  Index stride(Index d) const { return strides_[d]; }
  T* data() const { return data_; }

 private:
  T* data_;
  const Index *sizes_, *strides_;
};

/// Stays valid while the tensor's memory does. Index: the type of sizes and positions.
template <class T, std::size_t N, class Index = int64_t>
class PackedTensorAccessor {
 public:
  PackedTensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (std::size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<Index>(sizes[d]);
      strides_[d] = static_cast<Index>(strides[d]);
    }
  }
  decltype(auto) operator[](Index i) const { return TensorAccessor<T, N, Index>(data_, sizes_, strides_)[i]; }
  Index size(Index d) const { return sizes_[d]; }
  Index stride(Index d) const { return strides_[d]; }
  T* data() const { return data_; }

 private:
  T* data_;
  Index sizes_[N], strides_[N];
};
template <class T, std::size_t N>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, int32_t>;
template <class T, std::size_t N>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, int64_t>;

}  // namespace tandem
