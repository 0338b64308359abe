// instance_norm and local_response_norm.
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/norm.h"
#include "tandem/autograd/ops/pad.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/ops/repeat.h"
#include "tandem/autograd/ops/view.h"
#include "tandem/autograd/record.h"

namespace tandem {

// The channels of all images as those of one: batch_norm of [1, N C, ...].
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps) {
  check(input.dim() >= 3, "instance_norm: expected [N, C, ...], got ", input);
  check(use_input_stats || (running_mean.defined() && running_var.defined()),
        "instance_norm: there are no running statistics to use");
  const int64_t n = input.size(0), c = input.size(1);
  const auto repeated = [&](const Tensor& t) { return t.defined() ? t.repeat({n}) : t; };
  const Tensor mean = repeated(running_mean), var = repeated(running_var);
  Dims sizes(input.sizes());
  sizes[0] = 1;
  sizes[1] = n * c;
  const Tensor out = batch_norm(input.reshape(sizes), repeated(weight), repeated(bias), mean, var,
                                use_input_stats, momentum, eps);
  if (use_input_stats && running_mean.defined()) {
    NoGradGuard no_grad;
    Tensor own_mean = running_mean, own_var = running_var;
    own_mean.copy_(mean.view({n, c}).mean(IntArrayRef(0)));
    own_var.copy_(var.view({n, c}).mean(IntArrayRef(0)));
  }
  return out.reshape(input.sizes());
}

Tensor local_response_norm(const Tensor& input, int64_t size, double alpha, double beta, double k) {
  check(input.dim() >= 3, "local_response_norm: expected [N, C, L, ...], got ", input);
  check(size > 0, "local_response_norm: size must be positive, got ", size);
  Dims pad(static_cast<std::size_t>(2 * (input.dim() - 1)), 0);
  pad[pad.size() - 2] = size / 2;
  pad[pad.size() - 1] = (size - 1) / 2;
  const Tensor squares = constant_pad_nd(input * input, pad).unfold(1, size, 1).mean(IntArrayRef(-1));
  return input / (squares * alpha + k).pow(Scalar(beta));
}

}  // namespace tandem
