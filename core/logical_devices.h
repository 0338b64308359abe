// Logical devices: several devices where there is one processor or one card.
#pragma once
#include "tandem/core/device.h"

namespace tandem {

/// Makes `count` (1 to 64) devices of a kind, before the first use of that kind. CPU: cpu:0 … share the
/// cores, and the number may be changed as long as nothing runs on another device. CUDA: cuda:k lives on card
/// k modulo the number of cards; as TANDEM_CUDA_DEVICES. Throws Error on another count, without such devices,
/// and when it is too late.
void set_logical_devices(DeviceType type, int count);

}  // namespace tandem
