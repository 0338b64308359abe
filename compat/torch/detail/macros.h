// The macros of c10/macros, torch/csrc/Export.h and c10/util/Deprecated.h. Those for other compilers and systems have
// Linux's meaning.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// Export.h
#define C10_BUILD_SHARED_LIBS
#define C10_EXPORT __attribute__((__visibility__("default")))
#define C10_HIDDEN __attribute__((__visibility__("hidden")))
#define C10_IMPORT C10_EXPORT
#define C10_API C10_EXPORT
#define C10_API_ENUM
#define TORCH_API C10_EXPORT
#define TORCH_CUDA_CPP_API C10_EXPORT
#define TORCH_CUDA_CU_API C10_EXPORT
#define TORCH_PYTHON_API C10_EXPORT
#define TORCH_XPU_API C10_EXPORT

// Text and names
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, C10_UID)
#define C10_MACRO_EXPAND(arguments) arguments
#define C10_EXPAND_MSVC_WORKAROUND(x) x
#define HAS_DEMANGLE 1

// Attributes
#define C10_HAS_CPP_ATTRIBUTE(x) __has_cpp_attribute(x)
#if __has_cpp_attribute(clang::lifetimebound)
#define C10_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define C10_LIFETIMEBOUND
#endif
#define C10_NODISCARD [[nodiscard]]
#define C10_UNUSED [[maybe_unused]]
#define C10_USED __attribute__((__used__))
#define C10_RESTRICT __restrict
#define C10_NOINLINE __attribute__((__noinline__))
#define C10_ALWAYS_INLINE_ATTRIBUTE __attribute__((__always_inline__))
#define C10_ALWAYS_INLINE C10_ALWAYS_INLINE_ATTRIBUTE inline
#define C10_ALWAYS_INLINE_UNLESS_MOBILE C10_ALWAYS_INLINE
#define C10_ATTR_VISIBILITY_HIDDEN C10_HIDDEN
#define C10_ERASE C10_ALWAYS_INLINE C10_ATTR_VISIBILITY_HIDDEN
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_UNLIKELY_OR_CONST(condition) C10_UNLIKELY(condition)
#define C10_DEPRECATED [[deprecated]]
#define C10_DEPRECATED_MESSAGE(message) [[deprecated(message)]]
#define C10_DEFINE_DEPRECATED_USING(Name, ...) using Name [[deprecated]] = __VA_ARGS__;
#define TORCH_UNUSED_EXCEPT_CUDA [[maybe_unused]]
#define CONSTEXPR_EXCEPT_WIN_CUDA constexpr
#define C10_HOST_CONSTEXPR_EXCEPT_WIN_CUDA constexpr
#define STATIC_CONSTEXPR_STR_INL_EXCEPT_WIN_CUDA(field, value) static constexpr const char field[] = value;
#define STATIC_CONST_STR_OUT_OF_LINE_FOR_WIN_CUDA(Class, field, value)
#define C10_RETURN_MOVE_IF_OLD_COMPILER 0
#define C10_DISABLE_COPY_AND_ASSIGN(Class) \
  Class(const Class&) = delete;            \
  Class& operator=(const Class&) = delete

// Sanitizers and warnings
#ifdef __clang__
#define TANDEM_COMPAT_NO_SANITIZE(what) __attribute__((no_sanitize(what)))
#define C10_CLANG_DIAGNOSTIC_PUSH() _Pragma("clang diagnostic push")
#define C10_CLANG_DIAGNOSTIC_POP() _Pragma("clang diagnostic pop")
#define C10_CLANG_DIAGNOSTIC_IGNORE(flag) TANDEM_COMPAT_PRAGMA(clang diagnostic ignored flag)
#define C10_CLANG_HAS_WARNING(flag) __has_warning(flag)
#else
#define TANDEM_COMPAT_NO_SANITIZE(what)
#define C10_CLANG_DIAGNOSTIC_PUSH()
#define C10_CLANG_DIAGNOSTIC_POP()
#define C10_CLANG_DIAGNOSTIC_IGNORE(flag)
#define C10_CLANG_HAS_WARNING(flag) 0
#endif
#define TANDEM_COMPAT_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED(warning)               \
  TANDEM_COMPAT_PRAGMA(GCC diagnostic push)                               \
  TANDEM_COMPAT_PRAGMA(GCC diagnostic ignored "-Wpragmas")                \
  TANDEM_COMPAT_PRAGMA(GCC diagnostic ignored "-Wunknown-warning-option") \
  TANDEM_COMPAT_PRAGMA(GCC diagnostic ignored warning)
#define C10_DIAGNOSTIC_POP() TANDEM_COMPAT_PRAGMA(GCC diagnostic pop)
#define __ubsan_ignore_float_divide_by_zero__ TANDEM_COMPAT_NO_SANITIZE("float-divide-by-zero")
#define __ubsan_ignore_undefined__ TANDEM_COMPAT_NO_SANITIZE("undefined")
#define __ubsan_ignore_signed_int_overflow__ TANDEM_COMPAT_NO_SANITIZE("signed-integer-overflow")
#define __ubsan_ignore_pointer_overflow__ TANDEM_COMPAT_NO_SANITIZE("pointer-overflow")
#define __ubsan_ignore_function__ TANDEM_COMPAT_NO_SANITIZE("function")
#define __ubsan_ignore_float_cast_overflow__ TANDEM_COMPAT_NO_SANITIZE("float-cast-overflow")
#if defined(__SANITIZE_ADDRESS__)
#define C10_ASAN_ENABLED 1
#elif defined(__has_feature)
#define C10_ASAN_ENABLED __has_feature(address_sanitizer)
#else
#define C10_ASAN_ENABLED 0
#endif
#if defined(__has_feature)
#define C10_UBSAN_ENABLED __has_feature(undefined_behavior_sanitizer)
#else
#define C10_UBSAN_ENABLED 0
#endif

