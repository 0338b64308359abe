// The indices between the braces of x.index({…}): LibTorch's torch::indexing.
//
//   x.index({Slice(0, 2), None, "...", 1, mask, positions})
//
// An integer selects one position and drops the dimension; Slice(start, stop, step) keeps it; None adds a
// dimension of size 1; Ellipsis (or "...") stands for all dimensions that are not named; a bool or a bool
// tensor is a mask; an int64 or int32 tensor holds positions.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::indexing {

struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};
inline constexpr std::nullopt_t None = std::nullopt;

/// start, start + step, … up to but excluding stop; omitted bounds extend to the ends of the dimension.
/// Negative bounds count from the end. Throws Error unless step > 0.
class Slice {
 public:
  Slice(optional<int64_t> start = nullopt, optional<int64_t> stop = nullopt, optional<int64_t> step = nullopt)
      : start_(start), stop_(stop), step_(step.value_or(1)) {
    check(step_ > 0, "Slice: the step must be positive, got ", step_);
  }
  optional<int64_t> start() const { return start_; }
  optional<int64_t> stop() const { return stop_; }
  int64_t step() const { return step_; }
  bool whole() const { return !start_ && !stop_ && step_ == 1; }

 private:
  optional<int64_t> start_, stop_;
  int64_t step_;
};

struct TensorIndex {
  enum class Kind : uint8_t { kNone, kEllipsis, kInteger, kBoolean, kSlice, kTensor };

  TensorIndex(std::nullopt_t) : kind(Kind::kNone) {}
  TensorIndex(EllipsisIndexType) : kind(Kind::kEllipsis) {}
  /// Only "..." is accepted.
  TensorIndex(const char* text) : kind(Kind::kEllipsis) {
    check(text != nullptr && std::string_view(text) == "...", "index: expected \"...\", got \"",
          text != nullptr ? text : "", "\"");
  }
  template <class T>
  requires(std::is_integral_v<T>) TensorIndex(T value)
      : kind(std::is_same_v<T, bool> ? Kind::kBoolean : Kind::kInteger), integer(static_cast<int64_t>(value)) {}
  TensorIndex(Slice s) : kind(Kind::kSlice), slice(s) {}
  TensorIndex(Tensor t) : kind(Kind::kTensor), tensor(std::move(t)) {}

  Kind kind;
  int64_t integer = 0;
  Slice slice;
  Tensor tensor;
};

}  // namespace tandem::indexing
