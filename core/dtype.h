// Data types: names, sizes, PyTorch's promotion rules, and the dispatch from a run-time dtype to a C++ type.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/core/complex.h"
#include "tandem/core/element_types.h"
#include "tandem/core/error.h"

namespace tandem {

/// With LibTorch's numbers, which programs store. Its quantised dtypes are missing (12 to 14). UInt16, UInt32 and UInt64
/// hold data: such tensors are created, filled, copied, converted, indexed and compared for equality, not computed with.
enum class ScalarType : int8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  ComplexHalf,
  ComplexFloat,
  ComplexDouble,
  Bool,
  BFloat16 = 15,
  Undefined,
  UInt16 = 27,
  UInt32,
  UInt64
};
using Dtype = ScalarType;
inline constexpr ScalarType kAllDtypes[] = {
    ScalarType::Byte,        ScalarType::Char,         ScalarType::Short,         ScalarType::Int,
    ScalarType::Long,        ScalarType::Half,         ScalarType::Float,         ScalarType::Double,
    ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble, ScalarType::Bool,
    ScalarType::BFloat16,    ScalarType::UInt16,       ScalarType::UInt32,        ScalarType::UInt64};

inline constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = kByte;
inline constexpr ScalarType kChar = ScalarType::Char, kInt8 = kChar;
inline constexpr ScalarType kShort = ScalarType::Short, kInt16 = kShort;
inline constexpr ScalarType kInt = ScalarType::Int, kInt32 = kInt;
inline constexpr ScalarType kLong = ScalarType::Long, kInt64 = kLong;
inline constexpr ScalarType kHalf = ScalarType::Half, kFloat16 = kHalf;
inline constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = kFloat;
inline constexpr ScalarType kDouble = ScalarType::Double, kFloat64 = kDouble;
inline constexpr ScalarType kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;
inline constexpr ScalarType kBool = ScalarType::Bool;
inline constexpr ScalarType kBFloat16 = ScalarType::BFloat16;
inline constexpr ScalarType kComplexHalf = ScalarType::ComplexHalf;
inline constexpr ScalarType kComplexFloat = ScalarType::ComplexFloat;
inline constexpr ScalarType kComplexDouble = ScalarType::ComplexDouble;

/// The dtype of elements of type T; Undefined if tensors have no such elements.
template <class T>
inline constexpr ScalarType scalar_type_of = std::is_same_v<T, uint8_t>              ? ScalarType::Byte
                                             : std::is_same_v<T, int8_t>             ? ScalarType::Char
                                             : std::is_same_v<T, int16_t>            ? ScalarType::Short
                                             : std::is_same_v<T, int32_t>            ? ScalarType::Int
                                             : std::is_same_v<T, int64_t>            ? ScalarType::Long
                                             : std::is_same_v<T, long long>          ? ScalarType::Long
                                             : std::is_same_v<T, uint16_t>           ? ScalarType::UInt16
                                             : std::is_same_v<T, uint32_t>           ? ScalarType::UInt32
                                             : std::is_same_v<T, uint64_t>           ? ScalarType::UInt64
                                             : std::is_same_v<T, unsigned long long> ? ScalarType::UInt64
                                             : std::is_same_v<T, Half>               ? ScalarType::Half
                                             : std::is_same_v<T, float>              ? ScalarType::Float
                                             : std::is_same_v<T, double>             ? ScalarType::Double
                                             : std::is_same_v<T, bool>               ? ScalarType::Bool
                                             : std::is_same_v<T, BFloat16>           ? ScalarType::BFloat16
                                                                                     : ScalarType::Undefined;
template <ComplexLike T>
inline constexpr ScalarType scalar_type_of<T> =
    std::is_same_v<typename T::value_type, Half>     ? ScalarType::ComplexHalf
    : std::is_same_v<typename T::value_type, float>  ? ScalarType::ComplexFloat
    : std::is_same_v<typename T::value_type, double> ? ScalarType::ComplexDouble
                                                     : ScalarType::Undefined;

/// Bytes per element.
constexpr int64_t item_size(ScalarType type) {
  constexpr int8_t sizes[30] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 0, 0, 0,
                                2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}
constexpr bool is_floating_point(ScalarType type) {
  return type == kFloat || type == kDouble || type == kHalf || type == kBFloat16;
}
constexpr bool is_complex(ScalarType type) {
  return type == kComplexFloat || type == kComplexDouble || type == kComplexHalf;
}
/// Whether tensors of this dtype can require gradients.
constexpr bool is_differentiable(ScalarType type) { return is_floating_point(type) || is_complex(type); }
/// The unsigned dtypes without arithmetic: uint16, uint32, uint64.
constexpr bool isBarebonesUnsignedType(ScalarType type) { return type >= kUInt16 && type <= kUInt64; }
constexpr bool is_integral(ScalarType type, bool include_bool) {
  return type <= ScalarType::Long || isBarebonesUnsignedType(type) || (include_bool && type == kBool);
}
/// "float32", "int64", "bool", …
const char* name(ScalarType type);
/// LibTorch's spelling: "Float", "Long", "Bool", …
const char* toString(ScalarType type);
inline void append(std::string& out, ScalarType type) { out.append(name(type)); }

