// Types and functions of LibTorch's c10 and ATen that programs name, in terms of Tandem's; namespaces.h has more.
#pragma once
#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tandem/core/warning.h"
#include "tandem/tandem.h"

namespace caffe2 {
using tandem::TypeMeta;
}

namespace torch {

using tandem::DeprecationWarning;
using tandem::UserWarning;
using tandem::warn;
using tandem::Warning;
using tandem::WarningHandler;
namespace WarningUtils {
using namespace tandem::WarningUtils;
}
using tandem::toOpMathType;
using tandem::TypeMeta;
inline constexpr tandem::ScalarType kU16 = tandem::kUInt16, kU32 = tandem::kUInt32, kU64 = tandem::kUInt64;
/// For get_default_dtype(), which is a TypeMeta in LibTorch.
constexpr tandem::ScalarType typeMetaToScalarType(tandem::ScalarType type) { return type; }

using DimVector = tandem::SmallVector<int64_t, 5>;

/// float for the half types, otherwise T.
template <class T>
struct OpMathType {
  using type = std::conditional_t<std::is_same_v<T, tandem::Half> || std::is_same_v<T, tandem::BFloat16>, float, T>;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;
/// The type in which elements of type T are summed: int64_t for integers, double for float on the CPU, or opmath_type.
template <class T, bool is_cuda>
using acc_type = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int64_t,
                                    std::conditional_t<std::is_same_v<T, float> && !is_cuda, double, opmath_type<T>>>;

/// A DeviceGuard that may be without a device.
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(tandem::Device device) { guard_.emplace(device); }
  explicit OptionalDeviceGuard(const std::optional<tandem::Device>& device) {
    if (device) guard_.emplace(*device);
  }
  void reset_device(tandem::Device device) { guard_.emplace(device); }
  std::optional<tandem::Device> original_device() const {
    return guard_ ? std::optional(guard_->original_device()) : std::nullopt;
  }
  std::optional<tandem::Device> current_device() const {
    return guard_ ? std::optional(guard_->current_device()) : std::nullopt;
  }

 private:
  std::optional<tandem::DeviceGuard> guard_;
};
/// The device of a tensor, for guards; none if it is undefined.
inline std::optional<tandem::Device> device_of(const tandem::Tensor& t) {
  return t.defined() ? std::optional(t.device()) : std::nullopt;
}

// Backends that do not exist here.
namespace mps {
inline bool is_available() { return false; }
inline std::size_t device_count() { return 0; }
}  // namespace mps
namespace xpu {
inline bool is_available() { return false; }
inline std::size_t device_count() { return 0; }
}  // namespace xpu

}  // namespace torch

namespace c10 {
/// The elements of complex tensors.
template <class T>
using complex = std::complex<T>;
namespace complex_literals {
constexpr complex<float> operator""_if(long double imag) { return {0, static_cast<float>(imag)}; }
constexpr complex<float> operator""_if(unsigned long long imag) { return {0, static_cast<float>(imag)}; }
constexpr complex<double> operator""_id(long double imag) { return {0, static_cast<double>(imag)}; }
constexpr complex<double> operator""_id(unsigned long long imag) { return {0, static_cast<double>(imag)}; }
}  // namespace complex_literals
}  // namespace c10

namespace at::autocast {
using namespace tandem::autocast;
}  // namespace at::autocast
