// Sorting by the bits of the keys, like a radix sort: -0 equals 0, and a NaN without sign is the greatest.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "emulation.h"

namespace cub::emulation {

template <class Key>
uint64_t ordered_bits(Key key) {
  static_assert(std::is_arithmetic_v<Key>);
  constexpr int kBits = sizeof(Key) * 8;
  constexpr uint64_t kSign = uint64_t{1} << (kBits - 1), kAll = kSign | (kSign - 1);
  uint64_t bits = 0;
  if constexpr (std::is_floating_point_v<Key>)
    if (key == 0) key = 0;  // no -0
  std::memcpy(&bits, &key, sizeof key);
  if constexpr (std::is_floating_point_v<Key>)
    bits = bits & kSign ? ~bits & kAll : bits | kSign;
  else if constexpr (std::is_signed_v<Key>)
    bits ^= kSign;
  return bits;
}

struct Digits {
  int begin, end;
  bool descending = false, stable = true;
  template <class Key>
  uint64_t operator()(Key key) const {
    const uint64_t bits = ordered_bits(key) >> begin,
                   kept = end - begin >= 64 ? ~uint64_t{0} : (uint64_t{1} << (end - begin)) - 1;
    return bits & kept;
  }
};

/// The permutation that sorts keys[0, n). Unstable sorts reverse equal keys.
template <class Key>
std::vector<int64_t> sorted_order(const Key* keys, int64_t n, const Digits& digits) {
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = digits.stable ? i : n - 1 - i;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const uint64_t x = digits(keys[a]), y = digits(keys[b]);
    return digits.descending ? y < x : x < y;
  });
  return order;
}
template <class T>
void permute(const T* in, T* out, const std::vector<int64_t>& order) {
  std::vector<unsigned char> copy(order.size() * sizeof(T));
  if (!order.empty()) std::memcpy(copy.data(), in, copy.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(static_cast<void*>(out + i), copy.data() + static_cast<std::size_t>(order[i]) * sizeof(T), sizeof(T));
}

/// Sorts one range of keys, with its values if any.
template <class Key, class Value>
void sort_range(const Key* keys_in, Key* keys_out, const Value* values_in, Value* values_out, int64_t n,
                const Digits& digits) {
  const std::vector<int64_t> order = sorted_order(keys_in, n, digits);
  permute(keys_in, keys_out, order);
  if constexpr (!std::is_same_v<Value, NullType>) permute(values_in, values_out, order);
}

template <class Key, class Value, class N>
cudaError_t sort(const char* name, void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,
                 const Value* values_in, Value* values_out, N n, const Digits& digits, cudaStream_t stream) {
  if (digits.begin < 0 || digits.end > static_cast<int>(sizeof(Key)) * 8 || digits.begin > digits.end)
    return cudaErrorInvalidValue;
  return two_phases(name, storage, bytes, static_cast<int64_t>(n), stream,
                    [=] { sort_range(keys_in, keys_out, values_in, values_out, static_cast<int64_t>(n), digits); });
}

template <class Key, class Value, class Begin, class End>
cudaError_t sort_segments(const char* name, void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,
                          const Value* values_in, Value* values_out, int64_t n, int64_t segments, Begin begins,
                          End ends, const Digits& digits, cudaStream_t stream) {
  return two_phases(name, storage, bytes, n + segments, stream, [=] {
    for (int64_t i = 0; i < segments; ++i) {
      const auto begin = static_cast<int64_t>(begins[i]), end = static_cast<int64_t>(ends[i]);
      if (end <= begin) continue;
      if constexpr (std::is_same_v<Value, NullType>)
        sort_range(keys_in + begin, keys_out + begin, values_in, values_out, end - begin, digits);
      else
        sort_range(keys_in + begin, keys_out + begin, values_in + begin, values_out + begin, end - begin, digits);
    }
  });
}

}  // namespace cub::emulation

