// cuBLAS: handles and general matrix products in float and double.
#include <cublas_v2.h>

#include "tandem/tests/cuda_emulation/library.h"

struct cublasContext {
  int gpu;
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

namespace tandem::cuda_emulation {
namespace {

constexpr std::size_t kClobbered = 4096;

template <class Body>
cublasStatus_t blas_call(const char* api, cublasHandle_t handle, Body&& body) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return library_call(api, CUBLAS_STATUS_EXECUTION_FAILED, body);
}

bool possible(cublasOperation_t op) { return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

cublasStatus_t enqueue_gemm(cublasHandle_t handle, const char* operation, const Gemm& gemm) {
  if (!valid(gemm)) return CUBLAS_STATUS_INVALID_VALUE;
  if (handle->gpu != host_thread().gpu || !usable(gemm)) return CUBLAS_STATUS_EXECUTION_FAILED;
  const bool queued =
      enqueue_library(handle->stream, operation,
                      [gemm, workspace = handle->workspace, bytes = std::min(handle->workspace_bytes, kClobbered)] {
                        clobber(workspace, bytes);
                        run(gemm);
                      });
  return queued ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

struct Shape {
  cublasOperation_t ta, tb;
  int m, n, k;
};
struct Scales {
  const void *alpha, *beta;
};
struct Batch {
  long long a = 0, b = 0, c = 0;
  int count = 1;
};

// T is the type of the sums and the scales, S that of the operands.
template <class T, class S = T>
cublasStatus_t gemm(cublasHandle_t handle, const char* api, const Shape& s, const Scales& scales, const void* a,
                    int lda, const void* b, int ldb, void* c, int ldc, const Batch& batch, bool tf32 = false) {
  return blas_call(api, handle, [&] {
    if (!possible(s.ta) || !possible(s.tb) || scales.alpha == nullptr || scales.beta == nullptr)
      return CUBLAS_STATUS_INVALID_VALUE;
    if (handle->pointers != CUBLAS_POINTER_MODE_HOST) return CUBLAS_STATUS_NOT_SUPPORTED;
    Gemm g;
    g.type = scalar_type_of<S>;
    g.tf32 = tf32 || (handle->math & CUBLAS_TF32_TENSOR_OP_MATH) != 0;
    g.m = s.m, g.n = s.n, g.k = s.k, g.batch = batch.count;
    g.alpha = *static_cast<const T*>(scales.alpha), g.beta = *static_cast<const T*>(scales.beta);
    g.a = {a, lda, batch.a, s.ta != CUBLAS_OP_N};
    g.b = {b, ldb, batch.b, s.tb != CUBLAS_OP_N};
    g.c = {c, ldc, batch.c, false};
    g.d = c, g.ldd = ldc, g.stride_d = batch.c;
    return enqueue_gemm(handle, api, g);
  });
}

// Dispatches on a valid combination of operand and compute types. `run` gets values of the compute and the operand type,
// and whether TF32 is requested.
template <class Run>
cublasStatus_t by_type(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute, Run run) {
  if (a != b || b != c) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool f32 = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  const bool f64 = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
  if (a == CUDA_R_32F && f32) return run(float{}, float{}, false);
  if (a == CUDA_R_32F && compute == CUBLAS_COMPUTE_32F_FAST_TF32) return run(float{}, float{}, true);
  if (a == CUDA_R_64F && f64) return run(double{}, double{}, false);
  if (a == CUDA_R_16F && f32) return run(float{}, Half{}, false);
  if (a == CUDA_R_16BF && f32) return run(float{}, BFloat16{}, false);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return library_call("cublasCreate", CUBLAS_STATUS_NOT_INITIALIZED, [&] {
    *handle = new cublasContext{.gpu = host_thread().gpu};
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
/// As in the real library, this resets the workspace to the default one.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return blas_call("cublasSetStream", handle, [&] {
    handle->stream = stream;
    handle->workspace = nullptr;
    handle->workspace_bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  return blas_call("cublasSetWorkspace", handle, [&] {
    if (bytes > 0 && reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (!usable(workspace, bytes, handle->gpu)) return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return blas_call("cublasSetMathMode", handle, [&] {
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->pointers = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : type == MINOR_VERSION ? CUBLAS_VER_MINOR : CUBLAS_VER_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
}
const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    default:
      return "unknown error";
  }
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta,
                              float* c, int ldc) {
  return gemm<float>(h, "cublasSgemm", {ta, tb, m, n, k}, {alpha, beta}, a, lda, b, ldb, c, ldc, {});
}
cublasStatus_t cublasDgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              const double* alpha, const double* a, int lda, const double* b, int ldb,
                              const double* beta, double* c, int ldc) {
  return gemm<double>(h, "cublasDgemm", {ta, tb, m, n, k}, {alpha, beta}, a, lda, b, ldb, c, ldc, {});
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                                         int k, const float* alpha, const float* a, int lda, long long sa,
                                         const float* b, int ldb, long long sb, const float* beta, float* c, int ldc,
                                         long long sc, int count) {
  return gemm<float>(h, "cublasSgemmStridedBatched", {ta, tb, m, n, k}, {alpha, beta}, a, lda, b, ldb, c, ldc,
                     {sa, sb, sc, count});
}
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                                         int k, const double* alpha, const double* a, int lda, long long sa,
                                         const double* b, int ldb, long long sb, const double* beta, double* c, int ldc,
                                         long long sc, int count) {
  return gemm<double>(h, "cublasDgemmStridedBatched", {ta, tb, m, n, k}, {alpha, beta}, a, lda, b, ldb, c, ldc,
                      {sa, sb, sc, count});
}
cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
  return by_type(a_type, b_type, c_type, compute, [&]<class T, class S>(T, S, bool tf32) {
    return gemm<T, S>(h, "cublasGemmEx", {ta, tb, m, n, k}, {alpha, beta}, a, lda, b, ldb, c, ldc, {}, tf32);
  });
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                                          int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long sa, const void* b, cudaDataType b_type, int ldb, long long sb,
                                          const void* beta, void* c, cudaDataType c_type, int ldc, long long sc,
                                          int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return by_type(a_type, b_type, c_type, compute, [&]<class T, class S>(T, S, bool tf32) {
    return gemm<T, S>(h, "cublasGemmStridedBatchedEx", {ta, tb, m, n, k}, {alpha, beta}, a, lda, b, ldb, c, ldc,
                      {sa, sb, sc, count}, tf32);
  });
}

}  // extern "C"
