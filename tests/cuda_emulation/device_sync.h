// Barriers and warp functions. Every thread of the block, or every lane of the mask, must call from the same
// source line. A mask must not name lanes that the block does not have.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tandem::cuda_emulation {

struct Place {
  const char* file;
  int line;
};
enum class Meeting : uint8_t { kBlock, kBlockOr, kBlockAnd, kBlockCount, kWarp, kShuffle, kBallot, kMatch, kExchange };

/// Waits for the other threads of the block or the mask. Block: returns the number of non-zero values, or
/// whether any or all are. Shuffle: the value of lane `source`. Ballot: the lanes with a non-zero value.
/// Match: the lanes with the same value.
uint64_t meet(Meeting kind, uint32_t mask, uint64_t value, int source, Place place);
/// The lane of the running thread.
int lane();
/// The values of all 32 lanes, until their next exchange.
const uint64_t* exchange(uint64_t value, Place place);

/// Copies 16 bytes, or zeros if `from` is null, when the running thread calls copy_now(). A kernel must not end before.
void copy_later(void* to, const void* from);
void copy_now();

template <class T>
auto shuffle(uint32_t mask, T value, int source, Place place) {
  using U = std::conditional_t<sizeof(T) < 4, int, T>;
  static_assert(std::is_arithmetic_v<T> && (sizeof(U) == 4 || sizeof(U) == 8));
  U out = static_cast<U>(value);
  uint64_t bits = 0;
  std::memcpy(&bits, &out, sizeof out);
  bits = meet(Meeting::kShuffle, mask, bits, source, place);
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
// The lane to read from, within groups of `width` lanes; the caller's own lane if that is outside the group.
inline int up(unsigned delta, int width) {
  const int own = lane();
  return own % width >= static_cast<int>(delta) ? own - static_cast<int>(delta) : own;
}
inline int down(unsigned delta, int width) {
  const int own = lane();
  return own % width + static_cast<int>(delta) < width ? own + static_cast<int>(delta) : own;
}
inline int across(int bits, int width) {
  const int own = lane(), other = own ^ bits;
  return other / width <= own / width ? other : own;
}
inline int at(int source, int width) { return lane() / width * width + (source & (width - 1)); }

}  // namespace tandem::cuda_emulation

// Default arguments capture the location of the call.
#define TANDEM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  meet(Meeting::kBlock, 0, 0, 0, {file, line});
}
inline int __syncthreads_or(int predicate, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return static_cast<int>(meet(Meeting::kBlockOr, 0, predicate != 0, 0, {file, line}));
}
inline int __syncthreads_and(int predicate, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return static_cast<int>(meet(Meeting::kBlockAnd, 0, predicate != 0, 0, {file, line}));
}
inline int __syncthreads_count(int predicate, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return static_cast<int>(meet(Meeting::kBlockCount, 0, predicate != 0, 0, {file, line}));
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  meet(Meeting::kWarp, mask, 0, 0, {file, line});
}
inline unsigned __ballot_sync(unsigned mask, int predicate, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return static_cast<unsigned>(meet(Meeting::kBallot, mask, predicate != 0, 0, {file, line}));
}
inline int __any_sync(unsigned mask, int predicate, TANDEM_HERE) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, TANDEM_HERE) {
  return __ballot_sync(mask, predicate, file, line) == mask;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return static_cast<unsigned>(meet(Meeting::kMatch, mask, bits, 0, {file, line}));
}
template <class T>
auto __shfl_sync(unsigned mask, T value, int source, int width = 32, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return shuffle(mask, value, at(source, width), {file, line});
}
template <class T>
auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return shuffle(mask, value, up(delta, width), {file, line});
}
template <class T>
auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return shuffle(mask, value, down(delta, width), {file, line});
}
template <class T>
auto __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, TANDEM_HERE) {
  using namespace tandem::cuda_emulation;
  return shuffle(mask, value, across(bits, width), {file, line});
}
#undef TANDEM_HERE
