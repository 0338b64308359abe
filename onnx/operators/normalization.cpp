// Normalisation.
#include <cmath>

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

using List = std::vector<int64_t>;

using autograd::widened;

// A node that the file has in training mode: as the spec says, its running variance is of the whole batch, not the
// estimate from a sample.
Results trained_batch_norm(Call& c, const Tensor& x, double momentum, double eps) {
  const Tensor y = batch_norm(x, c[1], c[2], {}, {}, true, 0, eps);
  List dims = dims_of(x);
  dims.erase(dims.begin() + 1);  // the channels
  const auto [var, mean] = var_mean(widened(x.detach()), dims, optional<Scalar>(0), false);
  const auto tracked = [&](std::size_t input, const Tensor& batch) {
    const Tensor running = c[input].detach();
    running.copy_(running * momentum + batch.to(running.scalar_type()) * (1 - momentum));
    return running;
  };
  return Results::of({y, tracked(3, mean), tracked(4, var), mean, var});
}

Results batch_normalization(Call& c) {
  Tensor x = c[0];
  check(x.dim() >= 2, "expected [N, C, ...], got ", x);
  const double eps = c.number("epsilon", 1e-5), momentum = c.number("momentum", 0.9);
  if (c.version() < 9 && !c.flag("spatial", true) && c[1].dim() > 1) {  // each element of an image is a channel
    const Tensor flat = x.flatten(1);
    return Results::of({batch_norm(flat, c[1].flatten(), c[2].flatten(), c[3].flatten(), c[4].flatten(), false, 0, eps)
                            .view(x.sizes())});
  }
  // Versions before 7 name the mode, those before 14 tell it by the number of outputs.
  const bool in_training = c.version() < 7    ? !c.flag("is_test") && c.outputs() > 1
                           : c.version() < 14 ? c.outputs() > 1
                                              : c.flag("training_mode");
  if (c.training() && in_training) return trained_batch_norm(c, x, momentum, eps);
  // As PyTorch trains: the inputs are the module's running statistics.
  const Tensor y = batch_norm(x, c[1], c[2], c[3], c[4], c.training(), 1 - momentum, eps);
  return Results::of({y, c[3].detach(), c[4].detach(), Tensor(), Tensor()});
}

Tensor instance_normalization(Call& c) {
  const Tensor& x = c[0];
  check(x.dim() >= 3, "expected [N, C, ...], got ", x);
  const double eps = c.number("epsilon", 1e-5);
  // The other operation refuses channels of one value, as PyTorch's does.
  const bool single = x.numel() == x.size(0) * x.size(1);
  return single ? group_norm(x, x.size(1), c[1], c[2], eps) : instance_norm(x, c[1], c[2], {}, {}, true, 0, eps);
}

int64_t last_axis(const Call& c) {
  check(c[0].dim() > 0, "expected at least one dimension");
  return wrap_axis(c.integer("axis", -1), c[0].dim());
}

// A factor or summand that is not one number per normalised element is applied afterwards.
Results layer_normalization(Call& c) {
  const Tensor& x = c[0];
  const int64_t axis = last_axis(c);
  const List shape(x.sizes().begin() + axis, x.sizes().end());
  const double eps = c.number("epsilon", 1e-5);
  const auto fits = [&](std::size_t input) { return !c.has(input) || c[input].sizes() == IntArrayRef(shape); };
  Tensor y;
  if (fits(1) && fits(2)) {
    y = layer_norm(x, shape, c[1], c.optional(2), eps);
  } else {
    y = layer_norm(x, shape, {}, {}, eps) * c[1];
    if (c.has(2)) y = y + c[2];
    check(y.sizes() == x.sizes(), "scale and bias do not fit the input\n  input ", x, "\n  scale ", c[1]);
  }
  if (!c.wants(1) && !c.wants(2)) return Results::of({y, Tensor(), Tensor()});
  const auto [var, mean] = var_mean(widened(x), dims_of(x, axis), optional<Scalar>(0), true);
  return Results::of({y, mean, (var + eps).rsqrt()});
}

