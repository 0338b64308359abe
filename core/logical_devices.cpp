// The CPU can be repartitioned at any time. GPUs are counted once, so their number must be set before that.
#include "tandem/core/logical_devices.h"

#include <cstdlib>

#include "tandem/core/backend/backend.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem {

void set_logical_devices(DeviceType type, int count) {
  if (type == kCPU) return cpu::set_device_count(count);
  check(count >= 1 && count <= 64, "set_logical_devices: expected 1 to 64, got ", count);
  setenv("TANDEM_CUDA_DEVICES", std::to_string(count).c_str(), 1);
  if (cuda_backend() == nullptr) no_cuda();
  check(device_count(kCUDA) == count, "set_logical_devices: ", device_count(kCUDA),
        " CUDA devices are already in use; set TANDEM_CUDA_DEVICES=", count, " before the program starts");
}

}  // namespace tandem
