// Plans of cuBLASLt: descriptors and the heuristic's algorithm, created once per LinearKey and kept with the
// context. The heuristic gets the workspace size and the alignment of the operands, so its choice depends
// only on the key.
#include "tandem/cuda/ops/linear_plan.h"

#include <memory>
#include <unordered_map>

#include "tandem/core/global_context.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/plan_key.h"

namespace tandem::cuda_impl {
namespace {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};
using MatmulDesc = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, Destroy<cublasLtMatmulPreferenceDestroy>>;

// Kernels may read the bias of the epilogue in chunks of this many bytes, and the heuristic does not know its
// alignment.
constexpr int32_t kBiasAlignment = 16;

struct LinearPlan {
  bool possible = false;
  MatmulDesc product;
  Layout x, weight, out;
  cublasLtMatmulAlgo_t algorithm{};
};
struct LinearPlans {
  std::unordered_map<LinearKey, LinearPlan, PlanHash> plans;
};

template <class T>
void set(const MatmulDesc& desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  ensure(cublasLtMatmulDescSetAttribute(desc.get(), attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  ensure(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
         "cublasLtMatmulPreferenceSetAttribute");
}

// A row-major matrix [rows, columns], or its transpose, in cuBLAS's column-major terms, which transpose it.
Layout layout(cudaDataType type, int64_t rows, int64_t columns, bool transposed, int64_t ld) {
  cublasLtMatrixLayout_t made = nullptr;
  ensure(cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(transposed ? rows : columns),
                                    static_cast<uint64_t>(transposed ? columns : rows), ld),
         "cublasLtMatrixLayoutCreate");
  return Layout(made);
}

Preference preference_of(const LinearKey& key) {
  cublasLtMatmulPreference_t made = nullptr;
  ensure(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  Preference preference(made);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{Context::kWorkspaceBytes});
  // cuBLAS's first operand is the weight.
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<uint32_t>(key.alignment[1]));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<uint32_t>(key.alignment[0]));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<uint32_t>(key.alignment[2]));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<uint32_t>(key.alignment[2]));
  return preference;
}

// outᵀ [N, M] = op(weight) op(xᵀ): the bias is one number per row, which is what the epilogue adds.
LinearPlan make_plan_of(Context& c, const LinearKey& key, const void* bias) {
  const cudaDataType type = data_type(key.dtype);
  LinearPlan plan;
  cublasLtMatmulDesc_t made = nullptr;
  ensure(cublasLtMatmulDescCreate(&made, compute_type(key.dtype, key.tf32),
                                  key.dtype == kDouble ? CUDA_R_64F : CUDA_R_32F),
         "cublasLtMatmulDescCreate");
  plan.product.reset(made);
  // The weight [N, K] is used transposed.
  set(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, key.weight_transposed ? CUBLAS_OP_N : CUBLAS_OP_T);
  set(plan.product, CUBLASLT_MATMUL_DESC_TRANSB, key.x_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(plan.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  plan.weight = layout(type, key.n, key.k, key.weight_transposed, key.ld_weight);
  plan.x = layout(type, key.m, key.k, key.x_transposed, key.ld_x);
  plan.out = layout(type, key.m, key.n, false, key.n);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(c.blas_lt(), plan.product.get(), plan.weight.get(), plan.x.get(), plan.out.get(),
                                     plan.out.get(), preference_of(key).get(), 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS) forget_error();
  plan.possible = status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
  plan.algorithm = found.algo;
  return plan;
}

LinearKey key_of(const LinearArguments& a) {
  return {.m = a.out.size(0),
          .n = a.out.size(1),
          .k = a.x.size(1),
          .ld_x = a.x_layout.ld,
          .ld_weight = a.weight_layout.ld,
          .x_transposed = a.x_layout.transposed,
          .weight_transposed = a.weight_layout.transposed,
          .dtype = a.out.dtype(),
          .tf32 = a.out.dtype() == kFloat && globalContext().allowTF32CuBLAS(),
          .alignment = {alignment_of(a.x.data_ptr()), alignment_of(a.weight.data_ptr()), alignment_of(a.out.data_ptr()),
                        alignment_of(a.bias.data_ptr())}};
}

}  // namespace

bool linear_with_bias(Context& c, const LinearArguments& a) {
  if (!may_start(c, "linear")) return true;
  const LinearKey key = key_of(a);
  if (key.alignment[3] < kBiasAlignment) return false;
  auto& plans = c.plans<LinearPlans>().plans;
  auto at = plans.find(key);
  if (at == plans.end()) {
    if (plans.size() >= kMaxPlans) plans.clear();
    at = plans.emplace(key, make_plan_of(c, key, a.bias.data_ptr())).first;
  }
  LinearPlan& plan = at->second;
  if (!plan.possible) return false;
  const void* bias = a.bias.data_ptr();
  set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float one = 1, zero = 0;
  const double one_twice = 1, zero_twice = 0;
  const bool single = key.dtype != kDouble;
  c.blas();  // binds the workspace to the current stream
  const cublasStatus_t status = cublasLtMatmul(
      c.blas_lt(), plan.product.get(), single ? static_cast<const void*>(&one) : &one_twice, a.weight.data_ptr(),
      plan.weight.get(), a.x.data_ptr(), plan.x.get(), single ? static_cast<const void*>(&zero) : &zero_twice,
      a.out.data_ptr(), plan.out.get(), a.out.data_ptr(), plan.out.get(), &plan.algorithm, c.workspace(),
      Context::kWorkspaceBytes, c.stream());
  if (status != CUBLAS_STATUS_SUCCESS) {
    forget_error();
    return plan.possible = false;
  }
  note_launch("linear");
  if (sync_after_launch()) sync_and_check(c, "linear");
  return true;
}

}  // namespace tandem::cuda_impl
