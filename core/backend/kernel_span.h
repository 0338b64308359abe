// The profiler's span around a kernel call. Kernel::operator() opens one while a profile is running.
#pragma once
#include "tandem/core/profile.h"
#include "tandem/core/tensor.h"

namespace tandem {
struct Gradients;
struct Operand;
struct StreamHandle;
}  // namespace tandem

namespace tandem::profiler::detail {

/// What a span reports about a kernel's arguments.
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

/// The device whose stream runs a kernel with these arguments; the CPU unless they name another.
Device device_of(const KernelArguments& arguments);

class KernelSpan {
 public:
  /// `queued`: also show the span on the device's stream, if the device's kernels return before their work is
  /// done.
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
