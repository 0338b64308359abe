// Loss scaling.
#include "tandem/nn/optim/grad_scaler.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"

namespace tandem::amp {
namespace {

void check_state(const GradScalerState& s) {
  check(std::isfinite(s.scale) && s.scale > 0, "GradScaler: the scale must be positive, got ", s.scale);
  check(s.growth_factor > 1, "GradScaler: growth_factor must be more than 1, got ", s.growth_factor);
  check(s.backoff_factor > 0 && s.backoff_factor < 1, "GradScaler: backoff_factor must be between 0 and 1, got ",
        s.backoff_factor);
  check(s.growth_interval > 0, "GradScaler: growth_interval must be positive, got ", s.growth_interval);
  check(s.growth_tracker >= 0 && s.growth_tracker < s.growth_interval,
        "GradScaler: growth_tracker must be at least 0 and less than growth_interval, got ", s.growth_tracker);
}

// A product with a number in float32's memory, rounded to the tensor's dtype once, as one with a number of the host.
Tensor scaled(const Tensor& t, const Tensor& scale) {
  const Tensor here = scale.to(t.device());
  return isReducedFloatingType(t.scalar_type()) ? (t.to(kFloat) * here).to(t.scalar_type()) : t * here;
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_(options),
      state_{options.init_scale, options.growth_factor, options.backoff_factor, options.growth_interval, 0} {
  check_state(state_);
}

Tensor GradScaler::scale(const Tensor& output) const {
  if (!is_enabled()) return output;
  // A loss in float16 would overflow; PyTorch's product with a float32 number is float32, too.
  const Tensor wide = output.dim() == 0 && isReducedFloatingType(output.scalar_type()) ? output.to(kFloat) : output;
  return kept_.defined() ? scaled(wide, kept_) : wide * state_.scale;
}
std::vector<Tensor> GradScaler::scale(TensorList outputs) const {
  std::vector<Tensor> out;
  for (const Tensor& t : outputs) out.push_back(scale(t));
  return out;
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return;
  check(seen_.find(&optimizer) == seen_.end(), "GradScaler.unscale_: called a second time since the last update()");
  note(optimizer, divide_gradients(optimizer));
}

Tensor GradScaler::divide_gradients(const optim::Optimizer& optimizer) const {
  if (!is_enabled()) return {};
  for (const Tensor& p : optimizer.parameters())
    check(!p.grad().defined() || p.grad().dtype() != kHalf,
          "GradScaler.unscale_: a gradient is float16; keep parameters in float32");
  NoGradGuard no_grad;
  Tensor bad;  // 0, or NaN; on the device of the first gradient
  const double inverse = 1 / state_.scale;
  for (const Tensor& p : optimizer.parameters()) {
    if (!p.grad().defined()) continue;
    Tensor g = p.grad().detach();
    const DeviceGuard guard(g.device());
    kept_.defined() ? g.copy_(scaled(g, kept_inverse_)) : g.mul_(inverse);
    const Tensor zero = ((g.is_complex() ? view_as_real(g) : g) * 0).sum().to(kFloat);
    bad = bad.defined() ? bad + zero.to(bad.device()) : zero;
  }
  check(bad.defined(), "GradScaler.unscale_: the optimizer's parameters have no gradients");
  return bad;
}

void GradScaler::keep_on(Device device) {
  if (kept_.defined() && kept_.device() == device) return;  // recorded steps read this memory
  kept_ = empty({}, TensorOptions(device).dtype(kFloat));
  kept_inverse_ = empty_like(kept_);
  refresh();
}

void GradScaler::refresh() {
  if (!kept_.defined()) return;
  kept_.fill_(state_.scale);
  kept_inverse_.fill_(1 / state_.scale);
}

void GradScaler::note(optim::Optimizer& optimizer, const Tensor& found) {
  seen_[&optimizer].finite = found.item<float>() == 0;
}

bool GradScaler::step(optim::Optimizer& optimizer) {
  return step(optimizer, [&] { optimizer.step(); });
}

bool GradScaler::step(optim::Optimizer& optimizer, const Tensor& found) {
  if (is_enabled()) note(optimizer, found);
  return step(optimizer);
}

bool GradScaler::step(optim::Optimizer& optimizer, const std::function<void()>& take) {
  if (!is_enabled()) {
    take();
    return true;
  }
  if (seen_.find(&optimizer) == seen_.end()) unscale_(optimizer);
  Seen& seen = seen_.at(&optimizer);
  check(!seen.stepped, "GradScaler.step: called a second time since the last update()");
  if (seen.finite) take();
  seen.stepped = true;
  return seen.finite;
}

void GradScaler::update(optional<double> new_scale) {
  if (!is_enabled()) return;
  if (new_scale) {
    GradScalerState next = state_;
    next.scale = *new_scale;
    load_state_dict(next);
  } else {
    check(!seen_.empty(), "GradScaler.update: no gradients were looked at; call step() first");
    const double before = state_.scale;
    bool finite = true;
    for (const auto& [optimizer, seen] : seen_) finite = finite && seen.finite;
    if (!finite) {
      state_.scale = std::max(state_.scale * state_.backoff_factor, 0x1p-126);  // never 0
      state_.growth_tracker = 0;
    } else if (++state_.growth_tracker >= state_.growth_interval) {
      // PyTorch, too, keeps a scale whose growth would leave float32.
      if (const double grown = state_.scale * state_.growth_factor; grown <= 0x1.fffffep127) state_.scale = grown;
      state_.growth_tracker = 0;
    }
    if (state_.scale != before) refresh();
  }
  seen_.clear();
}

void GradScaler::set_growth_factor(double factor) {
  GradScalerState next = state_;
  next.growth_factor = factor;
  load_state_dict(next);
}
void GradScaler::set_backoff_factor(double factor) {
  GradScalerState next = state_;
  next.backoff_factor = factor;
  load_state_dict(next);
}
void GradScaler::set_growth_interval(int64_t interval) {
  GradScalerState next = state_;
  next.growth_interval = interval;
  next.growth_tracker = std::min(next.growth_tracker, std::max<int64_t>(interval - 1, 0));
  load_state_dict(next);
}
void GradScaler::load_state_dict(const GradScalerState& state) {
  check_state(state);
  state_ = state;
  refresh();
}

}  // namespace tandem::amp
