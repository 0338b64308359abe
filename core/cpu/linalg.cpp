// Matrix products on the CPU.
#include <Eigen/Core>

#include "tandem/core/cpu/loop.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  const bool batched = out.dim() == 3;
  const int64_t batches = batched ? out.size(0) : 1, m = out.size(-2), n = out.size(-1), k = a.size(-1);
  dispatch(out.dtype(), NumericTypes{}, "matmul", [&]<class T>(Type<T>) {
    using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    for (int64_t i = 0; i < batches; ++i) {
      Eigen::Map<const Matrix, 0, Stride> x(a.ptr<T>() + (batched ? i * a.stride(0) : 0), m, k,
                                            Stride(a.stride(-2), a.stride(-1)));
      Eigen::Map<const Matrix, 0, Stride> y(b.ptr<T>() + (batched ? i * b.stride(0) : 0), k, n,
                                            Stride(b.stride(-2), b.stride(-1)));
      Eigen::Map<Matrix> o(out.ptr<T>() + i * m * n, m, n);
      Matrix product = x * y;
      if (beta.equal(0))
        o = product * alpha.to<T>();
      else
        o = o * beta.to<T>() + product * alpha.to<T>();
    }
  });
}

}  // namespace

constinit const LinalgKernels linalg_kernels{.matmul = matmul};

}  // namespace tandem::cpu
