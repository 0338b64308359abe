// Tensors from literal values: tensor(3.5), tensor({{1, 2}, {3, 4}}), tensor(vector).
#pragma once
#include <initializer_list>
#include <iosfwd>
#include <type_traits>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// The argument of tensor(): a number, a contiguous run of numbers, or a braced list of such values. It
/// borrows its data: use it only as a parameter.
class TensorLiteral {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T>) TensorLiteral(T value)
      : kind_(Kind::kNumber), type_(type_of<T>()), number_(value) {}
  template <ComplexLike T>
  TensorLiteral(const T& value) : kind_(Kind::kNumber), type_(scalar_type_of<T>), number_(value) {}
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
  template <class T, std::size_t count>
  requires(scalar_type_of<T> != ScalarType::Undefined) TensorLiteral(const T (&values)[count])
      : TensorLiteral(ArrayRef<T>(values)) {}

  /// The dtype that can hold all numbers in it; undefined if there are none.
  ScalarType type() const;
  /// Throws Error when the sizes of the elements of a list differ.
  Dims sizes() const;
  bool is_scalar() const { return kind_ == Kind::kNumber; }
  bool is_init_list() const { return kind_ == Kind::kList; }
  /// A contiguous run of numbers.
  bool is_tensor() const { return kind_ == Kind::kRun; }
  ScalarType scalar_type() const { return type(); }
  /// The number, the elements of the list, the values of the run (a copy). Throws Error for another kind.
  const Scalar& scalar() const;
  ArrayRef<TensorLiteral> init_list() const;
  Tensor tensor() const;
  /// "{{1, 2}, {3, 4}}"
  friend std::ostream& operator<<(std::ostream& out, const TensorLiteral& value);
  /// Writes the numbers in order, as T, and advances `out` past them.
  template <class T>
  void write(T*& out) const;

 private:
  enum class Kind : uint8_t { kNumber, kRun, kList };
  template <class T>
  static constexpr ScalarType type_of() {
    const ScalarType type = scalar_type_of<T>;
    return type == ScalarType::Undefined || isBarebonesUnsignedType(type) ? kLong : type;
  }
  const TensorLiteral* child(std::size_t i) const { return static_cast<const TensorLiteral*>(data_) + i; }
  void expect(Kind kind, const char* what) const;

  Kind kind_;
  ScalarType type_ = ScalarType::Undefined;
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  Scalar number_;
  Tensor owned_;  // holds the values of a vector<bool>
};

/// A new tensor with these values. Default dtype: int64 for int and int64, the default dtype for float and
/// double (and for no values), otherwise the values' own. Throws Error when lists at the same depth differ
/// in length.
Tensor tensor(const TensorLiteral& value, const TensorOptions& options = {});
/// A 0-dim tensor in the default dtype or the dtype of `options`.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});

}  // namespace tandem
