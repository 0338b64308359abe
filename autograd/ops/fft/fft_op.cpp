// Fourier transforms of pairs and their gradients. Real and imaginary parts are independent variables, so the gradient
// of a transform is its adjoint: the transform with the other sign.
#include "tandem/autograd/ops/fft/fft_op.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/fill.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/fft.h"
#include "tandem/core/reproducible.h"

namespace tandem::autograd {
namespace {

const FftKernels& kernels_for(const Tensor& x) {
  check_reproducible("fft", "a library computes it, in an order that depends on the machine");
  return backend(x).fft;
}

struct Transform {
  Dims dims;
  bool inverse = false;
  double scale = 1;
  int64_t n = 0;
};

// The other half of a sequence with x[n - j] = conj(x[j]) repeats all elements but the first and, if n is even, the
// last: 1 for these and `repeated` for the others, as a factor for pairs of x's rank.
Tensor repetitions(const Tensor& x, int64_t dim, int64_t n, double repeated) {
  const int64_t count = n / 2 + 1;
  Tensor out = full({count}, repeated, x.options());
  out.narrow(0, 0, 1).fill_(1);
  if (n % 2 == 0) out.narrow(0, count - 1, 1).fill_(1);
  Dims shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(dim)] = count;
  return out.view(shape);
}

struct FftC2cBackward final : NamedNode<FftC2cBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = fft_pairs(g[0], t.dims, !t.inverse, t.scale);
  }
  Transform t;
};

struct FftR2cBackward final : NamedNode<FftR2cBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const int64_t dim = t.dims[0];
    if (all)
      out[0] = fft_pairs(g[0], t.dims, !t.inverse, t.scale).select(-1, 0);
    else
      out[0] = fft_hermitian(g[0] * repetitions(g[0], dim, t.n, 0.5), dim, t.n, !t.inverse, t.scale);
  }
  Transform t;
  bool all = false;
};

struct FftC2rBackward final : NamedNode<FftC2rBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const int64_t dim = t.dims[0];
    const Tensor transformed = fft_real(g[0], dim, false, !t.inverse, t.scale);
    out[0] = transformed * repetitions(transformed, dim, t.n, 2);
  }
  Transform t;
};

}  // namespace

void check_points(const char* operation, int64_t n) {
  check(n >= 1, operation, ": Invalid number of data points (", n, ") specified; expected at least 1");
  check(n <= kMaxFftPoints, operation, ": expected at most ", kMaxFftPoints, " data points, got ", n);
}

Tensor fft_pairs(const Tensor& x, IntArrayRef dims, bool inverse, double scale) {
  if (dims.empty()) return x.clone();
  Tensor out = empty_raw(x.sizes(), x.dtype(), x.device());
  if (x.numel() != 0)
    for (std::size_t i = 0; i < dims.size(); ++i)
      kernels_for(x).c2c(out, i == 0 ? x : out, dims[i], inverse, i + 1 == dims.size() ? scale : 1);
  if (auto* node = record<FftC2cBackward>(out, x)) node->t = {dims, inverse, scale};
  return out;
}

Tensor fft_real(const Tensor& x, int64_t dim, bool all, bool inverse, double scale) {
  const int64_t n = x.size(dim);
  Dims sizes(x.sizes());
  if (!all) sizes[static_cast<std::size_t>(dim)] = n / 2 + 1;
  sizes.push_back(2);
  Tensor out = empty_raw(sizes, x.dtype(), x.device());
  if (out.numel() != 0) kernels_for(x).r2c(out, x, dim, inverse, scale);
  if (auto* node = record<FftR2cBackward>(out, x)) {
    node->t = {{dim}, inverse, scale, n};
    node->all = all;
  }
  return out;
}

Tensor fft_hermitian(const Tensor& x, int64_t dim, int64_t n, bool inverse, double scale) {
  Dims sizes(x.sizes());
  sizes.pop_back();
  sizes[static_cast<std::size_t>(dim)] = n;
  Tensor out = empty_raw(sizes, x.dtype(), x.device());
  if (out.numel() != 0) kernels_for(x).c2r(out, x, dim, inverse, scale);
  if (auto* node = record<FftC2rBackward>(out, x)) node->t = {{dim}, inverse, scale, n};
  return out;
}

}  // namespace tandem::autograd
