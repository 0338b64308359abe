// The elementwise reductions of process groups. They are inline because engines are separate libraries, which
// do not call libtandem.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tandem/core/dtype.h"
#include "tandem/parallel/distributed/engine.h"

namespace tandem::distributed {

/// out[i] = a[i] op b[i] for `count` elements. `out` may be `a` or `b`.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, std::size_t count);

namespace detail {

template <class T>
inline constexpr bool is_float_like =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T, ReduceOp op>
inline constexpr bool has_reduction = op != ReduceOp::AVG &&
                                      (!is_float_like<T> || op == ReduceOp::SUM || op == ReduceOp::PRODUCT ||
                                       op == ReduceOp::MIN || op == ReduceOp::MAX);

template <ReduceOp op>
bool combine_bools(bool a, bool b) {
  if constexpr (op == ReduceOp::SUM || op == ReduceOp::MAX || op == ReduceOp::BOR) return a || b;
  if constexpr (op == ReduceOp::PRODUCT || op == ReduceOp::MIN || op == ReduceOp::BAND) return a && b;
  return a != b;
}

// Integers wrap around, as the library's own sums do. NaN wins in MIN and MAX.
template <class T, ReduceOp op>
T combine(T a, T b) {
  if constexpr (op == ReduceOp::MIN) {
    return a < b || a != a ? a : b;
  } else if constexpr (op == ReduceOp::MAX) {
    return a > b || a != a ? a : b;
  } else if constexpr (std::is_floating_point_v<T>) {
    return op == ReduceOp::SUM ? a + b : a * b;
  } else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if constexpr (op == ReduceOp::SUM) return static_cast<T>(x + y);
    if constexpr (op == ReduceOp::PRODUCT) return static_cast<T>(x * y);
    if constexpr (op == ReduceOp::BAND) return static_cast<T>(x & y);
    if constexpr (op == ReduceOp::BOR) return static_cast<T>(x | y);
    return static_cast<T>(x ^ y);
  }
}

// Results go through a small block, so that the compiler vectorises although `out` may overlap the operands.
template <class T, ReduceOp op>
void reduce_loop(void* out, const void* a, const void* b, std::size_t count) {
  constexpr std::size_t kBlock = 1024 / sizeof(T);
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  const auto* x = static_cast<const Stored*>(a);
  const auto* y = static_cast<const Stored*>(b);
  auto* to = static_cast<Stored*>(out);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t n = std::min(kBlock, count - begin);
    Stored block[kBlock];
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        block[i] = combine_bools<op>(x[begin + i] != 0, y[begin + i] != 0);
      else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        block[i] = T(combine<float, op>(x[begin + i], y[begin + i]));
      else
        block[i] = combine<T, op>(x[begin + i], y[begin + i]);
    }
    std::memcpy(static_cast<void*>(to + begin), block, n * sizeof(T));
  }
}

template <class T, ReduceOp op>
constexpr ReduceFunction function_of() {
  if constexpr (has_reduction<T, op>)
    return reduce_loop<T, op>;
  else
    return nullptr;
}

template <class T, std::size_t... op>
ReduceFunction function_for(std::size_t wanted, std::index_sequence<op...>) {
  static constexpr ReduceFunction functions[] = {function_of<T, static_cast<ReduceOp>(op)>()...};
  return functions[wanted];
}

template <class... Ts>
ReduceFunction find_function(ScalarType dtype, ReduceOp op, TypeList<Ts...>) {
  using Ops = std::make_index_sequence<static_cast<std::size_t>(ReduceOp::BXOR) + 1>;
  ReduceFunction found = nullptr;
  ((scalar_type_of<Ts> == dtype ? void(found = function_for<Ts>(static_cast<std::size_t>(op), Ops())) : void()), ...);
  return found;
}

}  // namespace detail

/// Null if the dtype does not have the operation. AVG is a SUM that the caller divides: null.
inline ReduceFunction reduce_function(ScalarType dtype, ReduceOp op) {
  return detail::find_function(dtype, op, AllTypes{});
}

}  // namespace tandem::distributed
