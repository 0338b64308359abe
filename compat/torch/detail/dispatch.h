// AT_DISPATCH_…: calls a lambda with scalar_t set to the element type of a dtype that is known at run time.
//
//   AT_DISPATCH_FLOATING_TYPES(tensor.scalar_type(), "name", [&] { use(tensor.data_ptr<scalar_t>()); });
#pragma once
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
template <> struct CppType<kHalf> { using Type = Half; };
template <> struct CppType<kBFloat16> { using Type = BFloat16; };
template <> struct CppType<kFloat> { using Type = float; };
template <> struct CppType<kDouble> { using Type = double; };
template <> struct CppType<kBool> { using Type = bool; };
// clang-format on

}  // namespace tandem::compat

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

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)       \
  AT_DISPATCH_CASE(::tandem::kDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::tandem::kHalf, __VA_ARGS__)     \
  AT_DISPATCH_CASE(::tandem::kBFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)     \
  AT_DISPATCH_CASE(::tandem::kByte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kChar, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kInt, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::tandem::kLong, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kShort, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(dtype, name, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::tandem::kHalf, dtype, name, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(first, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(first, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(first, second, dtype, name, ...)                               \
  AT_DISPATCH_SWITCH(dtype, name,                                                                      \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(first, __VA_ARGS__) \
                         AT_DISPATCH_CASE(second, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(first, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(first, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(dtype, name, ...) AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(first, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(first, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(first, second, dtype, name, ...)                               \
  AT_DISPATCH_SWITCH(dtype, name,                                                                 \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(first, __VA_ARGS__) \
                         AT_DISPATCH_CASE(second, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(first, second, third, dtype, name, ...)                        \
  AT_DISPATCH_SWITCH(dtype, name,                                                                 \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(first, __VA_ARGS__) \
                         AT_DISPATCH_CASE(second, __VA_ARGS__) AT_DISPATCH_CASE(third, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(dtype, name, ...)                                          \
  AT_DISPATCH_SWITCH(dtype, name,                                                          \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::tandem::kInt, index_t, __VA_ARGS__) \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::tandem::kLong, index_t, __VA_ARGS__))
