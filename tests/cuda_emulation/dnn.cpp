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
cudnnStatus_t set(cudnnFilterDescriptor_t f, cudnnDataType_t type, cudnnTensorFormat_t format, int dims,
                  const int* sizes) {
  if (f == nullptr || sizes == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!known(type)) return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  if (dims < 3 || dims > 5) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!positive(sizes, dims)) return CUDNN_STATUS_BAD_PARAM;
  f->type = type;
  f->format = format;
  f->dims = dims;
  std::copy(sizes, sizes + dims, f->sizes);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t set(cudnnConvolutionDescriptor_t c, int dims, const int* pads, const int* strides, const int* dilations,
                  cudnnConvolutionMode_t mode, cudnnDataType_t type) {
  if (c == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (dims < 1 || dims > 3 || !known(type)) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!positive(strides, dims) || !positive(dilations, dims)) return CUDNN_STATUS_BAD_PARAM;
  if (std::any_of(pads, pads + dims, [](int p) { return p < 0; })) return CUDNN_STATUS_BAD_PARAM;
  c->dims = dims;
  std::copy(pads, pads + dims, c->pads);
  std::copy(strides, strides + dims, c->strides);
  std::copy(dilations, dilations + dims, c->dilations);
  c->mode = mode;
  c->type = type;
  return CUDNN_STATUS_SUCCESS;
}

// Extends three to five dimensions to five by inserting ones before the spatial dimensions.
template <class Sizes, class Strides>
Strided five(const Sizes* sizes, const Strides* strides, int dims) {
  Strided out{{1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}};
  for (int i = 0; i < dims; ++i) {
    const int to = i < 2 ? i : i + 5 - dims;
    out.sizes[to] = sizes[i];
    out.strides[to] = strides[i];
  }
  return out;
}

}  // namespace

Strided strided(const cudnnTensorStruct& t) { return five(t.sizes, t.strides, t.dims); }

int64_t output_size(const cudnnConvolutionStruct& conv, int dim, int64_t input, int64_t kernel) {
  const int64_t reach = (kernel - 1) * conv.dilations[dim] + 1, room = input + 2 * conv.pads[dim] - reach;
  return room < 0 ? 0 : room / conv.strides[dim] + 1;
}

cudnnStatus_t describe(const cudnnTensorStruct* x, const cudnnFilterStruct* w, const cudnnConvolutionStruct* conv,
                       const cudnnTensorStruct* y, Convolution& out) {
  if (x == nullptr || w == nullptr || conv == nullptr || y == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (x->dims == 0 || w->dims == 0 || conv->dims == 0) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  if (x->type != w->type || x->type != y->type) return CUDNN_STATUS_BAD_PARAM;
  const cudnnDataType_t sums = x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  if (conv->type != sums || conv->mode != CUDNN_CROSS_CORRELATION) return CUDNN_STATUS_NOT_SUPPORTED;
  if (x->dims > 5 || x->dims != w->dims || x->dims != y->dims || conv->dims != x->dims - 2)
    return CUDNN_STATUS_BAD_PARAM;
  int64_t w_strides[kMaxTensorDims];
  dense_strides(w->sizes, w->dims, w->format, w_strides);
  out = {dtype_of(x->type),
         x->type == CUDNN_DATA_FLOAT && conv->math != CUDNN_FMA_MATH,
         strided(*x),
         five(w->sizes, w_strides, w->dims),
         strided(*y),
         conv->groups,
         {},
         {1, 1, 1},
         {1, 1, 1}};
  for (int i = 0; i < conv->dims; ++i) {
    const int to = i + 3 - conv->dims;
    out.pads[to] = conv->pads[i], out.strides[to] = conv->strides[i], out.dilations[to] = conv->dilations[i];
    if (output_size(*conv, i, x->sizes[i + 2], w->sizes[i + 2]) != y->sizes[i + 2])
      return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  const bool channels = out.x.sizes[1] == out.w.sizes[1] * out.groups && out.w.sizes[0] % out.groups == 0;
  const bool outputs = out.y.sizes[0] == out.x.sizes[0] && out.y.sizes[1] == out.w.sizes[0];
  return channels && outputs ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
}

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

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* f) { return create(f); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t f) { return destroy(f); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t f, cudnnDataType_t type, cudnnTensorFormat_t format,
                                         int k, int c, int h, int w) {
  const int sizes[] = {k, c, h, w};
  return set(f, type, format, 4, sizes);
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t f, cudnnDataType_t type, cudnnTensorFormat_t format,
                                         int dims, const int sizes[]) {
  return set(f, type, format, dims, sizes);
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* c) { return create(c); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t c) { return destroy(c); }
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t c, int pad_h, int pad_w, int stride_h,
                                              int stride_w, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type) {
  const int pads[] = {pad_h, pad_w}, strides[] = {stride_h, stride_w}, dilations[] = {dilation_h, dilation_w};
  return set(c, 2, pads, strides, dilations, mode, type);
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t c, int dims, const int pads[],
                                              const int strides[], const int dilations[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type) {
  return set(c, dims, pads, strides, dilations, mode, type);
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int groups) {
  if (groups < 1) return CUDNN_STATUS_BAD_PARAM;
  c->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t c, cudnnMathType_t math) {
  c->math = math;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t, cudnnReorderType_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t c,
                                                    const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
                                                    int dims, int sizes[]) {
  if (dims != x->dims || dims != w->dims || dims != c->dims + 2) return CUDNN_STATUS_BAD_PARAM;
  if (x->sizes[1] != w->sizes[1] * c->groups) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  sizes[0] = x->sizes[0];
  sizes[1] = w->sizes[0];
  for (int i = 2; i < dims; ++i) {
    sizes[i] = static_cast<int>(output_size(*c, i - 2, x->sizes[i], w->sizes[i]));
    if (sizes[i] < 1) return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t c,
                                                    const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
                                                    int* n, int* k, int* h, int* width) {
  int sizes[4] = {};
  const cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(c, x, w, 4, sizes);
  *n = sizes[0], *k = sizes[1], *h = sizes[2], *width = sizes[3];
  return status;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* a) { return create(a); }
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t a) { return destroy(a); }
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t a, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t, double coefficient) {
  a->mode = mode;
  a->coefficient = coefficient;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