// SimplifiedLayerNormalization, onnxruntime's name for it in ONNX's domain, has a second output.
Results rms_normalization(Call& c) {
  const Tensor &x = c[0], &scale = c[1];
  const int64_t axis = last_axis(c);
  const List shape(x.sizes().begin() + axis, x.sizes().end());
  const double eps = c.number("epsilon", 1e-5);
  const bool fits = scale.sizes() == IntArrayRef(shape) && scale.dtype() == x.dtype();
  const Tensor y = fits ? rms_norm(x, shape, scale, eps) : rms_norm(x, shape, {}, eps).to(scale.scalar_type()) * scale;
  check(y.sizes() == x.sizes(), "scale does not fit the input\n  input ", x, "\n  scale ", scale);
  const auto inverse = [&] { return (widened(x).square().mean(dims_of(x, axis), true) + eps).rsqrt(); };
  return Results::of({y, c.wants(1) ? inverse() : Tensor()});
}

Tensor group_normalization(Call& c) {
  const Tensor& x = c[0];
  const int64_t groups = c.integer("num_groups");
  check(x.dim() >= 2 && groups > 0 && x.size(1) % groups == 0, "num_groups ", groups, " does not fit ", x);
  Tensor scale = c[1], bias = c[2];
  if (c.version() < 21) {  // one number per group
    check(scale.dim() == 1 && scale.size(0) == groups && bias.dim() == 1 && bias.size(0) == groups,
          "scale and bias must have one number for each of ", groups, " groups, got ", scale, " and ", bias);
    scale = scale.repeat_interleave(x.size(1) / groups);
    bias = bias.repeat_interleave(x.size(1) / groups);
  }
  return group_norm(x, groups, scale, bias, c.number("epsilon", 1e-5));
}

// An even number of neighbours has one more after the channel, and Tandem's operation (as PyTorch's) one more before
// it.
Tensor lrn(Call& c) {
  const int64_t size = c.integer("size");
  const double alpha = c.number("alpha", 1e-4), beta = c.number("beta", 0.75), k = c.number("bias", 1.0);
  check(c[0].dim() >= 3 && size >= 1 && size <= INT32_MAX, "expected [N, C, ...] and a positive size, got ", c[0],
        " and ", size);
  if (size % 2 == 1) return local_response_norm(c[0], size, alpha, beta, k);
  return flip(local_response_norm(flip(c[0], 1), size, alpha, beta, k), 1);
}

Tensor lp_normalization(Call& c) {
  const int64_t p = c.integer("p", 2);
  check(p == 1 || p == 2, "p must be 1 or 2, got ", p);
  const Tensor length = norm(c[0], p, last_axis(c), true);
  return c[0] / length.masked_fill(length == 0, 1);  // zeros stay zeros
}

Tensor mean_variance_normalization(Call& c) {
  const Tensor x = widened(c[0]);
  List axes = c.has("axes") ? c.integers("axes") : List{0, 2, 3};
  check(!axes.empty(), "there are no axes");
  const auto [var, mean] = var_mean(x, axes, optional<Scalar>(0), true);
  return ((x - mean) / (var.sqrt() + 1e-9)).to(c[0].scalar_type());
}

}  // namespace

Operators normalization_operators() {
  return {
      {"BatchNormalization", batch_normalization},
      {"InstanceNormalization", instance_normalization},
      {"LayerNormalization", layer_normalization},
      {"RMSNormalization", rms_normalization},
      {"SimplifiedLayerNormalization", rms_normalization},
      {"GroupNormalization", group_normalization},
      {"LRN", lrn},
      {"LpNormalization", lp_normalization},
      {"MeanVarianceNormalization", mean_variance_normalization},
  };
}

}  // namespace tandem::onnx
