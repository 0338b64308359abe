// The indices between the braces of x.index({…}): LibTorch's torch::indexing.
//
//   x.index({Slice(0, 2), None, "...", 1, mask, positions})
//
// An integer selects one position and drops the dimension; Slice(start, stop, step) keeps it; None adds a
// dimension of size 1; Ellipsis (or "...") stands for all dimensions that are not named; a bool or a bool
// tensor is a mask; an int64 or int32 tensor holds positions.
#pragma once
#include <limits>
#include <ostream>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::indexing {

struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};
inline constexpr std::nullopt_t None = std::nullopt;
/// The bound of a slice that extends to the end of a dimension.
inline constexpr int64_t INDEX_MAX = std::numeric_limits<int64_t>::max();
inline constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min();

/// start, start + step, … up to but excluding stop; omitted bounds extend to the ends of the dimension.
/// Negative bounds count from the end. Throws ValueError for a step of 0; a negative one can be named, but no tensor
/// takes it.
class Slice {
 public:
  /// A number, or nothing. With optionals as parameters, numbers and optionals would convert to slices.
  struct Bound {
    Bound(nullopt_t) {}
    template <class T>
    requires(std::is_arithmetic_v<T>) Bound(T number) : value(static_cast<int64_t>(number)) {}
    template <class T>
    requires(std::is_arithmetic_v<T>) Bound(optional<T> number) : value(number) {}
    optional<int64_t> value;
  };
  Slice(Bound start = nullopt, Bound stop = nullopt, Bound step = nullopt) : step_(step.value.value_or(1)) {
    if (step_ == 0) refuse_step();
    start_ = start.value.value_or(step_ < 0 ? INDEX_MAX : 0);
    stop_ = stop.value.value_or(step_ < 0 ? INDEX_MIN : INDEX_MAX);
  }
  int64_t start() const { return start_; }
  /// INDEX_MAX if it was omitted.
  int64_t stop() const { return stop_; }
  int64_t step() const { return step_; }
  bool whole() const { return start_ == 0 && stop_ == INDEX_MAX && step_ == 1; }

 private:
  [[noreturn]] static void refuse_step();

  int64_t start_, stop_, step_;
};
/// "start:stop:step"
std::ostream& operator<<(std::ostream& out, const Slice& slice);

class TensorIndex {
 public:
  enum class Kind : uint8_t { kNone, kEllipsis, kInteger, kBoolean, kSlice, kTensor };

  TensorIndex(std::nullopt_t) : kind_(Kind::kNone) {}
  TensorIndex(EllipsisIndexType) : kind_(Kind::kEllipsis) {}
  /// Only "..." is accepted.
  TensorIndex(const char* text);
  TensorIndex(int64_t value) : kind_(Kind::kInteger), integer_(value) {}
  TensorIndex(int value) : TensorIndex(int64_t{value}) {}
  template <class T>
  requires(std::is_same_v<T, bool>) TensorIndex(T value) : kind_(Kind::kBoolean), integer_(value) {}
  TensorIndex(Slice s) : kind_(Kind::kSlice), slice_(s) {}
  TensorIndex(Tensor t) : kind_(Kind::kTensor), tensor_(std::move(t)) {}

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_ellipsis() const { return kind_ == Kind::kEllipsis; }
  bool is_integer() const { return kind_ == Kind::kInteger; }
  bool is_boolean() const { return kind_ == Kind::kBoolean; }
  bool is_slice() const { return kind_ == Kind::kSlice; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  int64_t integer() const { return integer_; }
  bool boolean() const { return integer_ != 0; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  Slice slice_;
  Tensor tensor_;
};
/// "None", "...", "2", "true", "1:4:1", or the tensor.
std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
/// "(None, ..., 2)"
std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices);

}  // namespace tandem::indexing
