// Spinning before sleeping: the kernels of a small model follow each other so closely that waking a thread
// would take longer than the wait.
#pragma once

namespace tandem {

/// Spins for `ready()`, by default for at most some tens of microseconds; returns whether it became true.
template <class Ready>
bool spin_until(const Ready& ready, int most = 2000) {
  for (int spins = 0; spins < most; ++spins) {
    if (ready()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

}  // namespace tandem
