// Logical devices: several devices on one CPU or one GPU.
#pragma once
#include "tandem/core/device.h"

namespace tandem {

/// Creates `count` (1 to 64) logical devices of a type; call it before that type is first used. The CPU
/// devices cpu:0 … share the cores, and their number may change as long as nothing runs on another device.
/// The device cuda:k uses GPU k modulo the number of GPUs, as with TANDEM_CUDA_DEVICES. Throws Error if
/// `count` is out of range, if there are no such devices, or if it is called too late.
void set_logical_devices(DeviceType type, int count);

}  // namespace tandem
