// AT_DISPATCH_…: calls a lambda with scalar_t set to the element type of a dtype that is known at run time.
//
//   AT_DISPATCH_FLOATING_TYPES(tensor.scalar_type(), "name", [&] { use(tensor.data_ptr<scalar_t>()); });
#pragma once
#include <complex>
#include <type_traits>

#include "tandem/core/dtype.h"
#include "tandem/core/half.h"
#include "torch/detail/check.h"

namespace tandem::compat {

template <ScalarType type>
struct CppType;
// clang-format off
template <> struct CppType<kByte> { using Type = uint8_t; };
template <> struct CppType<kChar> { using Type = int8_t; };
template <> struct CppType<kShort> { using Type = int16_t; };
template <> struct CppType<kInt> { using Type = int; };
template <> struct CppType<kLong> { using Type = int64_t; };
template <> struct CppType<kUInt16> { using Type = uint16_t; };
template <> struct CppType<kUInt32> { using Type = uint32_t; };
template <> struct CppType<kUInt64> { using Type = uint64_t; };
template <> struct CppType<kHalf> { using Type = Half; };
template <> struct CppType<kBFloat16> { using Type = BFloat16; };
template <> struct CppType<kFloat> { using Type = float; };
template <> struct CppType<kDouble> { using Type = double; };
template <> struct CppType<kBool> { using Type = bool; };
template <> struct CppType<kComplexHalf> { using Type = Complex<Half>; };
template <> struct CppType<kComplexFloat> { using Type = std::complex<float>; };
template <> struct CppType<kComplexDouble> { using Type = std::complex<double>; };
// clang-format on

}  // namespace tandem::compat

namespace torch {
/// The dtype of elements of type T as `value`.
template <class T>
requires(tandem::scalar_type_of<T> != tandem::ScalarType::Undefined) struct CppTypeToScalarType
    : std::integral_constant<tandem::ScalarType, tandem::scalar_type_of<T>> {
};
}  // namespace torch
namespace c10::impl {
/// The type of elements of a dtype.
template <tandem::ScalarType dtype>
struct ScalarTypeToCPPType {
  using type = typename tandem::compat::CppType<dtype>::Type;
};
template <tandem::ScalarType dtype>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<dtype>::type;
}  // namespace c10::impl

#define AT_PRIVATE_CASE_TYPE_USING_HINT(type, hint, ...)                            \
  case type: {                                                                      \
    using hint [[maybe_unused]] = typename ::tandem::compat::CppType<(type)>::Type; \
    return __VA_ARGS__();                                                           \
  }
#define AT_DISPATCH_CASE(type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(type, scalar_t, __VA_ARGS__)
/// Throws Error "\"NAME\" not implemented for 'DTYPE'" for a dtype without a case.
#define AT_DISPATCH_SWITCH(dtype, name, ...)                                                             \
  [&] {                                                                                                  \
    const ::tandem::ScalarType of_tensor = dtype;                                                        \
    switch (of_tensor) {                                                                                 \
      __VA_ARGS__                                                                                        \
      default:                                                                                           \
        ::tandem::compat::fail<::tandem::NotImplementedError>("", '"', name, "\" not implemented for '", \
                                                              ::tandem::toString(of_tensor), "'");       \
    }                                                                                                    \
  }()

