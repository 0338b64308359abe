// cuDNN's handles, and a convolution as an operation describes it.
#pragma once
#include <cudnn.h>

#include "tandem/tests/cuda_emulation/library.h"

struct cudnnContext {
  int gpu;
  cudaStream_t stream = nullptr;
};
namespace tandem::cuda_emulation {

/// n, channels and three spatial dimensions, the unused leading ones 1; strides in elements.
struct Strided {
  int64_t sizes[5], strides[5];
  int64_t count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]; }
};
/// Three to five dimensions as five: ones are inserted before the spatial dimensions.
template <class Size>
Strided five(const Size* sizes, const Size* strides, int dims) {
  Strided out{{1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}};
  for (int i = 0; i < dims; ++i) {
    const int to = i < 2 ? i : i + 5 - dims;
    out.sizes[to] = sizes[i];
    out.strides[to] = strides[i];
  }
  return out;
}

struct Convolution {
  ScalarType type = kFloat;
  bool tf32 = false;
  Strided x{}, w{}, y{};  // w: [out channels, in channels per group, …]
  int64_t groups = 1, pads[3] = {0, 0, 0}, strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1};
};

enum class Pass : uint8_t { kForward, kData, kFilter };
/// y, dx or dw = alpha * result + beta * old value. `reversed` runs the sums backwards, as engines without a fixed
/// order might.
struct Pointers {
  const void *a, *b;  // forward: x, w; data: dy, w; filter: x, dy
  void* out;
};
void run(const Convolution& c, Pass pass, const Pointers& p, double alpha, double beta, bool reversed);

/// Body of a cuDNN function. An injected cudaErrorNotSupported or cudaErrorMemoryAllocation is returned as
/// the corresponding cuDNN status.
template <class Body>
cudnnStatus_t dnn_call(const char* api, const void* object, Body&& body) {
  if (object == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  return library_call(
      api, CUDNN_STATUS_EXECUTION_FAILED, body, +[](cudaError_t fault) {
        return fault == cudaErrorNotSupported       ? CUDNN_STATUS_NOT_SUPPORTED
               : fault == cudaErrorMemoryAllocation ? CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
                                                    : CUDNN_STATUS_EXECUTION_FAILED;
      });
}
inline ScalarType dtype_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE     ? kDouble
         : type == CUDNN_DATA_HALF     ? kHalf
         : type == CUDNN_DATA_BFLOAT16 ? kBFloat16
                                       : kFloat;
}
/// Whether all elements are in memory of the current GPU.
bool tensor_usable(const Strided& t, const void* p, ScalarType type);

}  // namespace tandem::cuda_emulation
