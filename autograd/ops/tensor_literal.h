// Tensors of values written in the program: tensor(3.5), tensor({{1, 2}, {3, 4}}), tensor(vector).
#pragma once
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// The value that tensor() takes: a number, a run of numbers, or a braced list of such values. It borrows:
/// use it as a parameter only.
class TensorLiteral {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T>) TensorLiteral(T value)
      : kind_(Kind::kNumber), type_(type_of<T>()), number_(value) {}
  TensorLiteral(const Scalar& value) : kind_(Kind::kNumber), type_(value.type()), number_(value) {}
  TensorLiteral(Half value) : kind_(Kind::kNumber), type_(kHalf), number_(value) {}
  TensorLiteral(BFloat16 value) : kind_(Kind::kNumber), type_(kBFloat16), number_(value) {}
  TensorLiteral(std::initializer_list<TensorLiteral> list)
      : kind_(Kind::kList), data_(list.begin()), size_(list.size()) {}
  template <class T>
  requires(scalar_type_of<T> != ScalarType::Undefined) TensorLiteral(ArrayRef<T> values)
      : kind_(Kind::kRun), type_(scalar_type_of<T>), data_(values.data()), size_(values.size()) {}
  template <class T>
  requires(scalar_type_of<T> != ScalarType::Undefined && !std::is_same_v<T, bool>)
      TensorLiteral(const std::vector<T>& values)
      : TensorLiteral(ArrayRef<T>(values)) {}
  TensorLiteral(const std::vector<bool>& values);

  /// The dtype that holds all numbers in it; undefined where there is none.
  ScalarType type() const;
  /// Sizes along the first elements; throws Error when others differ.
  Dims sizes() const;
  /// Writes the numbers in order, as T, and moves `out` behind them.
  template <class T>
  void write(T*& out) const;

 private:
  enum class Kind : uint8_t { kNumber, kRun, kList };
  template <class T>
  static constexpr ScalarType type_of() {
    return scalar_type_of<T> != ScalarType::Undefined ? scalar_type_of<T> : kLong;
  }
  const TensorLiteral* child(std::size_t i) const { return static_cast<const TensorLiteral*>(data_) + i; }
  void check_sizes(const Dims& sizes, std::size_t depth) const;

  Kind kind_;
  ScalarType type_ = ScalarType::Undefined;
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  Scalar number_;
  Tensor owned_;  // the values of a vector<bool>
};

/// A new tensor of these values. dtype where `options` has none: int64 for int and int64, the default dtype
/// for float and double (and for no values), else that of the values. Throws Error when lists of one depth
/// differ in length.
Tensor tensor(const TensorLiteral& value, const TensorOptions& options = {});
/// A 0-dim tensor of the default dtype or options' dtype.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});

}  // namespace tandem
