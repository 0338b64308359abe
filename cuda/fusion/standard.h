// The part of the standard library that formulas use, for a compiler of kernels without one (NVRTC).
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000)

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
using uintptr_t = unsigned long;

namespace std {

using size_t = decltype(sizeof 0);
using ::int16_t, ::int32_t, ::int64_t, ::int8_t, ::uint16_t, ::uint32_t, ::uint64_t, ::uint8_t, ::uintptr_t;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class A, class B>
concept same_as = is_same_v<A, B>;
template <bool c, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool c, class A, class B>
using conditional_t = typename conditional<c, A, B>::type;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T, class... Ts>
inline constexpr bool is_one_of_v = (is_same_v<T, Ts> || ...);
template <class T>
inline constexpr bool is_integral_v = is_one_of_v<T, bool, char, signed char, unsigned char, short, unsigned short, int,
                                                  unsigned, long, unsigned long, long long, unsigned long long>;
template <class T>
inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T>
inline constexpr bool is_signed_v = T(-1) < T(0);
template <class T>
struct make_unsigned {
  using type = conditional_t<
      sizeof(T) == 1, unsigned char,
      conditional_t<sizeof(T) == 2, unsigned short, conditional_t<sizeof(T) == 4, unsigned, unsigned long>>>;
};
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;

template <class To, class From>
__host__ __device__ constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

template <class T>
struct numeric_limits {
  static constexpr bool is_signed = T(-1) < T(0);
  static constexpr int digits = static_cast<int>(8 * sizeof(T)) - is_signed;
  static __device__ __host__ constexpr T max() { return static_cast<T>(~min()); }
  static __device__ __host__ constexpr T min() {
    return is_signed ? static_cast<T>(static_cast<T>(1) << digits) : T(0);
  }
  static __device__ __host__ constexpr T lowest() { return min(); }
};
template <>
struct numeric_limits<float> {
  static constexpr int digits = 24;
  static __device__ __host__ constexpr float max() { return 0x1.fffffep127f; }
  static __device__ __host__ constexpr float min() { return 0x1p-126f; }
  static __device__ __host__ constexpr float epsilon() { return 0x1p-23f; }
  static __device__ __host__ constexpr float lowest() { return -max(); }
  static __device__ __host__ constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000); }
  static __device__ __host__ constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000); }
};
template <>
struct numeric_limits<double> {
  static constexpr int digits = 53;
  static __device__ __host__ constexpr double max() { return 0x1.fffffffffffffp1023; }
  static __device__ __host__ constexpr double min() { return 0x1p-1022; }
  static __device__ __host__ constexpr double epsilon() { return 0x1p-52; }
  static __device__ __host__ constexpr double lowest() { return -max(); }
  static __device__ __host__ constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000); }
  static __device__ __host__ constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000); }
};

// Those that round in their own way are left out: formulas have others (core/formulas/math.h).
using ::ceil, ::copysign, ::fabs, ::floor, ::fma, ::fmod, ::nearbyint, ::nextafter, ::round, ::signbit, ::sqrt, ::trunc;

}  // namespace std
