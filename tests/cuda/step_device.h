// The device of the tests of captured steps, which are compiled for a GPU and for the CPU.
#pragma once
#include "tandem/tests/cuda/skip.h"

namespace tandem {
#ifdef TANDEM_STEPS_ON_CPU
inline const Device kDevice(kCPU, 0);
inline bool has_step_device() { return true; }
#else
inline const Device kDevice(kCUDA, 0);
inline bool has_step_device() { return has_devices(1); }
#endif
}  // namespace tandem