/// What Tensor::dtype() returns: a ScalarType that also knows its element type's name (LibTorch's caffe2::TypeMeta).
class TypeMeta {
 public:
  constexpr TypeMeta() = default;
  explicit constexpr TypeMeta(ScalarType type) : type_(type) {}
  template <class T>
  static constexpr TypeMeta Make() {
    static_assert(scalar_type_of<T> != ScalarType::Undefined, "tensors have no elements of this type");
    return TypeMeta(scalar_type_of<T>);
  }
  static constexpr TypeMeta fromScalarType(ScalarType type) { return TypeMeta(type); }
  constexpr operator ScalarType() const { return type_; }
  constexpr ScalarType toScalarType() const { return type_; }
  constexpr bool isScalarType() const { return type_ != ScalarType::Undefined; }
  constexpr bool isScalarType(ScalarType type) const { return type_ == type; }
  template <class T>
  constexpr bool Match() const {
    return scalar_type_of<T> == type_;
  }
  constexpr std::size_t itemsize() const { return static_cast<std::size_t>(item_size(type_)); }
  /// The name of the C++ type: "float", "long int", …
  std::string_view name() const;

 private:
  ScalarType type_ = ScalarType::Undefined;
};
inline void append(std::string& out, TypeMeta type) { append(out, type.toScalarType()); }
constexpr ScalarType typeMetaToScalarType(TypeMeta type) { return type; }
constexpr TypeMeta scalarTypeToTypeMeta(ScalarType type) { return TypeMeta(type); }

// LibTorch's names.
constexpr std::size_t elementSize(ScalarType type) { return static_cast<std::size_t>(item_size(type)); }
constexpr bool isIntegralType(ScalarType type, bool includeBool = false) { return is_integral(type, includeBool); }
constexpr bool isFloatingType(ScalarType type) { return is_floating_point(type); }
constexpr bool isReducedFloatingType(ScalarType type) { return type == kHalf || type == kBFloat16; }
constexpr bool isComplexType(ScalarType type) { return is_complex(type); }
/// The dtype of the real and the imaginary part; real dtypes are returned unchanged.
constexpr ScalarType toRealValueType(ScalarType type) {
  return type == kComplexFloat ? kFloat : type == kComplexDouble ? kDouble : type == kComplexHalf ? kHalf : type;
}
/// The complex dtype with parts of this dtype, complex64 for bfloat16. Throws Error for integers and bool.
ScalarType toComplexType(ScalarType type);
constexpr bool isSignedType(ScalarType type) {
  return type != kByte && type != kBool && !isBarebonesUnsignedType(type);
}
/// The dtype in which elements of `type` are computed: with float32 instead of the half types, otherwise `type`.
constexpr ScalarType toOpMathType(ScalarType type) {
  return isReducedFloatingType(type) ? kFloat : type == kComplexHalf ? kComplexFloat : type;
}
/// Whether values of `from` may be written to a tensor of dtype `to` by an in-place operation: the category (bool,
/// integer, floating point, complex) may not become smaller.
constexpr bool canCast(ScalarType from, ScalarType to) {
  if (is_complex(from) || is_complex(to)) return is_complex(to);
  if (is_floating_point(from) && !is_floating_point(to)) return false;
  return from == kBool || to != kBool;
}

/// The categories of type promotion: 0 bool, 1 integers, 2 floating point, 3 complex.
constexpr int promotion_category(ScalarType type) {
  return type == kBool ? 0 : is_complex(type) ? 3 : is_floating_point(type) ? 2 : 1;
}
/// The dtype that holds the values of both (PyTorch's promotion table). Throws Error for uint16, uint32 or uint64 with
/// another dtype that is not floating point.
ScalarType promote_types(ScalarType a, ScalarType b);
inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return promote_types(a, b); }

/// The dtype of new floating point tensors: float32 unless set. The setter throws Error for a dtype that is
/// not floating point.
ScalarType get_default_dtype();
/// The complex dtype with parts of the default dtype.
inline ScalarType get_default_complex_dtype() { return toComplexType(get_default_dtype()); }
inline ScalarType get_default_dtype_as_scalartype() { return get_default_dtype(); }
void set_default_dtype(ScalarType type);

[[noreturn]] void unsupported_dtype(const char* operation, ScalarType type);

/// Calls `f(Type<T>{})` with the C++ type of `type`. Throws an error naming `operation` if the list lacks
/// that type.
template <class... Ts, class F>
inline void dispatch(ScalarType type, TypeList<Ts...>, const char* operation, F&& f) {
  const bool found = ((scalar_type_of<Ts> == type ? (f(Type<Ts>{}), true) : false) || ...);
  if (!found) [[unlikely]]
    unsupported_dtype(operation, type);
}

}  // namespace tandem
