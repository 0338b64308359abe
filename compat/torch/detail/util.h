// Small types and functions of LibTorch's c10 that programs use.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "tandem/core/base/array_ref.h"
#include "tandem/core/cuda.h"
#include "tandem/core/dtype.h"
#include "tandem/core/error.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::compat {

/// The integers from begin to end - 1; none if end < begin.
template <class I>
class IntegerRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = I;
    using difference_type = std::ptrdiff_t;
    using pointer = const I*;
    using reference = I;
    explicit Iterator(I value) : value_(value) {}
    I operator*() const { return value_; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(value_++); }
    bool operator==(const Iterator&) const = default;

   private:
    I value_;
  };
  IntegerRange(I begin, I end) : begin_(begin), end_(end < begin ? begin : end) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  I begin_, end_;
};

}  // namespace tandem::compat

namespace torch {

template <class I>
requires std::is_integral_v<I> tandem::compat::IntegerRange<I> irange(I end) { return {I{0}, end}; }
/// The elements have the type of `end`.
template <class I, class J>
requires(std::is_integral_v<I>&& std::is_integral_v<J>) tandem::compat::IntegerRange<J> irange(I begin, J end) {
  return {static_cast<J>(begin), end};
}

/// The parts, formatted with operator<< and concatenated.
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream text;
  (static_cast<void>(text << parts), ...);
  return text.str();
}

using std::make_optional;
using std::make_unique;
using std::nullopt_t;
using std::string;
using std::string_view;
using std::to_string;
inline std::size_t getNumGPUs() { return tandem::cuda::device_count(); }

/// body(begin, end) for parts of [begin, end) with `grain` elements, on the threads of the current device.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& body) {
  if (begin < end)
    tandem::parallel_for(end - begin, grain < 1 ? 1 : grain,
                         [&](int64_t from, int64_t to) { body(begin + from, begin + to); });
}

/// The smallest integer >= x / y.
inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
/// reduce() of f(begin, end, identity) over parts of [begin, end) with at least `grain` elements, in the order of the
/// parts, which do not depend on the number of threads.
template <class T, class F, class Reduce>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, T identity, const F& f, const Reduce& reduce) {
  if (begin >= end) return identity;
  const int64_t each = std::max({grain, divup(end - begin, 4096), int64_t{1}}), count = divup(end - begin, each);
  const std::unique_ptr<T[]> parts(new T[static_cast<std::size_t>(count)]);
  tandem::parallel_for(count, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t first = begin + i * each;
      parts[static_cast<std::size_t>(i)] = f(first, std::min(end, first + each), identity);
    }
  });
  T result = identity;
  for (int64_t i = 0; i < count; ++i) result = reduce(result, parts[static_cast<std::size_t>(i)]);
  return result;
}
using tandem::in_parallel_region;
inline int get_thread_num() { return tandem::thread_number(); }
inline int intraop_default_num_threads() { return tandem::get_num_threads(); }
/// Runs the function before it returns.
inline void intraop_launch(const std::function<void()>& function) { function(); }
inline std::string get_parallel_info() {
  return tandem::concat("Tandem's threads\n\tat::get_num_threads() : ", tandem::get_num_threads(),
                        "\n\tthreads of the current device : ", tandem::device_num_threads(), "\n");
}
// There is a single pool of threads, for work within operations, which starts on its own.
inline void init_num_threads() {}
inline void set_num_interop_threads(int) {}
inline int get_num_interop_threads() { return 1; }

template <class T>
tandem::ArrayRef<T> makeArrayRef(const std::vector<T>& elements) {
  return elements;
}

template <class Container>
int64_t sum_integers(const Container& values) {
  return std::accumulate(std::begin(values), std::end(values), int64_t{0});
}
template <class Container>
int64_t multiply_integers(const Container& values) {
  return std::accumulate(std::begin(values), std::end(values), int64_t{1}, std::multiplies<int64_t>());
}

inline bool starts_with(std::string_view text, std::string_view prefix) { return text.starts_with(prefix); }
inline bool starts_with(std::string_view text, char prefix) { return text.starts_with(prefix); }
inline bool ends_with(std::string_view text, std::string_view suffix) { return text.ends_with(suffix); }
inline bool ends_with(std::string_view text, char suffix) { return text.ends_with(suffix); }
/// The elements, formatted with operator<<, with `delimiter` between them.
template <class Container>
std::string Join(const std::string& delimiter, const Container& elements) {
  std::ostringstream text;
  const char* before = "";
  for (const auto& element : elements) {
    text << before << element;
    before = delimiter.c_str();
  }
  return text.str();
}
/// Replaces every `from` in the text and returns how many there were. Throws Error if `from` is empty.
inline std::size_t ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  tandem::check(!from.empty(), "ReplaceAll: the text to replace is empty");
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size(), ++count)
    text.replace(at, from.size(), to);
  return count;
}
/// A function object with the call operators of all its bases, for std::visit.
template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;
/// The value of an optional, or what f() returns.
template <class T, class F>
T value_or_else(const std::optional<T>& value, const F& f) {
  return value ? *value : f();
}

inline constexpr tandem::ScalarType kU8 = tandem::kByte, kI8 = tandem::kChar, kI16 = tandem::kShort;
inline constexpr tandem::ScalarType kI32 = tandem::kInt, kI64 = tandem::kLong;
inline constexpr tandem::ScalarType kF16 = tandem::kHalf, kF32 = tandem::kFloat, kF64 = tandem::kDouble;

}  // namespace torch

namespace ska {
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
using flat_hash_map = std::unordered_map<Key, Value, Hash, Equal>;
}  // namespace ska

namespace c10 {
using std::stod;
using std::stoi;
using std::stoll;
using std::stoull;
namespace guts {
/// The key of a parameter's state: LibTorch 1 has a string, LibTorch 2 and Tandem have the pointer.
struct PointerText : std::string {
  explicit PointerText(void* of) : pointer(of) {
    std::ostringstream text;
    text << of;
    assign(text.str());
  }
  operator void*() const { return pointer; }
  void* pointer;
};
inline PointerText to_string(void* pointer) { return PointerText(pointer); }
}  // namespace guts
}  // namespace c10