namespace cub {

// Every function sorts ascending or descending; the macro defines both.
#define TANDEM_SORTS(order, is_descending)                                                                           \
  template <class Key, class Value, class N>                                                                         \
  static cudaError_t SortPairs##order(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,          \
                                      const Value* values_in, Value* values_out, N n, int begin_bit = 0,             \
                                      int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {                \
    return emulation::sort("SortPairs" #order, storage, bytes, keys_in, keys_out, values_in, values_out, n,          \
                           {begin_bit, end_bit, is_descending}, stream);                                             \
  }                                                                                                                  \
  template <class Key, class Value, class N>                                                                         \
  static cudaError_t SortPairs##order(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys,                    \
                                      DoubleBuffer<Value>& values, N n, int begin_bit = 0,                           \
                                      int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {                \
    const cudaError_t status = SortPairs##order(storage, bytes, keys.Current(), keys.Alternate(), values.Current(),  \
                                                values.Alternate(), n, begin_bit, end_bit, stream);                  \
    if (storage != nullptr && status == cudaSuccess) keys.selector ^= 1, values.selector ^= 1;                       \
    return status;                                                                                                   \
  }                                                                                                                  \
  template <class Key, class N>                                                                                      \
  static cudaError_t SortKeys##order(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out, N n,      \
                                     int begin_bit = 0, int end_bit = sizeof(Key) * 8,                               \
                                     cudaStream_t stream = nullptr) {                                                \
    return emulation::sort<Key, NullType>("SortKeys" #order, storage, bytes, keys_in, keys_out, nullptr, nullptr, n, \
                                          {begin_bit, end_bit, is_descending}, stream);                              \
  }                                                                                                                  \
  template <class Key, class N>                                                                                      \
  static cudaError_t SortKeys##order(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, N n,                \
                                     int begin_bit = 0, int end_bit = sizeof(Key) * 8,                               \
                                     cudaStream_t stream = nullptr) {                                                \
    const cudaError_t status =                                                                                       \
        SortKeys##order(storage, bytes, keys.Current(), keys.Alternate(), n, begin_bit, end_bit, stream);            \
    if (storage != nullptr && status == cudaSuccess) keys.selector ^= 1;                                             \
    return status;                                                                                                   \
  }
/// Stable.
struct DeviceRadixSort {
  TANDEM_SORTS(, false)
  TANDEM_SORTS(Descending, true)
};
#undef TANDEM_SORTS

#define TANDEM_SORTS(prefix, order, is_descending, is_stable)                                                         \
  template <class Key, class Value, class Begin, class End>                                                           \
  static cudaError_t prefix##SortPairs##order(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,   \
                                              const Value* values_in, Value* values_out, int64_t n, int64_t segments, \
                                              Begin begins, End ends, cudaStream_t stream = nullptr) {                \
    return emulation::sort_segments(#prefix "SortPairs" #order, storage, bytes, keys_in, keys_out, values_in,         \
                                    values_out, n, segments, begins, ends,                                            \
                                    {0, sizeof(Key) * 8, is_descending, is_stable}, stream);                          \
  }                                                                                                                   \
  template <class Key, class Begin, class End>                                                                        \
  static cudaError_t prefix##SortKeys##order(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,    \
                                             int64_t n, int64_t segments, Begin begins, End ends,                     \
                                             cudaStream_t stream = nullptr) {                                         \
    return emulation::sort_segments<Key, NullType>(#prefix "SortKeys" #order, storage, bytes, keys_in, keys_out,      \
                                                   nullptr, nullptr, n, segments, begins, ends,                       \
                                                   {0, sizeof(Key) * 8, is_descending, is_stable}, stream);           \
  }
struct DeviceSegmentedSort {
  TANDEM_SORTS(, , false, false)
  TANDEM_SORTS(, Descending, true, false)
  TANDEM_SORTS(Stable, , false, true)
  TANDEM_SORTS(Stable, Descending, true, true)
};
#undef TANDEM_SORTS

#define TANDEM_SORTS(order, is_descending)                                                                            \
  template <class Key, class Value, class Begin, class End>                                                           \
  static cudaError_t SortPairs##order(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,           \
                                      const Value* values_in, Value* values_out, int64_t n, int64_t segments,         \
                                      Begin begins, End ends, int begin_bit = 0, int end_bit = sizeof(Key) * 8,       \
                                      cudaStream_t stream = nullptr) {                                                \
    return emulation::sort_segments("SortPairs" #order, storage, bytes, keys_in, keys_out, values_in, values_out, n,  \
                                    segments, begins, ends, {begin_bit, end_bit, is_descending}, stream);             \
  }                                                                                                                   \
  template <class Key, class Begin, class End>                                                                        \
  static cudaError_t SortKeys##order(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out, int64_t n, \
                                     int64_t segments, Begin begins, End ends, int begin_bit = 0,                     \
                                     int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {                  \
    return emulation::sort_segments<Key, NullType>("SortKeys" #order, storage, bytes, keys_in, keys_out, nullptr,     \
                                                   nullptr, n, segments, begins, ends,                                \
                                                   {begin_bit, end_bit, is_descending}, stream);                      \
  }
/// Stable.
struct DeviceSegmentedRadixSort {
  TANDEM_SORTS(, false)
  TANDEM_SORTS(Descending, true)
};
#undef TANDEM_SORTS

}  // namespace cub
