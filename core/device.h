// Device: a type and an index. cpu:k are logical devices that share the cores; cuda:k are GPUs.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>

#include "tandem/core/error.h"

namespace tandem {

/// Tensors exist on CPU and CUDA. The others are LibTorch's, with its numbers, for programs that name them.
enum class DeviceType : int8_t {
  CPU,
  CUDA,
  MKLDNN,
  OPENGL,
  OPENCL,
  IDEEP,
  HIP,
  FPGA,
  MAIA,
  XLA,
  Vulkan,
  Metal,
  XPU,
  MPS,
  Meta,
  HPU,
  VE,
  Lazy,
  IPU,
  MTIA,
  PrivateUse1,
  COMPILE_TIME_MAX_DEVICE_TYPES
};
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
inline constexpr DeviceType kHIP = DeviceType::HIP;
inline constexpr DeviceType kFPGA = DeviceType::FPGA;
inline constexpr DeviceType kMAIA = DeviceType::MAIA;
inline constexpr DeviceType kXLA = DeviceType::XLA;
inline constexpr DeviceType kVulkan = DeviceType::Vulkan;
inline constexpr DeviceType kMetal = DeviceType::Metal;
inline constexpr DeviceType kXPU = DeviceType::XPU;
inline constexpr DeviceType kMPS = DeviceType::MPS;
inline constexpr DeviceType kMeta = DeviceType::Meta;
inline constexpr DeviceType kHPU = DeviceType::HPU;
inline constexpr DeviceType kVE = DeviceType::VE;
inline constexpr DeviceType kLazy = DeviceType::Lazy;
inline constexpr DeviceType kIPU = DeviceType::IPU;
inline constexpr DeviceType kMTIA = DeviceType::MTIA;
inline constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;
using DeviceIndex = int8_t;

class Device {
 public:
  using Type = DeviceType;
  /// Index -1 means the current device of that type. Any type can be named: what makes a tensor throws
  /// NotImplementedError for a type without tensors.
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  /// The CPU. Explicit, so that no function takes {} as a device.
  explicit Device() : Device(DeviceType::CPU) {}
  /// "cpu", "cpu:1", "cuda", "cuda:0", and the other types' names. Throws Error on anything else, with a suggestion for
  /// a likely typo.
  Device(const std::string& text);
  // A template, so that neither 0 nor nullptr is a device.
  template <std::same_as<const char*> Text>
  Device(Text text) : Device(std::string(text)) {}

  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  bool is_hip() const { return type_ == DeviceType::HIP; }
  bool is_xla() const { return type_ == DeviceType::XLA; }
  bool is_vulkan() const { return type_ == DeviceType::Vulkan; }
  bool is_metal() const { return type_ == DeviceType::Metal; }
  bool is_xpu() const { return type_ == DeviceType::XPU; }
  bool is_mps() const { return type_ == DeviceType::MPS; }
  bool is_meta() const { return type_ == DeviceType::Meta; }
  bool is_hpu() const { return type_ == DeviceType::HPU; }
  bool is_ve() const { return type_ == DeviceType::VE; }
  bool is_lazy() const { return type_ == DeviceType::Lazy; }
  bool is_ipu() const { return type_ == DeviceType::IPU; }
  bool is_mtia() const { return type_ == DeviceType::MTIA; }
  bool is_privateuseone() const { return type_ == DeviceType::PrivateUse1; }
  void set_index(DeviceIndex index) { index_ = index; }
  /// "cuda:0", or "cuda" without an index. The first CPU device is "cpu" where it is the only one, otherwise "cpu:0".
  std::string str() const;
  /// CPU without an index is equal to cpu:0, and their hashes are equal: in LibTorch, where the CPU is one device, the
  /// device of a tensor has no index. CUDA without an index differs from cuda:0, as in LibTorch. On which device a
  /// tensor would be without an index, resolve() says.
  friend bool operator==(const Device& a, const Device& b) {
    return a.type_ == b.type_ && a.compared_index() == b.compared_index();
  }
  friend bool operator==(const Device& a, DeviceType type) {
    return a.type_ == type && a.compared_index() == (a.is_cpu() ? 0 : -1);
  }

 private:
  friend std::hash<Device>;
  DeviceIndex compared_index() const { return is_cpu() && index_ < 0 ? DeviceIndex{0} : index_; }

  DeviceType type_;
  DeviceIndex index_;
};

inline void append(std::string& out, const Device& device) { out.append(device.str()); }
/// "cpu", "cuda", "mps", …; in capitals unless `lower_case`. Throws Error for a number that is no type.
std::string DeviceTypeName(DeviceType type, bool lower_case = false);

/// `device` with an index: the current one if it has none. Throws Error if this process has no such device.
Device resolve(Device device);
/// Number of devices of that type (0 GPUs in a build without CUDA; 0 for types without tensors).
int device_count(DeviceType type);

/// Makes `device` current for the calling thread until the guard goes out of scope. Throws as resolve does.
class DeviceGuard {
 public:
  [[nodiscard]] explicit DeviceGuard(Device device);
  /// Makes another device of the same type current.
  void set_index(DeviceIndex index);
  void reset_device(Device device);
  Device original_device() const { return previous_; }
  Device current_device() const;
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device previous_;
};

}  // namespace tandem

/// @cond  Doxygen does not know namespace std.
template <>
struct std::hash<tandem::Device> {
  std::size_t operator()(const tandem::Device& device) const noexcept {
    return static_cast<std::size_t>(device.type()) * 256 + static_cast<uint8_t>(device.compared_index());
  }
};
/// @endcond
