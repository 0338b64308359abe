// The public operations by name, called with arguments given as text; torch_random.py compares them with
// PyTorch.
//
// An argument is a letter and a value: t0 tensor number 0, L0,2 a list of tensors, n nothing, i-3 integer,
// d0x1.8p+1 floating point, b1 bool, l2,3 list of integers, smean text, yfloat32 dtype, xt2,i3,b1,n,e,s1:5:2
// indices (tensor, integer, bool, None, Ellipsis, Slice).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/tandem.h"

namespace tandem::testing {

using Tensors = std::vector<Tensor>;
using Words = std::vector<std::string>;
using Indices = std::vector<indexing::TensorIndex>;

/// "a,b" → {"a", "b"}; "" → {}.
Words split_words(const std::string& text, char separator);
/// The words of arguments in Python: "x0, [1, 2], None" → {"t0", "l1,2", "n"}.
Words words_of(const std::string& arguments);
/// Throws Error for an unknown name.
ScalarType dtype_named(const std::string& text);
Reduction reduction_named(const std::string& text);
Indices indices_of(const std::string& text, const Tensors& tensors);

/// Holds an argument of type T during the call.
template <class T>
struct HeldBy {
  using type = T;
};
template <>
struct HeldBy<IntArrayRef> {
  using type = std::vector<int64_t>;
};
template <>
struct HeldBy<TensorList> {
  using type = Tensors;
};
template <>
struct HeldBy<std::string_view> {
  using type = std::string;
};
template <>
struct HeldBy<const char*> {
  using type = std::string;
};
template <class T>
struct HeldBy<optional<T>> {
  using type = optional<typename HeldBy<T>::type>;
};
template <class T>
using Held = typename HeldBy<std::remove_cvref_t<T>>::type;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<optional<T>> = true;

/// Whether a word of kind `kind` can be an argument of the held type H.
template <class H>
bool accepts(char kind) {
  if constexpr (is_optional<H>) return kind == 'n' || accepts<typename H::value_type>(kind);
  if constexpr (std::is_same_v<H, Tensor>) return kind == 't' || kind == 'n';
  if constexpr (std::is_same_v<H, Tensors>) return kind == 'L';
  if constexpr (std::is_same_v<H, Scalar>) return kind == 'i' || kind == 'd' || kind == 'b';
  if constexpr (std::is_same_v<H, bool>) return kind == 'b';
  if constexpr (std::is_same_v<H, int64_t>) return kind == 'i';
  if constexpr (std::is_same_v<H, double>) return kind == 'd' || kind == 'i';
  if constexpr (std::is_same_v<H, std::vector<int64_t>>) return kind == 'l';
  if constexpr (std::is_same_v<H, std::string> || std::is_same_v<H, Reduction>) return kind == 's';
  if constexpr (std::is_same_v<H, ScalarType>) return kind == 'y';
  if constexpr (std::is_same_v<H, TensorOptions>) return kind == 'y' || kind == 'n';
  if constexpr (std::is_same_v<H, Indices>) return kind == 'x';
  return false;
}

template <class H>
H read_word(const std::string& word, const Tensors& tensors) {
  const char kind = word[0];
  const std::string rest = word.substr(1);
  if constexpr (is_optional<H>) {
    return kind == 'n' ? H() : H(read_word<typename H::value_type>(word, tensors));
  } else if constexpr (std::is_same_v<H, Tensor>) {
    return kind == 'n' ? Tensor() : tensors.at(std::stoul(rest));
  } else if constexpr (std::is_same_v<H, Tensors>) {
    Tensors list;
    for (const std::string& number : split_words(rest, ','))
      list.push_back(number == "n" ? Tensor() : tensors.at(std::stoul(number)));
    return list;
  } else if constexpr (std::is_same_v<H, Scalar>) {
    if (kind == 'd') return std::strtod(rest.c_str(), nullptr);
    return kind == 'b' ? Scalar(rest == "1") : Scalar(std::stoll(rest));
  } else if constexpr (std::is_same_v<H, bool>) {
    return rest == "1";
  } else if constexpr (std::is_same_v<H, int64_t>) {
    return std::stoll(rest);
  } else if constexpr (std::is_same_v<H, double>) {
    return std::strtod(rest.c_str(), nullptr);
  } else if constexpr (std::is_same_v<H, std::vector<int64_t>>) {
    H list;
    for (const std::string& number : split_words(rest, ',')) list.push_back(std::stoll(number));
    return list;
  } else if constexpr (std::is_same_v<H, Reduction>) {
    return reduction_named(rest);
  } else if constexpr (std::is_same_v<H, ScalarType>) {
    return dtype_named(rest);
  } else if constexpr (std::is_same_v<H, TensorOptions>) {
    return kind == 'n' ? H() : H(dtype_named(rest));
  } else if constexpr (std::is_same_v<H, Indices>) {
    return indices_of(rest, tensors);
  } else {
    return rest;
  }
}

inline Tensors results(const Tensor& t) { return {t}; }
inline Tensors results(const Tensors& list) { return list; }
inline Tensors results(bool value) { return {tensor(value)}; }
inline Tensors results(ScalarType type) { return {empty({0}, type)}; }
template <class... T>
Tensors results(const std::tuple<T...>& tuple) {
  return std::apply([](const auto&... t) { return Tensors{t...}; }, tuple);
}

struct Overload {
  std::function<bool(const Words&)> fits;
  std::function<Tensors(const Words&, const Tensors&)> call;
};

class Table {
 public:
  void add(const std::string& name, Overload overload) { overloads_[name].push_back(std::move(overload)); }
  /// A function, or a function object, with this signature.
  template <class R, class... A, class F>
  void add(const std::string& name, std::type_identity<R(A...)>, F f) {
    overloads_[name].push_back({[](const Words& words) { return fit<A...>(words, Numbers<A...>()); },
                                [f](const Words& words, const Tensors& tensors) {
                                  return call<R, A...>(f, words, tensors, Numbers<A...>());
                                }});
  }
  /// Throws Error when no such operation with such arguments exists, and passes on errors from the operation.
  Tensors call(const std::string& name, const Words& words, const Tensors& tensors) const;

 private:
  template <class... A>
  using Numbers = std::index_sequence_for<A...>;
  template <class... A, std::size_t... I>
  static bool fit(const Words& words, std::index_sequence<I...>) {
    return words.size() == sizeof...(A) && (accepts<Held<A>>(words[I][0]) && ...);
  }
  template <class R, class... A, class F, std::size_t... I>
  static Tensors call(const F& f, const Words& words, const Tensors& tensors, std::index_sequence<I...>) {
    std::tuple<Held<A>...> held(read_word<Held<A>>(words[I], tensors)...);
    return results(f(pass<A>(std::get<I>(held))...));
  }
  template <class A>
  static decltype(auto) pass(Held<A>& held) {
    if constexpr (std::is_same_v<std::remove_cvref_t<A>, const char*>)
      return held.c_str();
    else
      return (held);
  }
  std::map<std::string, std::vector<Overload>> overloads_;
};

/// The functions of pointwise_table.h and operation_table.h.
void add_described(Table& table);
/// Prints these functions as JSON, for torch_cases/described.py.
void print_described();
void add_programs(Table& table);

// Short names for writing signatures.
using T = Tensor;
using CT = const Tensor&;
using CS = const Scalar&;
using I = int64_t;
using Ints = IntArrayRef;
using MaybeType = optional<ScalarType>;
using Options = const TensorOptions&;

}  // namespace tandem::testing
