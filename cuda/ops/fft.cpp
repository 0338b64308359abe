// Fourier transforms by cuFFT, which expects lines one after the other and does not scale: they are copied to row-major
// memory, transformed there, and multiplied by the scale on their way out. cuFFT has one sign for transforms of real
// numbers; those with the other sign are conjugates.
#include "tandem/core/backend/fft.h"

#include <cufft.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/plan_key.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

struct FftPlan {
  FftPlan() = default;
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;
  ~FftPlan() {
    if (made) cufftDestroy(handle);
  }
  cufftHandle handle = 0;
  bool made = false, captured = false;
  std::size_t workspace_bytes = 0;
};

struct FftPlans {
  std::unordered_map<FftKey, std::unique_ptr<FftPlan>, PlanHash> plans;
};
constexpr std::size_t kMaxFftPlans = 256;  // each has tables in device memory

cufftType type_of(const FftKey& key) {
  const bool single = key.dtype == kFloat;
  if (key.kind == FftKind::kComplex) return single ? CUFFT_C2C : CUFFT_Z2Z;
  if (key.kind == FftKind::kRealToComplex) return single ? CUFFT_R2C : CUFFT_D2Z;
  return single ? CUFFT_C2R : CUFFT_Z2D;
}

FftPlan& plan_for(Context& c, const FftKey& key) {
  auto& plans = c.plans<FftPlans>().plans;
  if (const auto found = plans.find(key); found != plans.end()) return *found->second;
  // A captured step goes on to use its plans' tables.
  if (plans.size() >= kMaxFftPlans) std::erase_if(plans, [](const auto& entry) { return !entry.second->captured; });
  auto plan = std::make_unique<FftPlan>();
  ensure(cufftCreate(&plan->handle), "cufftCreate");
  plan->made = true;
  ensure(cufftSetAutoAllocation(plan->handle, 0), "cufftSetAutoAllocation");
  long long n = key.n;
  ensure(cufftMakePlanMany64(plan->handle, 1, &n, nullptr, 1, n, nullptr, 1, n, type_of(key), key.count,
                             &plan->workspace_bytes),
         "cufftMakePlanMany64");
  return *plans.emplace(key, std::move(plan)).first->second;
}

/// Calls run(handle) with the plan bound to the current stream. The workspace is freed in the stream's order.
template <class Run>
void execute(const Tensor& lines, const FftKey& key, Run run) {
  Context& c = context(lines.device());
  FftPlan& plan = plan_for(c, key);
  plan.captured = plan.captured || c.recording != nullptr;
  const Tensor workspace = empty_raw({static_cast<int64_t>(plan.workspace_bytes)}, kByte, lines.device());
  ensure(cufftSetStream(plan.handle, c.stream()), "cufftSetStream");
  if (plan.workspace_bytes > 0) ensure(cufftSetWorkArea(plan.handle, workspace.data_ptr()), "cufftSetWorkArea");
  note_launch("fft");
  ensure(run(plan.handle), "cufftExec");
  if (sync_after_launch()) sync_and_check(c, "fft");
}

/// t with its dimension `dim` behind the others; the parts of complex numbers stay last.
Tensor lines_last(const Tensor& t, int64_t dim, bool complex) {
  Dims sizes(t.sizes()), strides(t.strides());
  const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(sizes.size()) - (complex ? 1 : 0);
  for (Dims* d : {&sizes, &strides}) std::rotate(d->begin() + dim, d->begin() + dim + 1, d->begin() + end);
  return alias(t, sizes, strides, t.storage_offset());
}
/// The real (0) or imaginary (1) parts.
Tensor part(const Tensor& t, int64_t which) {
  Dims sizes(t.sizes()), strides(t.strides());
  const int64_t offset = t.storage_offset() + which * strides.back();
  sizes.pop_back();
  strides.pop_back();
  return alias(t, sizes, strides, offset);
}
/// Element k of every line of real numbers.
Tensor element(const Tensor& lines, int64_t k) {
  Dims sizes(lines.sizes());
  sizes.back() = 1;
  return alias(lines, sizes, lines.strides(), lines.storage_offset() + k * lines.stride(-1));
}
void multiply(const Tensor& out, const Tensor& a, double factor) {
  binary_kernels.value.get<ops::Mul>()(out, a, Scalar(factor), 1);
}

