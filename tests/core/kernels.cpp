// Prints what the CPU backend computes with, after one operation; for kernels_test.py.
#include <cstdio>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/tandem.h"

int main() {
  try {
    const bool right = tandem::ones({3}).sum().item<float>() == 3;
    for (const std::string& part : tandem::cpu_backend().runtime.computes_with()) std::puts(part.c_str());
    return right ? 0 : 1;
  } catch (const tandem::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
