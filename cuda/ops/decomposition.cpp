// Decompositions of CUDA tensors are computed on the host: cuSOLVER is not among the libraries that this backend links.
// The matrices are copied to the host, decomposed by the CPU's kernels and copied back, which a captured step cannot
// do.
#include "tandem/core/backend/decomposition.h"

#include "tandem/core/backend/runtime.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

Tensor host_like(const Tensor& t) { return empty_raw(t.sizes(), t.dtype(), Device(kCPU)); }

/// A kernel's result, computed in host memory and copied to the device by deliver().
struct Result {
  explicit Result(const Tensor& to) : device(to), host(to.defined() ? host_like(to) : Tensor()) {}
  void deliver() const {
    if (!device.defined()) return;
    runtime_kernels.copy_bytes(device.data_ptr(), device.device(), host.data_ptr(), Device(kCPU),
                               static_cast<std::size_t>(device.numel() * device.element_size()), false);
  }
  const Tensor& device;
  Tensor host;
};

/// A row-major copy in host memory. Throws Error while a step is being captured.
Tensor on_host(const Tensor& t, const char* operation) {
  check(context(t.device()).recording == nullptr, operation,
        ": not supported in a capture, because the matrices are decomposed on the host; decompose them "
        "before it\n",
        "  self ", t);
  const Tensor host = host_like(t);
  runtime_kernels.copy_bytes(host.data_ptr(), Device(kCPU), t.data_ptr(), t.device(),
                             static_cast<std::size_t>(t.numel() * t.element_size()), false);
  return host;
}

const DecompositionKernels& host_kernels() { return cpu_backend().decomposition; }

void lu_factor(const Tensor& lu, const Tensor& pivots, const Tensor& info, const Tensor& a) {
  const Result x(lu), y(pivots), z(info);
  host_kernels().lu_factor(x.host, y.host, z.host, on_host(a, "lu_factor"));
  for (const Result* r : {&x, &y, &z}) r->deliver();
}

void cholesky(const Tensor& l, const Tensor& info, const Tensor& a) {
  const Result x(l), y(info);
  host_kernels().cholesky(x.host, y.host, on_host(a, "cholesky"));
  for (const Result* r : {&x, &y}) r->deliver();
}

void geqrf(const Tensor& qr, const Tensor& tau, const Tensor& a) {
  const Result x(qr), y(tau);
  host_kernels().geqrf(x.host, y.host, on_host(a, "geqrf"));
  for (const Result* r : {&x, &y}) r->deliver();
}

void householder_product(const Tensor& q, const Tensor& a, const Tensor& tau) {
  const Result x(q);
  host_kernels().householder_product(x.host, on_host(a, "householder_product"), on_host(tau, "householder_product"));
  x.deliver();
}

void eigh(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  const Result x(values), y(vectors), z(info);
  host_kernels().eigh(x.host, y.host, z.host, on_host(a, "eigh"));
  for (const Result* r : {&x, &y, &z}) r->deliver();
}

void eig(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  const Result x(values), y(vectors), z(info);
  host_kernels().eig(x.host, y.host, z.host, on_host(a, "eig"));
  for (const Result* r : {&x, &y, &z}) r->deliver();
}

void svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& info, const Tensor& a) {
  const Result w(u), x(s), y(vh), z(info);
  host_kernels().svd(w.host, x.host, y.host, z.host, on_host(a, "svd"));
  for (const Result* r : {&w, &x, &y, &z}) r->deliver();
}

void ldl_factor(const Tensor& ld, const Tensor& pivots, const Tensor& info, const Tensor& a, bool hermitian) {
  const Result x(ld), y(pivots), z(info);
  host_kernels().ldl_factor(x.host, y.host, z.host, on_host(a, "ldl_factor"), hermitian);
  for (const Result* r : {&x, &y, &z}) r->deliver();
}

void ldl_solve(const Tensor& x, const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const Result result(x);
  host_kernels().ldl_solve(result.host, on_host(ld, "ldl_solve"), on_host(pivots, "ldl_solve"), on_host(b, "ldl_solve"),
                           hermitian);
  result.deliver();
}

void solve_triangular(const Tensor& x, const Tensor& a, const Tensor& b, bool upper, bool unit) {
  const Result result(x);
  host_kernels().solve_triangular(result.host, on_host(a, "solve_triangular"), on_host(b, "solve_triangular"), upper,
                                  unit);
  result.deliver();
}

}  // namespace

constinit const DecompositionKernels decomposition_kernels{
    .lu_factor = lu_factor,
    .cholesky = cholesky,
    .geqrf = geqrf,
    .householder_product = householder_product,
    .eigh = eigh,
    .eig = eig,
    .svd = svd,
    .ldl_factor = ldl_factor,
    .ldl_solve = ldl_solve,
    .solve_triangular = solve_triangular,
};

}  // namespace tandem::cuda_impl
