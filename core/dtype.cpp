// Names and promotion of data types.
#include "tandem/core/dtype.h"

#include <atomic>

#include "tandem/core/scalar.h"

namespace tandem {
namespace {
std::atomic<ScalarType> default_dtype{kFloat};
}

const char* name(ScalarType type) {
  constexpr const char* names[] = {"uint8",     "int8",       "int16",    "int32", "int64",
                                   "float16",   "float32",    "float64",  "bool",  "bfloat16",
                                   "complex64", "complex128", "undefined"};
  return names[static_cast<int>(type)];
}

const char* toString(ScalarType type) {
  constexpr const char* names[] = {"Byte",         "Char",          "Short",    "Int",  "Long",
                                   "Half",         "Float",         "Double",   "Bool", "BFloat16",
                                   "ComplexFloat", "ComplexDouble", "Undefined"};
  return names[static_cast<int>(type)];
}

std::string_view TypeMeta::name() const {
  constexpr std::string_view names[] = {"unsigned char",
                                        "signed char",
                                        "short int",
                                        "int",
                                        "long int",
                                        "c10::Half",
                                        "float",
                                        "double",
                                        "bool",
                                        "c10::BFloat16",
                                        "c10::complex<float>",
                                        "c10::complex<double>",
                                        "nullptr (uninitialized)"};
  return names[static_cast<int>(type_)];
}

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (a == ScalarType::Undefined) return b;
  if (b == ScalarType::Undefined) return a;
  if (a == kBool) return b;
  if (b == kBool) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = item_size(toRealValueType(a)) == 8 && is_differentiable(a),
               wide_b = item_size(toRealValueType(b)) == 8 && is_differentiable(b);
    return wide || wide_b ? kComplexDouble : kComplexFloat;
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
  return type == kDouble ? kComplexDouble : kComplexFloat;
}

ScalarType get_default_dtype() { return default_dtype.load(std::memory_order_relaxed); }
void set_default_dtype(ScalarType type) {
  check(is_floating_point(type), "set_default_dtype: expected a floating point type, got ", type);
  default_dtype = type;
}

void unsupported_dtype(const char* operation, ScalarType type) {
  throw NotImplementedError(concat(operation, ": not implemented for ", type));
}

void Scalar::overflow(ScalarType type) const {
  throw Error(concat("the number ", *this, " does not fit in ", name(type)));
}

Scalar Scalar::real_part(ScalarType type) const {
  if (imag_ != 0) overflow(type);
  return real_;
}

}  // namespace tandem
