// Atomic functions, for the types that CUDA supports. Block, device and system scope are the same.
#pragma once
#include <atomic>
#include <type_traits>

namespace tandem::cuda_emulation {
template <class T, class... Types>
concept one_of = (std::is_same_v<T, Types> || ...);
template <class T>
concept adds = one_of<T, int, unsigned, unsigned long long, float, double>;
template <class T>
concept orders = one_of<T, int, unsigned, long long, unsigned long long>;
template <class T>
concept bits = one_of<T, int, unsigned, unsigned long long>;
template <class T>
concept swaps = one_of<T, int, unsigned, unsigned long long, float>;
template <class T>
concept compares = one_of<T, int, unsigned, unsigned short, unsigned long long>;

// Replaces *p by f(*p) and returns the old value.
template <class T, class F>
T exchange_by(T* p, F f) {
  std::atomic_ref<T> cell(*p);
  T old = cell.load();
  while (!cell.compare_exchange_weak(old, f(old))) {
  }
  return old;
}
}  // namespace tandem::cuda_emulation

// One definition covers the three scopes.
#define TANDEM_ATOMIC(name, kinds, formula)                                                 \
  template <tandem::cuda_emulation::kinds T>                                                \
  T name(T* p, std::type_identity_t<T> value) {                                             \
    return tandem::cuda_emulation::exchange_by(p, [value](T old) -> T { return formula; }); \
  }                                                                                         \
  template <tandem::cuda_emulation::kinds T>                                                \
  T name##_block(T* p, std::type_identity_t<T> value) {                                     \
    return name(p, value);                                                                  \
  }                                                                                         \
  template <tandem::cuda_emulation::kinds T>                                                \
  T name##_system(T* p, std::type_identity_t<T> value) {                                    \
    return name(p, value);                                                                  \
  }
TANDEM_ATOMIC(atomicAdd, adds, old + value)
TANDEM_ATOMIC(atomicSub, bits, old - value)
TANDEM_ATOMIC(atomicMin, orders, value < old ? value : old)
TANDEM_ATOMIC(atomicMax, orders, value > old ? value : old)
TANDEM_ATOMIC(atomicOr, bits, old | value)
TANDEM_ATOMIC(atomicAnd, bits, old& value)
TANDEM_ATOMIC(atomicXor, bits, old ^ value)
TANDEM_ATOMIC(atomicExch, swaps, (static_cast<void>(old), value))
#undef TANDEM_ATOMIC

inline unsigned atomicInc(unsigned* p, unsigned limit) {
  return tandem::cuda_emulation::exchange_by(p, [limit](unsigned old) { return old >= limit ? 0 : old + 1; });
}
template <tandem::cuda_emulation::compares T>
T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*p).compare_exchange_strong(expected, value);
  return expected;
}
template <tandem::cuda_emulation::compares T>
T atomicCAS_block(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return atomicCAS(p, expected, value);
}
template <tandem::cuda_emulation::compares T>
T atomicCAS_system(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return atomicCAS(p, expected, value);
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
