// Compares operations and their gradients on the CPU and on CUDA, to the bit (TANDEM_REPRODUCIBLE=strict).
#pragma once
#include "tandem/core/reproducible.h"
#include "tandem/tests/cuda/compare_devices.h"

namespace tandem {

using testing::Tensors;

/// False, with a message, unless there is a device and strict mode is on.
inline bool is_strict_device() {
  if (reproducible() == Reproducible::kStrict) return has_devices(1);
  MESSAGE("skipped: needs TANDEM_REPRODUCIBLE=strict");
  return false;
}

/// Checks that f(inputs), a tensor, and the gradients of the inputs that are floating-point have the same bits on both
/// devices. Inputs keep their strides; `gradients` false leaves the gradients out.
template <class F>
void same(F f, const Tensors& inputs, bool gradients = true) {
  Tensors results[2];
  Tensor cotangent;
  for (const bool device : {false, true}) {
    Tensors leaves;
    for (const Tensor& input : inputs) {
      const Tensor leaf = device ? to_cuda(input.detach()) : input.detach();
      leaves.push_back(leaf);
      if (gradients && leaf.defined() && leaf.is_floating_point()) leaves.back().requires_grad_(true);
    }
    const Tensor out = f(leaves);
    results[device].push_back(out.detach().cpu());
    if (!gradients || !out.requires_grad()) continue;
    if (!cotangent.defined()) cotangent = randn(out.sizes()).to(out.dtype());
    out.backward(device ? to_cuda(cotangent) : cotangent);
    for (const Tensor& leaf : leaves)
      if (leaf.defined() && leaf.grad().defined()) results[device].push_back(leaf.grad().cpu());
  }
  REQUIRE(results[0].size() == results[1].size());
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    CAPTURE(i);
    CHECK(testing::identical(results[1][i].contiguous(), results[0][i].contiguous()));
  }
}

}  // namespace tandem
