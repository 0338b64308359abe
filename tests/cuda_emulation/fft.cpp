// cuFFT: batches of transforms of one dimension, computed by their definition.
#include <cufft.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "tandem/tests/cuda_emulation/library.h"

namespace tandem::cuda_emulation {
namespace {

struct Plan {
  int gpu = 0;
  bool made = false, automatic = true;
  cufftType type = CUFFT_C2C;
  int64_t n = 0, count = 0;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};
constexpr std::size_t kWorkspaceBytes = 512;

// Guarded by the lock of library_call, and never destroyed.
std::map<cufftHandle, Plan>& plans() {
  static auto* all = new std::map<cufftHandle, Plan>;
  return *all;
}

template <class Body>
cufftResult plan_call(const char* api, cufftHandle handle, Body&& body) {
  return library_call(api, CUFFT_EXEC_FAILED, [&] {
    const auto found = plans().find(handle);
    return found == plans().end() ? CUFFT_INVALID_PLAN : body(found->second);
  });
}

// y[k] = sum over j of x(j) exp(sign 2 pi i jk / n), for the first `kept` k.
template <class X, class Y>
void transform(int64_t n, int64_t kept, int sign, X x, Y y) {
  for (int64_t k = 0; k < kept; ++k) {
    std::complex<double> sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += std::complex<double>(x(j)) *
             std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n));
    y(k, sum);
  }
}

enum class Kind { kComplex, kToComplex, kToReal };

template <class T>
void run(const Plan& plan, Kind kind, int sign, void* in, void* out) {
  using C = std::complex<T>;
  const int64_t n = plan.n, half = n / 2 + 1;
  std::vector<std::complex<double>> line(static_cast<std::size_t>(n));
  for (int64_t b = 0; b < plan.count; ++b) {
    const auto at = [&](int64_t j) -> std::complex<double> { return line[static_cast<std::size_t>(j)]; };
    for (int64_t j = 0; j < n; ++j) {
      auto& value = line[static_cast<std::size_t>(j)];
      if (kind == Kind::kComplex) value = static_cast<const C*>(in)[b * n + j];
      if (kind == Kind::kToComplex) value = static_cast<const T*>(in)[b * n + j];
      if (kind == Kind::kToReal)
        value = j < half ? std::complex<double>(static_cast<const C*>(in)[b * half + j])
                         : std::conj(std::complex<double>(static_cast<const C*>(in)[b * half + n - j]));
    }
    if (kind == Kind::kToReal)
      transform(n, n, sign, at, [&](int64_t k, std::complex<double> sum) {
        static_cast<T*>(out)[b * n + k] = static_cast<T>(sum.real());
      });
    else
      transform(n, kind == Kind::kComplex ? n : half, sign, at, [&](int64_t k, std::complex<double> sum) {
        static_cast<C*>(out)[b * (kind == Kind::kComplex ? n : half) + k] = static_cast<C>(sum);
      });
  }
  // As in the library, the input of a transform to real numbers is lost.
  if (kind == Kind::kToReal)
    std::fill_n(static_cast<C*>(in), plan.count * half, C(std::numeric_limits<T>::quiet_NaN()));
}

template <class T>
cufftResult execute(const char* api, cufftHandle handle, cufftType type, Kind kind, int sign, void* in, void* out) {
  return plan_call(api, handle, [&](const Plan& plan) {
    if (!plan.made || plan.type != type || (sign != CUFFT_FORWARD && sign != CUFFT_INVERSE)) return CUFFT_INVALID_VALUE;
    if (!plan.automatic && plan.workspace == nullptr) return CUFFT_NO_WORKSPACE;
    const int64_t reals = plan.count * plan.n, pairs = 2 * plan.count * (plan.n / 2 + 1);
    if (plan.gpu != host_thread().gpu ||
        !elements_usable(in,
                         kind == Kind::kComplex  ? 2 * reals
                         : kind == Kind::kToReal ? pairs
                                                 : reals,
                         sizeof(T)) ||
        !elements_usable(out,
                         kind == Kind::kComplex  ? 2 * reals
                         : kind == Kind::kToReal ? reals
                                                 : pairs,
                         sizeof(T)))
      return CUFFT_EXEC_FAILED;
    const bool queued = enqueue_library(plan.stream, api, [=] {
      if (!plan.automatic) clobber(plan.workspace, kWorkspaceBytes);
      run<T>(plan, kind, sign, in, out);
    });
    return queued ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
  });
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  return library_call("cufftCreate", CUFFT_SETUP_FAILED, [&] {
    *handle = plans().empty() ? 1 : plans().rbegin()->first + 1;
    plans()[*handle].gpu = host_thread().gpu;
    return CUFFT_SUCCESS;
  });
}
cufftResult cufftDestroy(cufftHandle handle) {
  return plan_call("cufftDestroy", handle, [&](const Plan&) {
    plans().erase(handle);
    return CUFFT_SUCCESS;
  });
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic) {
  return plan_call("cufftSetAutoAllocation", handle, [&](Plan& plan) {
    plan.automatic = automatic != 0;
    return CUFFT_SUCCESS;
  });
}
/// Only lines one after the other: no other layout is emulated.
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* inembed, long long, long long,
                                long long* onembed, long long, long long, cufftType type, long long batch,
                                size_t* bytes) {
  return plan_call("cufftMakePlanMany64", handle, [&](Plan& plan) {
    if (plan.made || rank != 1 || inembed != nullptr || onembed != nullptr) return CUFFT_NOT_SUPPORTED;
    if (n[0] < 1 || batch < 1) return CUFFT_INVALID_SIZE;
    plan.made = true;
    plan.type = type;
    plan.n = n[0];
    plan.count = batch;
    *bytes = plan.automatic ? 0 : kWorkspaceBytes;
    return CUFFT_SUCCESS;
  });
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return plan_call("cufftSetStream", handle, [&](Plan& plan) {
    plan.stream = stream;
    return CUFFT_SUCCESS;
  });
}
cufftResult cufftSetWorkArea(cufftHandle handle, void* workspace) {
  return plan_call("cufftSetWorkArea", handle, [&](Plan& plan) {
    if (!usable(workspace, kWorkspaceBytes, plan.gpu)) return CUFFT_INVALID_VALUE;
    plan.workspace = workspace;
    return CUFFT_SUCCESS;
  });
}
cufftResult cufftExecC2C(cufftHandle handle, cufftComplex* in, cufftComplex* out, int direction) {
  return execute<float>("cufftExecC2C", handle, CUFFT_C2C, Kind::kComplex, direction, in, out);
}
cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  return execute<double>("cufftExecZ2Z", handle, CUFFT_Z2Z, Kind::kComplex, direction, in, out);
}
cufftResult cufftExecR2C(cufftHandle handle, cufftReal* in, cufftComplex* out) {
  return execute<float>("cufftExecR2C", handle, CUFFT_R2C, Kind::kToComplex, CUFFT_FORWARD, in, out);
}
cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return execute<double>("cufftExecD2Z", handle, CUFFT_D2Z, Kind::kToComplex, CUFFT_FORWARD, in, out);
}
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* in, cufftReal* out) {
  return execute<float>("cufftExecC2R", handle, CUFFT_C2R, Kind::kToReal, CUFFT_INVERSE, in, out);
}
cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return execute<double>("cufftExecZ2D", handle, CUFFT_Z2D, Kind::kToReal, CUFFT_INVERSE, in, out);
}

}  // extern "C"
