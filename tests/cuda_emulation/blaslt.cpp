// cuBLASLt: products with an epilogue. Descriptors are stored in the library's own opaque structs.
#include <cublasLt.h>

#include <new>

#include "tandem/tests/cuda_emulation/library.h"

struct cublasLtContext {
  int gpu;
};

namespace tandem::cuda_emulation {
namespace {

struct __attribute__((may_alias)) Layout {
  cudaDataType type;
  int32_t order, batch;
  uint64_t rows, cols;
  int64_t ld, stride;
};
struct __attribute__((may_alias)) Description {
  cublasComputeType_t compute;
  cudaDataType scale;
  int32_t ta, tb, epilogue, pointers, bias_type;
  const void* bias;
};
struct __attribute__((may_alias)) Preference {
  uint64_t workspace;
  uint32_t alignment[4];
};
// What the heuristic assumed when it chose the algorithm.
struct __attribute__((may_alias)) Algorithm {
  uint64_t mark, workspace;
  uint32_t alignment[4];
};
constexpr uint64_t kMark = 0x74616e64656d;
constexpr std::size_t kWorkspace = std::size_t{64} << 10;

template <class T, class Opaque>
T& inside(Opaque* opaque) {
  static_assert(sizeof(T) <= sizeof(Opaque));
  return *reinterpret_cast<T*>(opaque);
}
template <class T, class Opaque>
const T& inside(const Opaque* opaque) {
  static_assert(sizeof(T) <= sizeof(Opaque));
  return *reinterpret_cast<const T*>(opaque);
}

template <class T>
cublasStatus_t set(T& field, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

bool known(int32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_DEFAULT || epilogue == CUBLASLT_EPILOGUE_RELU ||
         epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
bool type_fits(const Description& d, cudaDataType type) {
  const bool half = type == CUDA_R_16F || type == CUDA_R_16BF;
  if (half) return d.scale == CUDA_R_32F && d.compute == CUBLAS_COMPUTE_32F;
  if (type == CUDA_R_32F)
    return d.scale == CUDA_R_32F && (d.compute == CUBLAS_COMPUTE_32F || d.compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                                     d.compute == CUBLAS_COMPUTE_32F_FAST_TF32);
  return type == CUDA_R_64F && d.scale == CUDA_R_64F &&
         (d.compute == CUBLAS_COMPUTE_64F || d.compute == CUBLAS_COMPUTE_64F_PEDANTIC);
}

// Whether the product is supported, and its sizes.
cublasStatus_t describe(const Description& d, const Layout& a, const Layout& b, const Layout& c, const Layout& out,
                        Gemm& g) {
  for (const Layout* one : {&b, &c, &out})
    if (one->type != a.type) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const Layout* one : {&a, &b, &c, &out})
    if (one->order != CUBLASLT_ORDER_COL) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!type_fits(d, a.type) || !known(d.epilogue) || d.pointers != CUBLASLT_POINTER_MODE_HOST)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool ta = d.ta != CUBLAS_OP_N, tb = d.tb != CUBLAS_OP_N;
  const uint64_t m = ta ? a.cols : a.rows, k = ta ? a.rows : a.cols;
  const uint64_t k_of_b = tb ? b.cols : b.rows, n = tb ? b.rows : b.cols;
  if (k != k_of_b || out.rows != m || out.cols != n || c.rows != m || c.cols != n) return CUBLAS_STATUS_INVALID_VALUE;
  if (a.batch != out.batch || b.batch != out.batch || c.batch != out.batch) return CUBLAS_STATUS_INVALID_VALUE;
  g.type = a.type == CUDA_R_64F ? kDouble : a.type == CUDA_R_16F ? kHalf : a.type == CUDA_R_16BF ? kBFloat16 : kFloat;
  g.tf32 = d.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  g.relu = (d.epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
  g.m = static_cast<int64_t>(m), g.n = static_cast<int64_t>(n), g.k = static_cast<int64_t>(k), g.batch = out.batch;
  g.a = {nullptr, a.ld, a.stride, ta};
  g.b = {nullptr, b.ld, b.stride, tb};
  g.c = {nullptr, c.ld, c.stride, false};
  g.ldd = out.ld, g.stride_d = out.stride;
  return valid(g) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

// Checks the workspace and the alignments that the algorithm was chosen for.
cublasStatus_t check_promise(const cublasLtMatmulAlgo_t* algo, const void* const (&operands)[4], const void* workspace,
                             std::size_t bytes) {
  if (bytes > 0 && !usable(workspace, bytes, host_thread().gpu)) return CUBLAS_STATUS_INVALID_VALUE;
  if (algo == nullptr) return CUBLAS_STATUS_SUCCESS;
  const Algorithm& chosen = inside<Algorithm>(algo);
  if (chosen.mark != kMark || bytes < chosen.workspace) return CUBLAS_STATUS_INVALID_VALUE;
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(operands[i]) % chosen.alignment[i] != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return library_call("cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED, [&] {
    *handle = new cublasLtContext{host_thread().gpu};
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d, size_t bytes, cublasComputeType_t compute,
                                               cudaDataType scale) {
  if (d == nullptr || bytes < sizeof *d) return CUBLAS_STATUS_INVALID_VALUE;
  inside<Description>(d) = {
      compute, scale, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_POINTER_MODE_HOST, -1, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t compute, cudaDataType scale) {
  *d = new cublasLtMatmulDescOpaque_t{};
  return cublasLtMatmulDescInit_internal(*d, sizeof **d, compute, scale);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  delete d;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t opaque, cublasLtMatmulDescAttributes_t attr,
                                              const void* value, size_t bytes) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Description& d = inside<Description>(opaque);
  switch (attr) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(d.ta, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(d.tb, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(d.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(d.pointers, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(d.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(d.bias_type, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t l, size_t bytes, cudaDataType type,
                                                 uint64_t rows, uint64_t cols, int64_t ld) {
  if (l == nullptr || bytes < sizeof *l) return CUBLAS_STATUS_INVALID_VALUE;
  inside<Layout>(l) = {type, CUBLASLT_ORDER_COL, 1, rows, cols, ld, 0};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld) {
  *l = new cublasLtMatrixLayoutOpaque_t{};
  return cublasLtMatrixLayoutInit_internal(*l, sizeof **l, type, rows, cols, ld);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  delete l;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t opaque, cublasLtMatrixLayoutAttribute_t attr,
                                                const void* value, size_t bytes) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Layout& l = inside<Layout>(opaque);
  switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(l.type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(l.order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(l.rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(l.cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(l.ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(l.batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(l.stride, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t p, size_t bytes) {
  if (p == nullptr || bytes < sizeof *p) return CUBLAS_STATUS_INVALID_VALUE;
  inside<Preference>(p) = {0, {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  *p = new cublasLtMatmulPreferenceOpaque_t{};
  return cublasLtMatmulPreferenceInit_internal(*p, sizeof **p);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  delete p;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t opaque,
                                                    cublasLtMatmulPreferenceAttributes_t attr, const void* value,
                                                    size_t bytes) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Preference& p = inside<Preference>(opaque);
  switch (attr) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(p.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return set(p.alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return set(p.alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return set(p.alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(p.alignment[3], value, bytes);
    default:
      return CUBLAS_STATUS_SUCCESS;  // hints are ignored
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t out, cublasLtMatmulPreference_t preference,
                                              int requested, cublasLtMatmulHeuristicResult_t results[], int* count) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (count == nullptr || requested < 1 || d == nullptr || preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  Gemm gemm;
  const cublasStatus_t status = describe(inside<Description>(d), inside<Layout>(a), inside<Layout>(b),
                                         inside<Layout>(c), inside<Layout>(out), gemm);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const Preference& p = inside<Preference>(preference);
  results[0] = {};
  results[0].workspaceSize = p.workspace >= kWorkspace ? kWorkspace : 0;
  results[0].wavesCount = 1;
  Algorithm& chosen = inside<Algorithm>(&results[0].algo);
  chosen = {kMark, results[0].workspaceSize, {}};
  std::memcpy(chosen.alignment, p.alignment, sizeof chosen.alignment);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* out,
                              cublasLtMatrixLayout_t out_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t bytes, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return library_call("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED, [&]() -> cublasStatus_t {
    if (d == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const Description& description = inside<Description>(d);
    Gemm g;
    cublasStatus_t status = describe(description, inside<Layout>(a_layout), inside<Layout>(b_layout),
                                     inside<Layout>(c_layout), inside<Layout>(out_layout), g);
    if (status == CUBLAS_STATUS_SUCCESS) status = check_promise(algo, {a, b, c, out}, workspace, bytes);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    const auto scalar = [&](const void* p) {
      return g.type == tandem::kDouble ? *static_cast<const double*>(p) : *static_cast<const float*>(p);
    };
    g.alpha = scalar(alpha), g.beta = scalar(beta);
    g.a.data = a, g.b.data = b, g.c.data = c, g.d = out;
    if (description.epilogue & CUBLASLT_EPILOGUE_BIAS) {
      if (description.bias == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
      g.bias = description.bias;
    }
    if (handle->gpu != host_thread().gpu || !usable(g)) return CUBLAS_STATUS_EXECUTION_FAILED;
    const bool queued = enqueue_library(stream, "cublasLtMatmul", [g, workspace, bytes] {
      clobber(workspace, std::min(bytes, kWorkspace));
      run(g);
    });
    return queued ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  });
}

}  // extern "C"
