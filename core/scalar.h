// Scalar: a number without a tensor's dtype. In type promotion only its category counts (bool < integer <
// floating point < complex).
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/core/dtype.h"

namespace tandem {

class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  template <class T>
  requires(std::is_arithmetic_v<T>) Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::kBoolean;
      integer_ = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::kInteger;
      integer_ = static_cast<int64_t>(value);
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof integer_)
        if (integer_ < 0) kind_ = Kind::kUnsigned;
    } else {
      kind_ = Kind::kReal;
      real_ = static_cast<double>(value);
    }
  }
  Scalar(Half value) : Scalar(static_cast<float>(value)) {}
  Scalar(BFloat16 value) : Scalar(static_cast<float>(value)) {}
  template <ComplexLike C>
  Scalar(const C& value)
      : real_(static_cast<double>(value.real())), imag_(static_cast<double>(value.imag())), kind_(Kind::kComplex) {}

  bool isFloatingPoint() const { return kind_ == Kind::kReal; }
  bool isIntegral(bool include_bool) const {
    return kind_ == Kind::kInteger || kind_ == Kind::kUnsigned || (include_bool && isBoolean());
  }
  bool isComplex() const { return kind_ == Kind::kComplex; }
  bool isSymbolic() const { return false; }
  bool isBoolean() const { return kind_ == Kind::kBoolean; }
  /// kComplexDouble, kDouble, kLong or kBool; kUInt64 for an integer beyond int64.
  ScalarType type() const {
    constexpr ScalarType types[] = {kDouble, kLong, kUInt64, kBool, kComplexDouble};
    return types[static_cast<int>(kind_)];
  }

  /// The value converted to T as by a C++ cast. Throws Error if it does not fit an integer type, or if an imaginary
  /// part that is not 0 would be lost; negative integers wrap around in unsigned types, as in PyTorch, and in uint8 other
  /// negative numbers do, too.
  template <class T>
  T to() const {
    if constexpr (ComplexLike<T>) {
      using Part = typename T::value_type;
      using Via = std::conditional_t<std::is_same_v<Part, double>, double, float>;  // half types are made from float
      if (isComplex()) return T(static_cast<Part>(static_cast<Via>(real_)), static_cast<Part>(static_cast<Via>(imag_)));
      return T(to<Part>(), Part(0));
    } else if constexpr (std::is_same_v<T, bool>) {
      return isComplex() ? real_ != 0 || imag_ != 0 : isFloatingPoint() ? real_ != 0 : integer_ != 0;
    } else {
      if (isComplex()) [[unlikely]]
        return real_part(scalar_type_of<T>).template to_real<T>();
      return to_real<T>();
    }
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  int16_t toShort() const { return to<int16_t>(); }
  int8_t toChar() const { return to<int8_t>(); }
  uint8_t toByte() const { return to<uint8_t>(); }
  uint16_t toUInt16() const { return to<uint16_t>(); }
  uint32_t toUInt32() const { return to<uint32_t>(); }
  uint64_t toUInt64() const { return to<uint64_t>(); }
  Half toHalf() const { return to<Half>(); }
  BFloat16 toBFloat16() const { return to<BFloat16>(); }
  bool toBool() const { return to<bool>(); }
  Complex<Half> toComplexHalf() const { return to<Complex<Half>>(); }
  Complex<float> toComplexFloat() const { return to<Complex<float>>(); }
  Complex<double> toComplexDouble() const { return to<Complex<double>>(); }
  Scalar conj() const { return isComplex() ? Scalar(Complex<double>(real_, -imag_)) : *this; }
  Scalar operator-() const {
    if (isComplex()) return Complex<double>(-real_, -imag_);
    if (kind_ == Kind::kUnsigned) return -static_cast<double>(static_cast<uint64_t>(integer_));
    return isFloatingPoint() ? Scalar(-real_) : Scalar(-integer_);
  }
  /// An integer equals exactly that number, and a bool only a bool.
  template <class T>
  requires(std::is_arithmetic_v<T>) bool equal(T value) const {
    if (isBoolean() != std::is_same_v<T, bool>) return false;
    if (isComplex()) return real_ == static_cast<double>(value) && imag_ == 0;
    if (isFloatingPoint()) return real_ == static_cast<double>(value);
    if constexpr (std::is_floating_point_v<T>)
      return to<double>() == static_cast<double>(value);
    else
      return kind_ == Scalar(value).kind_ && integer_ == static_cast<int64_t>(value);
  }
  template <ComplexLike C>
  bool equal(const C& value) const {
    return to<Complex<double>>() == Complex<double>(value) && !isBoolean();
  }

 private:
  template <class T>
  T to_real() const {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return T(to_real<float>());
    else if constexpr (std::is_same_v<T, uint64_t>)
      return unsigned_integer();
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(integer(scalar_type_of<T>,
                                    std::is_signed_v<T>                  ? std::numeric_limits<T>::min()
                                    : isFloatingPoint() && sizeof(T) > 1 ? int64_t{0}
                                                                         : -int64_t{std::numeric_limits<T>::max()},
                                    static_cast<int64_t>(std::numeric_limits<T>::max())));
    else if (kind_ == Kind::kUnsigned)
      return static_cast<T>(static_cast<uint64_t>(integer_));
    else
      return isFloatingPoint() ? static_cast<T>(real_) : static_cast<T>(integer_);
  }
  // The value as an integer within [low, high].
  int64_t integer(ScalarType type, int64_t low, int64_t high) const {
    // 2^63 is the first double beyond int64.
    const bool fits = !isFloatingPoint() || (real_ >= -0x1p63 && real_ < 0x1p63);
    const int64_t value = !isFloatingPoint() ? integer_ : fits ? static_cast<int64_t>(real_) : 0;
    if (!fits || value < low || value > high || kind_ == Kind::kUnsigned) [[unlikely]]
      overflow(type);
    return value;
  }
  uint64_t unsigned_integer() const {
    if (!isFloatingPoint()) return static_cast<uint64_t>(integer_);
    if (!(real_ > -1 && real_ < 0x1p64)) overflow(kUInt64);
    return static_cast<uint64_t>(real_);
  }
  [[noreturn]] void overflow(ScalarType type) const;
  // The real part; throws Error unless the imaginary part is 0.
  Scalar real_part(ScalarType type) const;

  enum class Kind : uint8_t { kReal, kInteger, kUnsigned, kBoolean, kComplex };  // kUnsigned: from 2^63
  union {
    double real_;
    int64_t integer_;
  };
  double imag_ = 0;
  Kind kind_;
};

/// "1.5", "true", "(1,-2)"
inline void append(std::string& out, const Scalar& s) {
  using detail::append;
  if (s.isComplex()) {
    const Complex<double> z = s.toComplexDouble();
    append(out, "(");
    append(out, z.re);
    append(out, ",");
    append(out, z.im);
    append(out, ")");
  } else if (s.isFloatingPoint())
    append(out, s.toDouble());
  else if (s.isBoolean())
    append(out, s.toBool());
  else if (s.type() == kUInt64)
    append(out, s.toUInt64());
  else
    append(out, s.toLong());
}

}  // namespace tandem
