// The profiler's span around a kernel's call. A Kernel's operator() opens one when a profile is being taken.
#pragma once
#include "tandem/core/profile.h"
#include "tandem/core/tensor.h"

namespace tandem {
struct Gradients;
struct Operand;
struct StreamHandle;
}  // namespace tandem

namespace tandem::profiler::detail {

/// What a span says of a kernel's arguments.
struct KernelArguments {
  const Tensor* tensors[8] = {};
  int tensor_count = 0;
  Device devices[2];
  int device_count = 0;
  std::size_t bytes = 0;

  void note(const Tensor& t);
  void note(const Operand& operand);
  void note(const StreamHandle& stream);
  void note(Device device);
  void note(std::size_t count) { bytes = count; }
  void note(TensorList tensors);
  void note(const Gradients& gradients);
  template <class T>
  void note(const T&) {}
};

/// The device on whose stream a kernel with these arguments runs; the CPU where they name no other.
Device device_of(const KernelArguments& arguments);

class KernelSpan {
 public:
  /// `queued`: of a device whose kernels return before their work is done, it is shown on the device's stream
  /// too.
  KernelSpan(const char* name, bool queued, const KernelArguments& arguments);
  ~KernelSpan();
  KernelSpan(const KernelSpan&) = delete;
  KernelSpan& operator=(const KernelSpan&) = delete;

 private:
  const char* name_;
  Open open_;
  char note_[48];
};

}  // namespace tandem::profiler::detail
