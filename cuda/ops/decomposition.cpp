// Decompositions of CUDA tensors are computed on the host: cuSOLVER is not among the libraries that this backend links.
// The matrices are copied to the host, decomposed by the CPU's kernels and copied back, which a captured step cannot
// do.
#include "tandem/core/backend/decomposition.h"

#include <tuple>
#include <utility>

#include "tandem/core/backend/runtime.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

/// An argument of a kernel on the host: itself, or a row-major copy in host memory.
template <class Arg>
struct HostArgument {
  HostArgument(Arg arg, bool, const char*) : value(arg) {}
  void deliver() const {}
  Arg value;
};
/// Of what is written, deliver() copies the result to the device; it may be undefined. Reading throws Error while a step is
/// being captured.
template <>
struct HostArgument<const Tensor&> {
  HostArgument(const Tensor& t, bool is_written, const char* operation)
      : device(t), written(is_written && t.defined()) {
    if (is_written && !written) return;
    check(written || context(t.device()).recording == nullptr, operation,
          ": not supported in a capture, because the matrices are decomposed on the host; decompose them "
          "before it\n",
          "  self ", t);
    value = empty_raw(t.sizes(), t.dtype(), Device(kCPU));
    if (!written) copy(value, t);
  }
  void deliver() const {
    if (written) copy(device, value);
  }
  static void copy(const Tensor& to, const Tensor& from) {
    runtime_kernels.copy_bytes(to.data_ptr(), to.device(), from.data_ptr(), from.device(),
                               static_cast<std::size_t>(to.numel() * to.element_size()), false);
  }
  const Tensor& device;
  bool written;
  Tensor value;
};

/// Calls this kernel of the CPU's table, which writes its first `results` arguments.
template <auto kernel, int results, class... Args>
void on_host(Args... args) {
  const auto& host = cpu_backend().decomposition.*kernel;
  const auto call = [&]<int... at>(std::integer_sequence<int, at...>) {
    const std::tuple<HostArgument<Args>...> arguments{HostArgument<Args>(args, at < results, host.name())...};
    host(std::get<at>(arguments).value...);
    (std::get<at>(arguments).deliver(), ...);
  };
  call(std::make_integer_sequence<int, static_cast<int>(sizeof...(Args))>());
}

}  // namespace

using Kernels = DecompositionKernels;
constinit const DecompositionKernels decomposition_kernels{
    .lu_factor = on_host<&Kernels::lu_factor, 3>,
    .cholesky = on_host<&Kernels::cholesky, 2>,
    .geqrf = on_host<&Kernels::geqrf, 2>,
    .householder_product = on_host<&Kernels::householder_product, 1>,
    .eigh = on_host<&Kernels::eigh, 3>,
    .eig = on_host<&Kernels::eig, 3>,
    .svd = on_host<&Kernels::svd, 4>,
    .ldl_factor = on_host<&Kernels::ldl_factor, 3>,
    .ldl_solve = on_host<&Kernels::ldl_solve, 1>,
    .solve_triangular = on_host<&Kernels::solve_triangular, 1>,
};

}  // namespace tandem::cuda_impl
