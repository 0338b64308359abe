// Device: a type and an index. cpu:k are logical devices that share the cores; cuda:k are GPUs.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/core/error.h"

namespace tandem {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;

class Device {
 public:
  /// Index -1 means the current device of that type.
  Device(DeviceType type = DeviceType::CPU, DeviceIndex index = -1) : type_(type), index_(index) {}
  /// "cpu", "cpu:1", "cuda", "cuda:0". Throws Error on anything else, with a suggestion for a likely typo.
  Device(std::string_view text);
  Device(const std::string& text) : Device(std::string_view(text)) {}
  Device(const char* text) : Device(std::string_view(text)) {}

  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  /// "cpu:0", or "cuda" without an index.
  std::string str() const;
  friend bool operator==(const Device& a, const Device& b) {
    return a.type_ == b.type_ && a.index_ == b.index_;
  }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

inline void append(std::string& out, const Device& device) { out.append(device.str()); }

/// `device` with an index: the current one if it has none. Throws Error if this process has no such device.
Device resolve(Device device);
/// Number of devices of that type (0 GPUs in a build without CUDA).
int device_count(DeviceType type);

/// Makes `device` current for the calling thread until the guard goes out of scope. Throws as resolve does.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device previous_;
};

}  // namespace tandem