// The dtypes of each group. AND_N adds N dtypes, which come first: AT_DISPATCH_ALL_TYPES_AND2(kHalf, kBool, dtype, ...).
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::tandem::kDouble, __VA_ARGS__) AT_DISPATCH_CASE(::tandem::kFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::tandem::kHalf, __VA_ARGS__) AT_DISPATCH_CASE(::tandem::kBFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(::tandem::kHalf, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE(::tandem::kComplexDouble, __VA_ARGS__) AT_DISPATCH_CASE(::tandem::kComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)     \
  AT_DISPATCH_CASE(::tandem::kByte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kChar, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kInt, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::tandem::kLong, __VA_ARGS__) AT_DISPATCH_CASE(::tandem::kShort, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(a, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(a, b, c, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(a, b, c, d, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND3(a, b, c, __VA_ARGS__) AT_DISPATCH_CASE(d, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND5(a, b, c, d, e, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND4(a, b, c, d, __VA_ARGS__) AT_DISPATCH_CASE(e, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND(a, ...) \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND2(a, b, ...) \
  AT_DISPATCH_CASE_COMPLEX_TYPES_AND(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(a, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(a, b, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(a, b, c, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(a, b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(a, b, c, d, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(a, b, c, __VA_ARGS__) AT_DISPATCH_CASE(d, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(a, b, c, d, e, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(a, b, c, d, __VA_ARGS__) AT_DISPATCH_CASE(e, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(a, b, c, d, e, f, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(a, b, c, d, e, __VA_ARGS__) AT_DISPATCH_CASE(f, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(a, ...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(a, ...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(a, b, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(a, b, c, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND2(a, b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(a, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(a, b, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(a, b, c, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(a, b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(a, b, c, d, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(a, b, c, __VA_ARGS__) AT_DISPATCH_CASE(d, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(a, b, c, d, e, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(a, b, c, d, __VA_ARGS__) AT_DISPATCH_CASE(e, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(a, b, c, d, e, f, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(a, b, c, d, e, __VA_ARGS__) AT_DISPATCH_CASE(f, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(a, b, c, d, e, f, g, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(a, b, c, d, e, f, __VA_ARGS__) AT_DISPATCH_CASE(g, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(a, b, c, d, e, f, g, h, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(a, b, c, d, e, f, g, __VA_ARGS__) AT_DISPATCH_CASE(h, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(dtype, name, ...) AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND(a, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(a, b, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(a, b, c, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND3(a, b, c, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(a, b, c, d, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND4(a, b, c, d, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND5(a, b, c, d, e, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND5(a, b, c, d, e, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_COMPLEX_TYPES_AND(a, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND2(a, b, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_COMPLEX_TYPES_AND2(a, b, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(a, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(a, b, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(a, b, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(a, b, c, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(a, b, c, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(a, b, c, d, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(a, b, c, d, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(a, b, c, d, e, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(a, b, c, d, e, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(a, b, c, d, e, f, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(a, b, c, d, e, f, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(a, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND(a, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(a, b, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND2(a, b, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(a, b, c, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND3(a, b, c, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(a, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(a, b, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(a, b, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(a, b, c, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(a, b, c, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(a, b, c, d, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(a, b, c, d, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(a, b, c, d, e, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(a, b, c, d, e, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(a, b, c, d, e, f, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(a, b, c, d, e, f, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND7(a, b, c, d, e, f, g, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(a, b, c, d, e, f, g, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND8(a, b, c, d, e, f, g, h, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(a, b, c, d, e, f, g, h, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(dtype, name, ...)                                          \
  AT_DISPATCH_SWITCH(dtype, name,                                                          \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::tandem::kInt, index_t, __VA_ARGS__) \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::tandem::kLong, index_t, __VA_ARGS__))

// AT_DISPATCH_V2(dtype, "name", AT_WRAP([&] { … }), AT_EXPAND(AT_ALL_TYPES), at::kHalf): a list of dtypes in place of the
// groups. The body stays in parentheses because it may contain commas; a list is walked by rescanning.
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(X) X
#define AT_INTEGRAL_TYPES ::tandem::kByte, ::tandem::kChar, ::tandem::kInt, ::tandem::kLong, ::tandem::kShort
#define AT_FLOATING_TYPES ::tandem::kDouble, ::tandem::kFloat
#define AT_BAREBONES_UNSIGNED_TYPES ::tandem::kUInt16, ::tandem::kUInt32, ::tandem::kUInt64
#define AT_INTEGRAL_TYPES_V2 AT_INTEGRAL_TYPES, AT_BAREBONES_UNSIGNED_TYPES
#define AT_COMPLEX_TYPES ::tandem::kComplexDouble, ::tandem::kComplexFloat
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
#define TANDEM_COMPAT_RESCAN_4(...) __VA_ARGS__
#define TANDEM_COMPAT_RESCAN_16(...) \
  TANDEM_COMPAT_RESCAN_4(TANDEM_COMPAT_RESCAN_4(TANDEM_COMPAT_RESCAN_4(TANDEM_COMPAT_RESCAN_4(__VA_ARGS__))))
#define TANDEM_COMPAT_RESCAN(...) TANDEM_COMPAT_RESCAN_16(TANDEM_COMPAT_RESCAN_16(TANDEM_COMPAT_RESCAN_16(__VA_ARGS__)))
#define TANDEM_COMPAT_NOTHING
#define TANDEM_COMPAT_CASES_AGAIN() TANDEM_COMPAT_CASES
#define TANDEM_COMPAT_CASES(body, type, ...) \
  AT_DISPATCH_CASE(type, AT_WRAP body)       \
  __VA_OPT__(TANDEM_COMPAT_CASES_AGAIN TANDEM_COMPAT_NOTHING()(body, __VA_ARGS__))
#define AT_DISPATCH_V2(dtype, name, body, ...) \
  AT_DISPATCH_SWITCH(dtype, name, TANDEM_COMPAT_RESCAN(TANDEM_COMPAT_CASES((body), __VA_ARGS__)))
