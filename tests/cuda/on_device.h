// Runs one kernel on the CPU and on a CUDA device, on the same strided tensors, and compares the storages.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/tolerance.h"

namespace tandem {

/// All elements of a tensor's storage as a 1-d tensor on `device`.
inline Tensor storage_on(const Tensor& t, Device device) {
  const std::size_t bytes = t.storage()->nbytes();
  const Tensor to = empty_raw({static_cast<int64_t>(bytes) / t.element_size()}, t.dtype(), device);
  const auto& runtime = backend(t.device().is_cuda() ? kCUDA : device.type()).runtime;
  runtime.copy_bytes(to.data_ptr(), device, t.storage()->data(), t.device(), bytes, false);
  return to;
}
inline Tensor on_host(const Tensor& t) {
  if (!t.defined()) return t;
  return alias(storage_on(t, Device("cpu:0")), t.sizes(), t.strides(), t.storage_offset());
}
/// The same tensor on a device: same sizes, strides and offset, and the same surrounding storage.
inline Tensor on_device(const Tensor& t) {
  if (!t.defined()) return t;
  return alias(storage_on(t, Device("cuda:0")), t.sizes(), t.strides(), t.storage_offset());
}

/// Calls run(table, out, in) on both devices; outputs go to copies. Returns the storages {CPU, CUDA}.
template <class Run>
std::vector<Tensor> both(const Tensor& out, const std::vector<Tensor>& in, Run run) {
  const Tensor here = on_host(out), there = on_device(out);
  std::vector<Tensor> moved;
  for (const Tensor& t : in) moved.push_back(on_device(t));
  run(backend(kCPU), here, in);
  run(backend(kCUDA), there, moved);
  tandem::synchronize(Device("cuda:0"));
  return {storage_on(here, Device("cpu:0")), storage_on(there, Device("cpu:0"))};
}

/// Checks for equal bits.
template <class Run>
void same_bits(const Tensor& out, const std::vector<Tensor>& in, Run run) {
  const auto results = both(out, in, run);
  CHECK(testing::identical(results[1], results[0]));
}

/// Checks for equality up to rounding.
template <class Run>
void nearly_same(const Tensor& out, const std::vector<Tensor>& in, double tolerance, Run run) {
  const auto results = both(out, in, run);
  std::string why;
  const bool close = testing::close(results[1], results[0], unless_strict(tolerance), &why);
  CHECK_MESSAGE(close, why);
}

}  // namespace tandem
