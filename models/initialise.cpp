// Initialisation that the models share.
#include "tandem/models/initialise.h"

#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/nn/init.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/linear.h"

namespace tandem::models::detail {

Tensor trunc_normal_(Tensor tensor, double std) {
  if (nn::init::is_skipped()) return tensor;
  NoGradGuard no_grad;
  // The error function at the bounds: uniform numbers between these become truncated normal ones.
  const double bound = std::erf(2 / std / std::sqrt(2.0));
  tensor.uniform_(-bound, bound);
  tensor.copy_(erfinv(tensor) * (std * std::sqrt(2.0)));
  return tensor.clamp_(-2, 2);
}

void initialise_convolutions(nn::Module& model) {
  model.apply([](nn::Module& module) {
    auto* conv = module.as<nn::Conv2d>();
    if (conv == nullptr) return;
    nn::init::kaiming_normal_(conv->weight, 0, kFanOut, kReLU);
    if (conv->bias.defined()) nn::init::zeros_(conv->bias);
  });
}

void initialise_linears(nn::Module& model, double std) {
  model.apply([std](nn::Module& module) {
    auto* linear = module.as<nn::Linear>();
    if (linear == nullptr) return;
    nn::init::normal_(linear->weight, 0, std);
    if (linear->bias.defined()) nn::init::zeros_(linear->bias);
  });
}

}  // namespace tandem::models::detail
