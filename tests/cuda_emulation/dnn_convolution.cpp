// cuDNN: algorithm selection, workspaces, the three passes. The fastest backward algorithms offered are those
// without a fixed order of sums, and their results show it.
#include <algorithm>
#include <iterator>

#include "tandem/tests/cuda_emulation/dnn.h"

namespace tandem::cuda_emulation {
namespace {

struct Offer {
  int algorithm;
  bool works, fixed_order;
  std::size_t workspace;
};
constexpr std::size_t kPage = 4096;
constexpr Offer kForward[] = {{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, true, true, 4 * kPage},
                              {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, true, true, kPage},
                              {CUDNN_CONVOLUTION_FWD_ALGO_FFT, false, true, 0}};
constexpr Offer kData[] = {{CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, true, false, kPage},
                           {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, true, true, 4 * kPage},
                           {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, false, true, 0}};
constexpr Offer kFilter[] = {{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, true, false, kPage},
                             {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, true, true, 4 * kPage},
                             {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, false, true, 0}};

const Offer* offers(Pass pass) { return pass == Pass::kForward ? kForward : pass == Pass::kData ? kData : kFilter; }
const Offer* find(Pass pass, int algorithm) {
  const Offer* all = offers(pass);
  for (int i = 0; i < 3; ++i)
    if (all[i].algorithm == algorithm) return all[i].works ? &all[i] : nullptr;
  return nullptr;
}

template <class Perf>
cudnnStatus_t offer(Pass pass, const cudnnConvolutionStruct* conv, int requested, int* returned, Perf* results) {
  if (returned == nullptr || results == nullptr || requested < 1) return CUDNN_STATUS_BAD_PARAM;
  *returned = std::min(requested, 3);
  for (int i = 0; i < *returned; ++i) {
    const Offer& one = offers(pass)[i];
    results[i] = {};
    results[i].algo = static_cast<decltype(results[i].algo)>(one.algorithm);
    results[i].status = one.works ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
    results[i].time = one.works ? 0.1f * static_cast<float>(i + 1) : -1.0f;
    results[i].memory = one.workspace;
    results[i].determinism = one.fixed_order ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    results[i].mathType = conv->math;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t workspace_size(Pass pass, int algorithm, std::size_t* bytes) {
  const Offer* one = find(pass, algorithm);
  if (one == nullptr) return CUDNN_STATUS_NOT_SUPPORTED;
  *bytes = one->workspace;
  return CUDNN_STATUS_SUCCESS;
}

struct Descriptors {
  cudnnTensorDescriptor_t x;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t conv;
  cudnnTensorDescriptor_t y;
};
struct Workspace {
  void* data;
  std::size_t bytes;
};
struct Scale {
  const void *alpha, *beta;
};

cudnnStatus_t check_workspace(const Workspace& space, const Offer& one, int gpu) {
  if (space.bytes < one.workspace) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  return usable(space.data, space.bytes, gpu) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

// The three operands of the pass, in the order of Pointers.
bool operands_usable(const Convolution& c, Pass pass, const Pointers& p) {
  const void *x = pass == Pass::kData ? p.out : p.a, *w = pass == Pass::kFilter ? p.out : p.b;
  const void* y = pass == Pass::kForward ? p.out : pass == Pass::kData ? p.a : p.b;
  return tensor_usable(c.x, x, c.type) && tensor_usable(c.w, w, c.type) && tensor_usable(c.y, y, c.type);
}

cudnnStatus_t enqueue_convolution(cudnnHandle_t handle, const char* operation, Pass pass, const Descriptors& d,
                                  const Pointers& p, int algorithm, const Workspace& space, const Scale& scale) {
  Convolution c;
  cudnnStatus_t status = describe(d.x, d.w, d.conv, d.y, c);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (scale.alpha == nullptr || scale.beta == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const Offer* one = find(pass, algorithm);
  if (one == nullptr) return CUDNN_STATUS_NOT_SUPPORTED;
  status = check_workspace(space, *one, handle->gpu);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (handle->gpu != host_thread().gpu || !operands_usable(c, pass, p)) return CUDNN_STATUS_EXECUTION_FAILED;
  const double alpha = scalar(scale.alpha, d.x->type), beta = scalar(scale.beta, d.x->type);
  const bool reversed = !one->fixed_order && state().counters.library_calls % 2 != 0;
  const bool queued = enqueue_library(handle->stream, operation,
                                      [c, pass, p, alpha, beta, reversed, data = space.data, bytes = one->workspace] {
                                        clobber(data, bytes);
                                        run(c, pass, p, alpha, beta, reversed);
                                      });
  return queued ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

// Searches algorithms immediately, on the given buffers.
template <class Perf>
cudnnStatus_t search(const char* api, cudnnHandle_t handle, Pass pass, const Descriptors& d, const Pointers& p,
                     const Workspace& space, int requested, int* returned, Perf* results) {
  return dnn_call(api, handle, [&]() -> cudnnStatus_t {
    Convolution c;
    const cudnnStatus_t status = describe(d.x, d.w, d.conv, d.y, c);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    if (unsafe_in_capture() != cudaSuccess) return CUDNN_STATUS_EXECUTION_FAILED;
    const float one_float = 1, zero_float = 0;
    const double one = 1, zero = 0;
    const Scale scale = c.type == kDouble ? Scale{&one, &zero} : Scale{&one_float, &zero_float};
    const int algorithm = offers(pass)[1].algorithm;
    if (space.bytes >= offers(pass)[1].workspace) {
      const cudnnStatus_t run_status = enqueue_convolution(handle, api, pass, d, p, algorithm, space, scale);
      if (run_status != CUDNN_STATUS_SUCCESS) return run_status;
      drain(find_stream(handle->stream));
    }
    return offer(pass, d.conv, requested, returned, results);
  });
}

template <class Perf>
cudnnStatus_t heuristic(Pass pass, const Descriptors& d, int requested, int* returned, Perf* results) {
  Convolution c;
  const cudnnStatus_t status = describe(d.x, d.w, d.conv, d.y, c);
  return status != CUDNN_STATUS_SUCCESS ? status : offer(pass, d.conv, requested, returned, results);
}
cudnnStatus_t workspace_size(Pass pass, const Descriptors& d, int algorithm, std::size_t* bytes) {
  Convolution c;
  const cudnnStatus_t status = describe(d.x, d.w, d.conv, d.y, c);
  return status != CUDNN_STATUS_SUCCESS ? status : workspace_size(pass, algorithm, bytes);
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t, int* count) {
  *count = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t, int* count) {
  *count = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t, int* count) {
  *count = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t conv,
                                                     const cudnnTensorDescriptor_t y, const int requested,
                                                     int* returned, cudnnConvolutionFwdAlgoPerf_t* results) {
  return heuristic(Pass::kForward, {x, w, conv, y}, requested, returned, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                          const cudnnTensorDescriptor_t dy,
                                                          const cudnnConvolutionDescriptor_t conv,
                                                          const cudnnTensorDescriptor_t dx, const int requested,
                                                          int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return heuristic(Pass::kData, {dx, w, conv, dy}, requested, returned, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                            const cudnnTensorDescriptor_t dy,
                                                            const cudnnConvolutionDescriptor_t conv,
                                                            const cudnnFilterDescriptor_t dw, const int requested,
                                                            int* returned,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return heuristic(Pass::kFilter, {x, dw, conv, dy}, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_d,
                                                     const void* x, const cudnnFilterDescriptor_t w_d, const void* w,
                                                     const cudnnConvolutionDescriptor_t conv,
                                                     const cudnnTensorDescriptor_t y_d, void* y, const int requested,
                                                     int* returned, cudnnConvolutionFwdAlgoPerf_t* results, void* space,
                                                     size_t bytes) {
  return search("cudnnFindConvolutionForwardAlgorithmEx", handle, Pass::kForward, {x_d, w_d, conv, y_d}, {x, w, y},
                {space, bytes}, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w_d, const void* w, const cudnnTensorDescriptor_t dy_d,
    const void* dy, const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx_d, void* dx,
    const int requested, int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results, void* space, size_t bytes) {
  return search("cudnnFindConvolutionBackwardDataAlgorithmEx", handle, Pass::kData, {dx_d, w_d, conv, dy_d},
                {dy, w, dx}, {space, bytes}, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_d, const void* x, const cudnnTensorDescriptor_t dy_d,
    const void* dy, const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw_d, void* dw,
    const int requested, int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results, void* space, size_t bytes) {
  return search("cudnnFindConvolutionBackwardFilterAlgorithmEx", handle, Pass::kFilter, {x_d, dw_d, conv, dy_d},
                {x, dy, dw}, {space, bytes}, requested, returned, results);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t conv,
                                                      const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algo,
                                                      size_t* bytes) {
  return workspace_size(Pass::kForward, {x, w, conv, y}, algo, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                           const cudnnTensorDescriptor_t dy,
                                                           const cudnnConvolutionDescriptor_t conv,
                                                           const cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algo, size_t* bytes) {
  return workspace_size(Pass::kData, {dx, w, conv, dy}, algo, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                             const cudnnTensorDescriptor_t dy,
                                                             const cudnnConvolutionDescriptor_t conv,
                                                             const cudnnFilterDescriptor_t dw,
                                                             cudnnConvolutionBwdFilterAlgo_t algo, size_t* bytes) {
  return workspace_size(Pass::kFilter, {x, dw, conv, dy}, algo, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_d,
                                      const void* x, const cudnnFilterDescriptor_t w_d, const void* w,
                                      const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo,
                                      void* space, size_t bytes, const void* beta, const cudnnTensorDescriptor_t y_d,
                                      void* y) {
  return dnn_call("cudnnConvolutionForward", handle, [&] {
    return enqueue_convolution(handle, "cudnnConvolutionForward", Pass::kForward, {x_d, w_d, conv, y_d}, {x, w, y},
                               algo, {space, bytes}, {alpha, beta});
  });
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, const cudnnFilterDescriptor_t w_d,
                                           const void* w, const cudnnTensorDescriptor_t dy_d, const void* dy,
                                           const cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algo,
                                           void* space, size_t bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx_d, void* dx) {
  return dnn_call("cudnnConvolutionBackwardData", handle, [&] {
    return enqueue_convolution(handle, "cudnnConvolutionBackwardData", Pass::kData, {dx_d, w_d, conv, dy_d},
                               {dy, w, dx}, algo, {space, bytes}, {alpha, beta});
  });
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_d,
                                             const void* x, const cudnnTensorDescriptor_t dy_d, const void* dy,
                                             const cudnnConvolutionDescriptor_t conv,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void* space, size_t bytes,
                                             const void* beta, const cudnnFilterDescriptor_t dw_d, void* dw) {
  return dnn_call("cudnnConvolutionBackwardFilter", handle, [&] {
    return enqueue_convolution(handle, "cudnnConvolutionBackwardFilter", Pass::kFilter, {x_d, dw_d, conv, dy_d},
                               {x, dy, dw}, algo, {space, bytes}, {alpha, beta});
  });
}

}  // extern "C"
