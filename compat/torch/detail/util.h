// Small types and functions of LibTorch's c10 that programs use.
#pragma once
#include <cstddef>
#include <functional>
#include <initializer_list>
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
#include "tandem/core/dtype.h"
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

/// An ArrayRef<T> or nothing. Unlike its base, a function takes {1, 2} for it.
template <class T>
class OptionalArrayRef : public std::optional<tandem::ArrayRef<T>> {
  using Optional = std::optional<tandem::ArrayRef<T>>;

 public:
  constexpr OptionalArrayRef() = default;
  constexpr OptionalArrayRef(std::nullopt_t) {}
  constexpr OptionalArrayRef(const Optional& array) : Optional(array) {}
  /// One element.
  constexpr OptionalArrayRef(const T& element) : Optional(element) {}
  constexpr OptionalArrayRef(std::initializer_list<T> list) : Optional(tandem::ArrayRef<T>(list)) {}
  template <class Array>
  requires(!std::is_same_v<std::decay_t<Array>, OptionalArrayRef> &&
           std::is_constructible_v<tandem::ArrayRef<T>, Array> &&
           !std::is_convertible_v<Array, T>) constexpr explicit(!std::is_convertible_v<Array, tandem::ArrayRef<T>>)
      OptionalArrayRef(Array&& array)
      : Optional(tandem::ArrayRef<T>(std::forward<Array>(array))) {}
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
using std::make_optional;
using std::make_unique;
using std::nullopt_t;
using std::string_view;

/// body(begin, end) for parts of [begin, end) with `grain` elements, on the threads of the current device.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& body) {
  if (begin < end)
    tandem::parallel_for(end - begin, grain < 1 ? 1 : grain,
                         [&](int64_t from, int64_t to) { body(begin + from, begin + to); });
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

inline constexpr auto kU8 = tandem::kByte;
inline constexpr auto kI8 = tandem::kChar;
inline constexpr auto kI16 = tandem::kShort;
inline constexpr auto kI32 = tandem::kInt;
inline constexpr auto kI64 = tandem::kLong;
inline constexpr auto kF16 = tandem::kHalf;
inline constexpr auto kF32 = tandem::kFloat;
inline constexpr auto kF64 = tandem::kDouble;

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
using std::to_string;
namespace guts {
/// The key of a parameter's state: LibTorch 1 has a text, LibTorch 2 and Tandem have the pointer.
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

#define C10_EXPORT
#define C10_API
#define C10_IMPORT
#define TORCH_API
#define C10_HOST
#define C10_DEVICE
#define C10_HOST_DEVICE
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_NODISCARD [[nodiscard]]
#define C10_UNUSED [[maybe_unused]]
#define C10_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
#define C10_UNLIKELY(condition) __builtin_expect(static_cast<bool>(condition), 0)
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, __LINE__)
