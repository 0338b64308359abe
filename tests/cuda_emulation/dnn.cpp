// cuDNN: handles, descriptors, status texts.
#include "tandem/tests/cuda_emulation/dnn.h"

#include <algorithm>

namespace tandem::cuda_emulation {
namespace {

bool known(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
         type == CUDNN_DATA_BFLOAT16;
}
bool positive(const int* values, int count) {
  return std::all_of(values, values + count, [](int v) { return v > 0; });
}

// Strides of dense dimensions: channels last for NHWC, in the order of the sizes for NCHW.
void dense_strides(const int* sizes, int dims, cudnnTensorFormat_t format, int64_t* strides) {
  int64_t step = 1;
  if (format == CUDNN_TENSOR_NHWC) {
    strides[1] = 1;
    step = sizes[1];
    for (int i = dims; i-- > 2; step *= sizes[i]) strides[i] = step;
    strides[0] = step;
    return;
  }
  for (int i = dims; i-- > 0; step *= sizes[i]) strides[i] = step;
}

cudnnStatus_t set(cudnnTensorDescriptor_t t, cudnnDataType_t type, int dims, const int* sizes, const int* strides) {
  if (t == nullptr || sizes == nullptr || strides == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!known(type)) return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  if (dims < 3 || dims > kMaxTensorDims) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!positive(sizes, dims) || !positive(strides, dims)) return CUDNN_STATUS_BAD_PARAM;
  t->type = type;
  t->dims = dims;
  std::copy(sizes, sizes + dims, t->sizes);
  std::copy(strides, strides + dims, t->strides);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t set_dense(cudnnTensorDescriptor_t t, cudnnDataType_t type, cudnnTensorFormat_t format, int dims,
                        const int* sizes) {
  if (format == CUDNN_TENSOR_NCHW_VECT_C) return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
  if (dims < 3 || dims > kMaxTensorDims) return CUDNN_STATUS_NOT_SUPPORTED;
  int64_t wide[kMaxTensorDims];
  int strides[kMaxTensorDims];
  dense_strides(sizes, dims, format, wide);
  std::transform(wide, wide + dims, strides, [](int64_t s) { return static_cast<int>(s); });
  return set(t, type, dims, sizes, strides);
}
}  // namespace

Strided strided(const cudnnTensorStruct& t) { return five(t.sizes, t.strides, t.dims); }

bool tensor_usable(const Strided& t, const void* p, ScalarType type) {
  int64_t last = 0;
  for (int i = 0; i < 5; ++i) last += (t.sizes[i] - 1) * t.strides[i];
  return elements_usable(p, last + 1, static_cast<std::size_t>(item_size(type)));
}

}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
namespace {
template <class T>
cudnnStatus_t create(T** out) {
  if (out == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *out = new T{};
  return CUDNN_STATUS_SUCCESS;
}
template <class T>
cudnnStatus_t destroy(T* object) {
  delete object;
  return CUDNN_STATUS_SUCCESS;
}
}  // namespace

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER:
      return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED:
      return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT:
      return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH:
      return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER:
      return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES:
      return "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES";
    case CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE:
      return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    case CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE:
      return "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE:
      return "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE";
    case CUDNN_STATUS_NOT_SUPPORTED_LAYOUT:
      return "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size > 0) message[0] = 0;
}
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUDNN_MAJOR : type == MINOR_VERSION ? CUDNN_MINOR : CUDNN_PATCHLEVEL;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return library_call("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED, [&] {
    *handle = new cudnnContext{host_thread().gpu};
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return dnn_call("cudnnSetStream", handle, [&] {
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* t) { return create(t); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t t) { return destroy(t); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t t, cudnnTensorFormat_t format, cudnnDataType_t type,
                                         int n, int c, int h, int w) {
  const int sizes[] = {n, c, h, w};
  return set_dense(t, type, format, 4, sizes);
}
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t t, cudnnDataType_t type, int n, int c, int h, int w,
                                           int n_stride, int c_stride, int h_stride, int w_stride) {
  const int sizes[] = {n, c, h, w}, strides[] = {n_stride, c_stride, h_stride, w_stride};
  return set(t, type, 4, sizes, strides);
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int dims, const int sizes[],
                                         const int strides[]) {
  return set(t, type, dims, sizes, strides);
}
cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t t, cudnnTensorFormat_t format, cudnnDataType_t type,
                                           int dims, const int sizes[]) {
  return set_dense(t, type, format, dims, sizes);
}

}  // extern "C"
