// Names and promotion of data types.
#include "tandem/core/dtype.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "tandem/core/scalar.h"

namespace tandem {
namespace {
std::atomic<ScalarType> default_dtype{kFloat};

struct Names {
  ScalarType type;
  const char *name, *libtorch, *element;
};
constexpr Names names[] = {
    {kByte, "uint8", "Byte", "unsigned char"},
    {kChar, "int8", "Char", "signed char"},
    {kShort, "int16", "Short", "short int"},
    {kInt, "int32", "Int", "int"},
    {kLong, "int64", "Long", "long int"},
    {kHalf, "float16", "Half", "c10::Half"},
    {kFloat, "float32", "Float", "float"},
    {kDouble, "float64", "Double", "double"},
    {kComplexHalf, "complex32", "ComplexHalf", "c10::complex<c10::Half>"},
    {kComplexFloat, "complex64", "ComplexFloat", "c10::complex<float>"},
    {kComplexDouble, "complex128", "ComplexDouble", "c10::complex<double>"},
    {kBool, "bool", "Bool", "bool"},
    {kBFloat16, "bfloat16", "BFloat16", "c10::BFloat16"},
    {ScalarType::Undefined, "undefined", "Undefined", "nullptr (uninitialized)"},
    {kUInt16, "uint16", "UInt16", "short unsigned int"},
    {kUInt32, "uint32", "UInt32", "unsigned int"},
    {kUInt64, "uint64", "UInt64", "long unsigned int"},
};
constexpr Names unknown{ScalarType::Undefined, "unknown", "Unknown", "unknown"};
const Names& names_of(ScalarType type) {
  const Names* found = std::ranges::find(names, type, &Names::type);
  return found == std::end(names) ? unknown : *found;
}
}  // namespace

const char* name(ScalarType type) { return names_of(type).name; }
const char* toString(ScalarType type) { return names_of(type).libtorch; }
std::string_view TypeMeta::name() const { return names_of(type_).element; }

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (a == ScalarType::Undefined) return b;
  if (b == ScalarType::Undefined) return a;
  if (isBarebonesUnsignedType(a) || isBarebonesUnsignedType(b)) {
    check(is_floating_point(a) || is_floating_point(b),
          "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ", toString(a), " and ",
          toString(b));
    return is_floating_point(a) ? a : b;
  }
  if (a == kBool) return b;
  if (b == kBool) return a;
  if (is_complex(a) || is_complex(b)) {
    const auto parts = [](ScalarType type) { return is_differentiable(type) ? toRealValueType(type) : kHalf; };
    return toComplexType(promote_types(parts(a), parts(b)));
  }
  const bool float_a = is_floating_point(a), float_b = is_floating_point(b);
  if (float_a != float_b) return float_a ? a : b;
  if (float_a) {
    if (a == kDouble || b == kDouble) return kDouble;
    return kFloat;  // float with a half type, or two different half types
  }
  // Integers: the wider one. uint8 with int8 needs int16.
  if ((a == kByte && b == kChar) || (a == kChar && b == kByte)) return kShort;
  return item_size(a) > item_size(b) ? a : b;
}

ScalarType toComplexType(ScalarType type) {
  if (is_complex(type)) return type;
  check(is_floating_point(type), "toComplexType: expected a floating point type, got ", type);
  return type == kDouble ? kComplexDouble : type == kHalf ? kComplexHalf : kComplexFloat;
}

ScalarType get_default_dtype() { return default_dtype.load(std::memory_order_relaxed); }
void set_default_dtype(ScalarType type) {
  check(type != ScalarType::Undefined, "set_default_dtype: expected a dtype, got ", type);
  default_dtype = type;
}

void unsupported_dtype(const char* operation, ScalarType type) {
  throw NotImplementedError(concat(operation, ": not implemented for ", type));
}

void Scalar::overflow(ScalarType type) const {
  throw Error(concat("value cannot be converted to type ", TypeMeta(type).name(), " without overflow: ", *this));
}

Scalar Scalar::real_part(ScalarType type) const {
  if (imag_ != 0) overflow(type);
  return real_;
}

}  // namespace tandem
