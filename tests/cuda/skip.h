// Skips tests that need more CUDA devices than there are, with a message.
#pragma once
#include <doctest/doctest.h>

#include <string>

#include "tandem/core/backend/backend.h"

namespace tandem {
/// Returns false and prints a message if there are fewer than `count` CUDA devices.
inline bool has_devices(int count) {
  if (device_count(kCUDA) >= count) return true;
  if (device_count(kCUDA) == 0)
    MESSAGE("skipped: ", std::string(cuda_reason()));
  else
    MESSAGE("skipped: needs ", count, " CUDA devices (TANDEM_CUDA_DEVICES=", count, ")");
  return false;
}
}  // namespace tandem
