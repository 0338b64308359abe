// Containers of tensors as arguments and results of replicas, split and joined tensor by tensor.
//
// Supported are Tensor, and std::vector, array, pair, tuple, optional and map of these, arbitrarily nested.
// Any other type is a value that is copied to every replica.
#pragma once
#include <concepts>
#include <typeinfo>

#include "tandem/nn/any_value.h"
#include "tandem/parallel/shared/containers.h"
#include "tandem/parallel/shared/device_copies.h"

namespace tandem::parallel {

/// An argument whose tensors are not split: every replica receives all of them, on its device.
template <class T>
struct Whole {
  T value;
};
template <class T>
Whole<std::decay_t<T>> whole(T&& value) {
  return {std::forward<T>(value)};
}

namespace detail {
/// The tensors of all arguments of a call; `whole` marks those that go undivided to every replica.
struct Arguments {
  Tensors tensors;
  std::vector<bool> whole;

  template <class T>
  void add(const T& value, bool all_whole = false) {
    map_tensors(value, [&](const Tensor& t) {
      tensors.push_back(t);
      whole.push_back(all_whole || t.dim() == 0);
      return t;
    });
  }
  template <class T>
  void add(const Whole<T>& value) {
    add(value.value, true);
  }
};
/// Entry [i][k] is piece i of tensor k, on devices[i]; i ranges over the pieces. Scalars and whole tensors
/// are copied to every device. There is one piece if there is nothing to split. Throws Error when tensors
/// differ in size along `dim`.
std::vector<Tensors> cut(const char* operation, const Arguments& arguments, ArrayRef<Device> devices, int64_t dim);
/// Joins the pieces of one output; either all or none must be defined.
Tensor join(const Tensors& pieces, Device device, int64_t dim);
[[noreturn]] void cannot_gather(const std::type_info& type, const char* why);

/// `value` with its tensors replaced, in order, by those starting at `next`.
template <class T>
T with_tensors(const T& value, Tensors::iterator& next) {
  return map_tensors(value, [&](const Tensor&) { return std::move(*next++); });
}
template <class T>
T with_tensors(const Whole<T>& value, Tensors::iterator& next) {
  return with_tensors(value.value, next);
}

template <class T>
using Pieces = std::vector<const T*>;
template <class T>
T gather_pieces(const Pieces<T>& pieces, Device device, int64_t dim);

// Gathers the results of get(piece) over all pieces.
template <class T, class Get>
auto gather_part(const Pieces<T>& pieces, Device device, int64_t dim, Get get) {
  using Part = std::remove_cvref_t<decltype(get(*pieces[0]))>;
  Pieces<Part> parts;
  for (const T* piece : pieces) parts.push_back(&get(*piece));
  return gather_pieces<Part>(parts, device, dim);
}
template <class T>
void check_same_size(const Pieces<T>& pieces) {
  for (const T* piece : pieces)
    if (piece->size() != pieces[0]->size()) cannot_gather(typeid(T), "of different sizes");
}

template <class T>
T gather_pieces(const Pieces<T>& pieces, Device device, int64_t dim) {
  if constexpr (std::is_same_v<T, Tensor>) {
    Tensors tensors;
    for (const Tensor* piece : pieces) tensors.push_back(*piece);
    return join(tensors, device, dim);
  } else if constexpr (!holds_tensors<T>) {
    if constexpr (std::equality_comparable<T>) {
      for (const T* piece : pieces)
        if (!(*piece == *pieces[0])) cannot_gather(typeid(T), "that differ");
    } else if (pieces.size() > 1) {
      cannot_gather(typeid(T), "that cannot be compared");
    }
    return *pieces[0];
  } else if constexpr (IsTuple<T>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T{gather_part(
          pieces, device, dim, [](const T& t) -> const auto& { return std::get<I>(t); })...};
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsOptional<T>) {
    for (const T* piece : pieces)
      if (piece->has_value() != pieces[0]->has_value())
        cannot_gather(typeid(T), "that are empty in some replicas but not in all");
    if (!pieces[0]->has_value()) return {};
    return gather_part(
        pieces, device, dim, [](const T& t) -> const auto& { return *t; });
  } else if constexpr (IsMap<T>) {
    check_same_size(pieces);
    T out = *pieces[0];
    for (auto& [key, value] : out) {
      for (const T* piece : pieces)
        if (!piece->contains(key)) cannot_gather(typeid(T), "with different keys");
      value = gather_part(
          pieces, device, dim, [&key = key](const T& t) -> const auto& { return t.at(key); });
    }
    return out;
  } else {
    check_same_size(pieces);
    T out = *pieces[0];
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = gather_part(
          pieces, device, dim, [k](const T& t) -> const auto& { return t[k]; });
    return out;
  }
}
}  // namespace detail

/// Entry [i] is `value` with each tensor replaced by its piece i along `dim`, on devices[i]. There may be
/// fewer entries than devices, as with chunk. Scalars (0-d) and non-tensor values go to every entry.
template <class T>
std::vector<T> scatter_nested(const T& value, ArrayRef<Device> devices, int64_t dim = 0) {
  detail::Arguments arguments;
  arguments.add(value);
  std::vector<T> out;
  for (Tensors& piece : detail::cut("scatter_nested", arguments, checked_devices("scatter_nested", devices), dim)) {
    auto next = piece.begin();
    out.push_back(detail::with_tensors(value, next));
  }
  return out;
}
/// The inverse: concatenates tensors along `dim` on `device`, 0-d tensors into a vector. Non-tensor values
/// must be equal in all entries. Throws Error when the structures differ.
template <class T>
T gather_nested(const std::vector<T>& values, Device device, int64_t dim = 0) {
  check(!values.empty(), "gather_nested: no values given");
  detail::Pieces<T> pieces;
  for (const T& value : values) pieces.push_back(&value);
  return detail::gather_pieces<T>(pieces, device, dim);
}

}  // namespace tandem::parallel
