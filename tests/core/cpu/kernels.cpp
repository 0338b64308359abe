// Prints what the CPU backend computes with, after one operation, or with an argument after one of Eigen's; for
// kernels_test.py.
#include <cstdio>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/tandem.h"

int main(int argc, char**) {
  try {
    const tandem::Tensor x = argc > 1 ? tandem::linalg_inv(tandem::eye(3)) : tandem::ones({3});
    const bool right = x.sum().item<float>() == 3;
    for (const std::string& part : tandem::cpu_backend().runtime.computes_with()) std::puts(part.c_str());
    return right ? 0 : 1;
  } catch (const tandem::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
