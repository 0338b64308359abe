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

// ANDN adds N dtypes, which come first: AT_DISPATCH_ALL_TYPES_AND2(kHalf, kBool, dtype, ...).
#define TANDEM_AND(count, group, ...) TANDEM_AND_##count(AT_DISPATCH_CASE_##group, __VA_ARGS__)
#define TANDEM_AND_1(cases, a, ...) cases(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__)
#define TANDEM_AND_2(cases, a, b, ...) TANDEM_AND_1(cases, a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)
#define TANDEM_AND_3(cases, a, b, c, ...) TANDEM_AND_2(cases, a, b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__)
#define TANDEM_AND_4(cases, a, b, c, d, ...) TANDEM_AND_3(cases, a, b, c, __VA_ARGS__) AT_DISPATCH_CASE(d, __VA_ARGS__)
#define TANDEM_AND_5(cases, a, b, c, d, e, ...) \
  TANDEM_AND_4(cases, a, b, c, d, __VA_ARGS__) AT_DISPATCH_CASE(e, __VA_ARGS__)
#define TANDEM_AND_6(cases, a, b, c, d, e, f, ...) \
  TANDEM_AND_5(cases, a, b, c, d, e, __VA_ARGS__) AT_DISPATCH_CASE(f, __VA_ARGS__)
#define TANDEM_AND_7(cases, a, b, c, d, e, f, g, ...) \
  TANDEM_AND_6(cases, a, b, c, d, e, f, __VA_ARGS__) AT_DISPATCH_CASE(g, __VA_ARGS__)
#define TANDEM_AND_8(cases, a, b, c, d, e, f, g, h, ...) \
  TANDEM_AND_7(cases, a, b, c, d, e, f, g, __VA_ARGS__) AT_DISPATCH_CASE(h, __VA_ARGS__)

// The dtypes of each group.
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
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(...) TANDEM_AND(1, FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(...) TANDEM_AND(2, FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(...) TANDEM_AND(3, FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(...) TANDEM_AND(4, FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND5(...) TANDEM_AND(5, FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND(...) TANDEM_AND(1, COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND2(...) TANDEM_AND(2, COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(...) TANDEM_AND(1, FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(...) TANDEM_AND(2, FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(...) TANDEM_AND(3, FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(...) TANDEM_AND(4, FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(...) TANDEM_AND(5, FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(...) TANDEM_AND(6, FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(...) TANDEM_AND(1, INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(...) TANDEM_AND(1, ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(...) TANDEM_AND(2, ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(...) TANDEM_AND(3, ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(...) TANDEM_AND(1, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(...) TANDEM_AND(2, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(...) TANDEM_AND(3, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(...) TANDEM_AND(4, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(...) TANDEM_AND(5, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(...) TANDEM_AND(6, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(...) TANDEM_AND(7, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(...) TANDEM_AND(8, ALL_TYPES_AND_COMPLEX, __VA_ARGS__)

#define TANDEM_SWITCH_0(group, dtype, name, ...) AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(__VA_ARGS__))
#define TANDEM_SWITCH_1(group, a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, __VA_ARGS__))
#define TANDEM_SWITCH_2(group, a, b, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, b, __VA_ARGS__))
#define TANDEM_SWITCH_3(group, a, b, c, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, b, c, __VA_ARGS__))
#define TANDEM_SWITCH_4(group, a, b, c, d, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, b, c, d, __VA_ARGS__))
#define TANDEM_SWITCH_5(group, a, b, c, d, e, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, b, c, d, e, __VA_ARGS__))
#define TANDEM_SWITCH_6(group, a, b, c, d, e, f, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, b, c, d, e, f, __VA_ARGS__))
#define TANDEM_SWITCH_7(group, a, b, c, d, e, f, g, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, b, c, d, e, f, g, __VA_ARGS__))
#define TANDEM_SWITCH_8(group, a, b, c, d, e, f, g, h, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##group(a, b, c, d, e, f, g, h, __VA_ARGS__))

#define AT_DISPATCH_FLOATING_TYPES(...) TANDEM_SWITCH_0(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(...) TANDEM_SWITCH_0(REDUCED_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(...) TANDEM_SWITCH_0(FLOATING_TYPES_AND_HALF, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES(...) TANDEM_SWITCH_0(COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(...) TANDEM_SWITCH_0(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(...) TANDEM_SWITCH_0(INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(...) TANDEM_SWITCH_0(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(...) TANDEM_SWITCH_0(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(...) TANDEM_SWITCH_1(FLOATING_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(...) TANDEM_SWITCH_2(FLOATING_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(...) TANDEM_SWITCH_3(FLOATING_TYPES_AND3, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND4(...) TANDEM_SWITCH_4(FLOATING_TYPES_AND4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND5(...) TANDEM_SWITCH_5(FLOATING_TYPES_AND5, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES_AND(...) TANDEM_SWITCH_1(COMPLEX_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES_AND2(...) TANDEM_SWITCH_2(COMPLEX_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(...) TANDEM_SWITCH_1(FLOATING_AND_COMPLEX_TYPES_AND1, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(...) TANDEM_SWITCH_2(FLOATING_AND_COMPLEX_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(...) TANDEM_SWITCH_3(FLOATING_AND_COMPLEX_TYPES_AND3, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(...) TANDEM_SWITCH_4(FLOATING_AND_COMPLEX_TYPES_AND4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(...) TANDEM_SWITCH_5(FLOATING_AND_COMPLEX_TYPES_AND5, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(...) TANDEM_SWITCH_6(FLOATING_AND_COMPLEX_TYPES_AND6, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(...) TANDEM_SWITCH_1(INTEGRAL_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(...) TANDEM_SWITCH_1(ALL_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(...) TANDEM_SWITCH_2(ALL_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(...) TANDEM_SWITCH_3(ALL_TYPES_AND3, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(...) TANDEM_SWITCH_1(ALL_TYPES_AND_COMPLEX_AND, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(...) TANDEM_SWITCH_2(ALL_TYPES_AND_COMPLEX_AND2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(...) TANDEM_SWITCH_3(ALL_TYPES_AND_COMPLEX_AND3, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(...) TANDEM_SWITCH_4(ALL_TYPES_AND_COMPLEX_AND4, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(...) TANDEM_SWITCH_5(ALL_TYPES_AND_COMPLEX_AND5, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(...) TANDEM_SWITCH_6(ALL_TYPES_AND_COMPLEX_AND6, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND7(...) TANDEM_SWITCH_7(ALL_TYPES_AND_COMPLEX_AND7, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND8(...) TANDEM_SWITCH_8(ALL_TYPES_AND_COMPLEX_AND8, __VA_ARGS__)
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
