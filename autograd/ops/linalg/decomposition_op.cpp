// Checks and shapes that the operations on batches of matrices share.
#include "tandem/autograd/ops/linalg/decomposition_op.h"

#include <numeric>

#include "tandem/autograd/ops/factories/factories.h"

namespace tandem::autograd {

void check_matrices(const char* operation, const Tensor& a) {
  const ScalarType type = a.dtype();
  check(type == kFloat || type == kDouble || type == kComplexFloat || type == kComplexDouble, operation,
        ": expected float32, float64, complex64 or complex128, got ", a);
  check(a.dim() >= 2, operation, ": expected matrices, at least 2 dimensions, got ", a);
}
void check_square(const char* operation, const Tensor& a) {
  check_matrices(operation, a);
  check(a.size(-1) == a.size(-2), operation, ": expected square matrices, got ", a);
}

Dims batch_sizes(const Tensor& a) { return Dims(a.sizes().slice(0, a.sizes().size() - 2)); }
Dims matrix_sizes(IntArrayRef batch, int64_t m, int64_t n) {
  Dims sizes = batch;
  sizes.push_back(m);
  sizes.push_back(n);
  return sizes;
}
Dims vector_sizes(IntArrayRef batch, int64_t n) {
  Dims sizes = batch;
  sizes.push_back(n);
  return sizes;
}
Tensor empty_like_of(const Tensor& a, IntArrayRef sizes) { return empty_raw(sizes, a.dtype(), a.device()); }
Tensor empty_real_like_of(const Tensor& a, IntArrayRef sizes) {
  return empty_raw(sizes, toRealValueType(a.dtype()), a.device());
}
Tensor no_info(const Tensor& a) { return zeros(batch_sizes(a), TensorOptions(kInt).device(a.device())); }
Tensor identity(const Tensor& a, int64_t n, int64_t m) {
  return eye(n, m < 0 ? n : m, TensorOptions(a.dtype()).device(a.device()));
}

void check_phases(const char* operation, const char* vectors, const Tensor& phases) {
  if (phases.numel() == 0) return;
  const double largest = phases.detach().abs().amax().item<double>();
  check(largest <= 1e-2, operation, ": the phase of ", vectors,
        " is arbitrary, but the loss depends on it (its derivative is ", largest,
        "); use a function of the vectors that does not change when they are multiplied by exp(i phi)");
}

void check_info(const char* operation, const Tensor& info, const char* reason) {
  const Tensor values = info.to(Device(kCPU)).contiguous();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const int32_t failed = values.ptr<int32_t>()[i];
    if (failed == 0) continue;
    std::string text = reason;
    if (const std::size_t at = text.find('%'); at != std::string::npos) text.replace(at, 1, concat(failed));
    throw LinAlgError(concat(operation, ": ", info.dim() > 0 ? concat("(Batch element ", i, "): ") : "", text));
  }
}

Tensor permutation_of(const Tensor& pivots, int64_t m) {
  const Tensor exchanged = pivots.detach().to(Device(kCPU)).to(kInt).contiguous();
  const int64_t k = exchanged.size(-1);
  Dims sizes = exchanged.sizes();
  sizes.back() = m;
  const Tensor out = empty_raw(sizes, kLong, Device(kCPU));
  const int64_t count = m == 0 ? 0 : out.numel() / m;
  for (int64_t b = 0; b < count; ++b) {
    int64_t* rows = out.ptr<int64_t>() + b * m;
    std::iota(rows, rows + m, 0);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t other = exchanged.ptr<int32_t>()[b * k + i] - 1;
      check(i < m && other >= 0 && other < m, "LU pivots must be in [1, ", m, "], as lu_factor returns them, got ",
            other + 1);
      std::swap(rows[i], rows[other]);
    }
  }
  return out.to(pivots.device());
}
Tensor inverse_permutation(const Tensor& permutation) { return permutation.argsort(-1); }
Tensor permute_rows(const Tensor& x, const Tensor& permutation) {
  const int64_t rows = permutation.size(-1);
  return x.gather(-2, permutation.unsqueeze(-1).expand(matrix_sizes(batch_sizes(x), rows, x.size(-1))));
}

}  // namespace tandem::autograd