/// Row-major complex lines in place.
void transform(const Tensor& lines, bool inverse) {
  const bool single = lines.dtype() == kFloat;
  const int64_t n = lines.size(-2);
  const int sign = inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
  void* data = lines.data_ptr();
  execute(lines, {FftKind::kComplex, lines.dtype(), n, lines.numel() / (2 * n)}, [&](cufftHandle plan) {
    if (single) return cufftExecC2C(plan, static_cast<cufftComplex*>(data), static_cast<cufftComplex*>(data), sign);
    return cufftExecZ2Z(plan, static_cast<cufftDoubleComplex*>(data), static_cast<cufftDoubleComplex*>(data), sign);
  });
}

void c2c(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale) {
  const Tensor lines = row_major_copy(lines_last(a, dim, true));
  transform(lines, inverse);
  multiply(lines_last(out, dim, true), lines, scale);
}

/// All n elements of a real tensor's transform.
void whole_r2c(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale) {
  const Tensor target = lines_last(out, dim, true);
  const Tensor lines = empty_raw(target.sizes(), a.dtype(), a.device());
  copy_raw(part(lines, 0), lines_last(a, dim, false));
  fill_raw(part(lines, 1), 0);
  transform(lines, inverse);
  multiply(target, lines, scale);
}

void r2c(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale) {
  const int64_t n = a.size(dim);
  if (out.size(dim) != n / 2 + 1) return whole_r2c(out, a, dim, inverse, scale);
  const bool single = a.dtype() == kFloat;
  const Tensor signal = row_major_copy(lines_last(a, dim, false)), target = lines_last(out, dim, true);
  const Tensor lines = empty_raw(target.sizes(), a.dtype(), a.device());
  execute(signal, {FftKind::kRealToComplex, a.dtype(), n, signal.numel() / n}, [&](cufftHandle plan) {
    if (single)
      return cufftExecR2C(plan, static_cast<cufftReal*>(signal.data_ptr()),
                          static_cast<cufftComplex*>(lines.data_ptr()));
    return cufftExecD2Z(plan, static_cast<cufftDoubleReal*>(signal.data_ptr()),
                        static_cast<cufftDoubleComplex*>(lines.data_ptr()));
  });
  multiply(part(target, 0), part(lines, 0), scale);
  multiply(part(target, 1), part(lines, 1), inverse ? -scale : scale);
}

void c2r(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale) {
  const int64_t n = out.size(dim);
  const bool single = a.dtype() == kFloat;
  const Tensor lines = row_major_copy(lines_last(a, dim, true)), target = lines_last(out, dim, false);
  const Tensor imaginary = part(lines, 1);
  if (!inverse) multiply(imaginary, imaginary, -1);
  fill_raw(element(imaginary, 0), 0);
  if (n % 2 == 0) fill_raw(element(imaginary, n / 2), 0);
  const Tensor signal = empty_raw(target.sizes(), a.dtype(), a.device());
  execute(lines, {FftKind::kComplexToReal, a.dtype(), n, signal.numel() / n}, [&](cufftHandle plan) {
    if (single)
      return cufftExecC2R(plan, static_cast<cufftComplex*>(lines.data_ptr()),
                          static_cast<cufftReal*>(signal.data_ptr()));
    return cufftExecZ2D(plan, static_cast<cufftDoubleComplex*>(lines.data_ptr()),
                        static_cast<cufftDoubleReal*>(signal.data_ptr()));
  });
  multiply(target, signal, scale);
}

}  // namespace

constinit const FftKernels fft_kernels{.c2c = c2c, .r2c = r2c, .c2r = c2r};

}  // namespace tandem::cuda_impl
