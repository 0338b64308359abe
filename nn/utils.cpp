// Gradient clipping; parameters as a vector.
#include "tandem/nn/utils.h"

#include <cmath>
#include <limits>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/view/cat.h"

namespace tandem::nn::utils {
namespace {

double total_norm(const std::vector<Tensor>& grads, double norm_type) {
  if (norm_type == 0) return static_cast<double>(grads.size());
  double total = 0;
  for (const Tensor& g : grads) {
    if (g.numel() == 0) continue;
    if (std::isinf(norm_type)) {
      const double largest = g.abs().max().item<double>();
      total = std::isnan(largest) || largest > total ? largest : total;
    } else {
      total += std::pow(g.norm(norm_type).item<double>(), norm_type);
    }
  }
  return std::isinf(norm_type) ? total : std::pow(total, 1 / norm_type);
}

}  // namespace

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  check(norm_type > -std::numeric_limits<double>::infinity(),
        "clip_grad_norm_: norm_type must be a number or infinity, "
        "got ",
        norm_type);
  NoGradGuard no_grad;
  std::vector<Tensor> grads;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) grads.push_back(p.grad().detach());
  const double norm = total_norm(grads, norm_type);
  check(!error_if_nonfinite || std::isfinite(norm), "clip_grad_norm_: the norm of order ", norm_type,
        " of the gradients is not finite, so it cannot be clipped");
  const double scale = max_norm / (norm + 1e-6);
  if (!(scale >= 1))  // a NaN norm makes all gradients NaN, as in PyTorch
    for (Tensor& g : grads) g.mul_(scale);
  return norm;
}
double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{std::move(parameter)}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  NoGradGuard no_grad;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) p.grad().detach().clamp_(-clip_value, clip_value);
}
void clip_grad_value_(Tensor parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{std::move(parameter)}, clip_value);
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> rows;
  for (const Tensor& p : parameters) rows.push_back(p.reshape({-1}));
  return cat(rows);
}

void vector_to_parameters(const Tensor& values, const std::vector<Tensor>& parameters) {
  int64_t total = 0;
  for (const Tensor& p : parameters) total += p.numel();
  check(values.dim() == 1 && values.numel() == total, "vector_to_parameters: expected a vector of ", total,
        " elements, got ", values);
  NoGradGuard no_grad;
  int64_t at = 0;
  for (const Tensor& p : parameters) {
    Tensor(p.detach()).copy_(values.narrow(0, at, p.numel()).view(p.sizes()));
    at += p.numel();
  }
}

}  // namespace tandem::nn::utils