// CUDA
#ifdef __CUDACC__
#define C10_HOST __host__
#define C10_DEVICE __device__
#else
#define C10_HOST
#define C10_DEVICE
#endif
#define C10_HOST_DEVICE C10_HOST C10_DEVICE
#define C10_HIP_HOST_DEVICE
#define C10_WARP_SIZE 32
#define C10_WARP_SIZE_LOWER_BOUND 32
#define C10_WARP_SIZE_UPPER_BOUND 32
#define C10_MAX_THREADS_PER_BLOCK(threads) ((threads) <= 1024 ? (threads) : 256)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks) \
  ((threads) * (blocks) <= 2048 ? (blocks) : (2048 + (threads)-1) / (threads))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((threads))))
#define C10_LAUNCH_BOUNDS_2(threads, blocks) \
  __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((threads))), (C10_MIN_BLOCKS_PER_SM((threads), (blocks))))

/// End the program, or the kernel, unless the condition holds.
#define CUDA_KERNEL_ASSERT_MSG(condition, message)                                               \
  if (C10_UNLIKELY(!(condition))) {                                                              \
    std::printf("%s:%d: assertion failed: %s\n", __FILE__, static_cast<int>(__LINE__), message); \
    std::abort();                                                                                \
  }
#define CUDA_KERNEL_ASSERT(condition) CUDA_KERNEL_ASSERT_MSG(condition, #condition)
#define CUDA_KERNEL_ASSERT_PRINTF(condition, message, ...) CUDA_KERNEL_ASSERT_MSG(condition, message)
#define CUDA_KERNEL_ASSERT_VERBOSE(condition, ...) CUDA_KERNEL_ASSERT(condition)
#define SYCL_KERNEL_ASSERT(condition) CUDA_KERNEL_ASSERT(condition)

/// HIDDEN_NAMESPACE_BEGIN(a, b) … HIDDEN_NAMESPACE_END(a, b): namespace a::b whose symbols a library does not export.
#define TANDEM_COMPAT_HIDDEN_1(a) namespace a __attribute__((__visibility__("hidden"))) {
#define TANDEM_COMPAT_HIDDEN_2(a, b) \
  namespace a {                      \
  TANDEM_COMPAT_HIDDEN_1(b)
#define TANDEM_COMPAT_HIDDEN_3(a, b, c) \
  namespace a {                         \
  TANDEM_COMPAT_HIDDEN_2(b, c)
#define TANDEM_COMPAT_END_1 }
#define TANDEM_COMPAT_END_2 \
  }                         \
  }
#define TANDEM_COMPAT_END_3 \
  }                         \
  }                         \
  }
#define TANDEM_COMPAT_THIRD(a, b, c, name, ...) name
#define HIDDEN_NAMESPACE_BEGIN(...) \
  TANDEM_COMPAT_THIRD(__VA_ARGS__, TANDEM_COMPAT_HIDDEN_3, TANDEM_COMPAT_HIDDEN_2, TANDEM_COMPAT_HIDDEN_1)(__VA_ARGS__)
#define HIDDEN_NAMESPACE_END(...) \
  TANDEM_COMPAT_THIRD(__VA_ARGS__, TANDEM_COMPAT_END_3, TANDEM_COMPAT_END_2, TANDEM_COMPAT_END_1)

/// _(type, Name) for several dtypes; the macros with AND also take further names.
#define AT_FORALL_INT_TYPES(_) _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long)
#define AT_FORALL_SCALAR_TYPES(_) AT_FORALL_INT_TYPES(_) _(float, Float) _(double, Double)
#define AT_FORALL_COMPLEX_TYPES(_) _(c10::complex<float>, ComplexFloat) _(c10::complex<double>, ComplexDouble)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_) \
  AT_FORALL_INT_TYPES(_)                       \
  _(c10::Half, Half)                           \
  _(float, Float) _(double, Double) AT_FORALL_COMPLEX_TYPES(_) _(bool, Bool) _(c10::BFloat16, BFloat16)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_EXCEPT_COMPLEX_HALF_F8NZ(_) AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_)
#define TANDEM_COMPAT_TYPE(Name) c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::Name>
#define AT_FORALL_SCALAR_TYPES_AND(A, _) AT_FORALL_SCALAR_TYPES(_) _(TANDEM_COMPAT_TYPE(A), A)
#define AT_FORALL_SCALAR_TYPES_AND2(A, B, _) AT_FORALL_SCALAR_TYPES_AND(A, _) _(TANDEM_COMPAT_TYPE(B), B)
#define AT_FORALL_SCALAR_TYPES_AND3(A, B, C, _) AT_FORALL_SCALAR_TYPES_AND2(A, B, _) _(TANDEM_COMPAT_TYPE(C), C)
#define AT_FORALL_SCALAR_TYPES_AND7(A, B, C, D, E, F, G, _) \
  AT_FORALL_SCALAR_TYPES_AND3(A, B, C, _)                   \
  _(TANDEM_COMPAT_TYPE(D), D)                               \
  _(TANDEM_COMPAT_TYPE(E), E) _(TANDEM_COMPAT_TYPE(F), F) _(TANDEM_COMPAT_TYPE(G), G)

// Sizes that are symbols elsewhere.
#define C10_AS_INTARRAYREF_SLOW(values) ::tandem::asIntArrayRefSlow(values, __FILE__, __LINE__)
#define C10_AS_INTARRAYREF_SLOW_ALLOC(values) C10_AS_INTARRAYREF_SLOW(values)
