// cuDNN's objects, and a convolution as described by its descriptors.
#pragma once
#include <cudnn.h>

#include "tandem/tests/cuda_emulation/library.h"

inline constexpr int kMaxTensorDims = 8;

struct cudnnContext {
  int gpu;
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int dims = 0;  // 0: not set
  int sizes[kMaxTensorDims], strides[kMaxTensorDims];
};
struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int dims = 0;
  int sizes[kMaxTensorDims];
};
struct cudnnConvolutionStruct {
  int dims = 0;
  int pads[kMaxTensorDims], strides[kMaxTensorDims], dilations[kMaxTensorDims];
  cudnnConvolutionMode_t mode;
  cudnnDataType_t type;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  double coefficient = 0;
};

namespace tandem::cuda_emulation {

/// n, channels and three spatial dimensions, the unused leading ones 1; strides in elements.
struct Strided {
  int64_t sizes[5], strides[5];
  int64_t count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]; }
};
Strided strided(const cudnnTensorStruct& t);

struct Convolution {
  ScalarType type;
  bool tf32;
  Strided x, w, y;  // w: [out channels, in channels per group, …]
  int64_t groups, pads[3], strides[3], dilations[3];
};
/// Checks the descriptors against each other.
cudnnStatus_t describe(const cudnnTensorStruct* x, const cudnnFilterStruct* w, const cudnnConvolutionStruct* conv,
                       const cudnnTensorStruct* y, Convolution& out);
/// Output size along one spatial dimension.
int64_t output_size(const cudnnConvolutionStruct& conv, int dim, int64_t input, int64_t kernel);

enum class Pass : uint8_t { kForward, kData, kFilter };
/// y, dx or dw = alpha * result + beta * old value. `reversed` runs the sums backwards, as algorithms without
/// a fixed order might.
struct Pointers {
  const void *a, *b;  // forward: x, w; data: dy, w; filter: x, dy
  void* out;
};
void run(const Convolution& c, Pass pass, const Pointers& p, double alpha, double beta, bool reversed);

/// Body of a cuDNN function. An injected cudaErrorNotSupported or cudaErrorMemoryAllocation is returned as
/// the corresponding cuDNN status.
template <class Body>
cudnnStatus_t dnn_call(const char* api, cudnnHandle_t handle, Body&& body) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
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
inline double scalar(const void* p, cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(p) : *static_cast<const float*>(p);
}
/// Whether all elements are in memory of the current GPU.
bool tensor_usable(const Strided& t, const void* p, ScalarType type);

}  // namespace tandem::cuda_emulation
