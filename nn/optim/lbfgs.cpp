// LBFGS: the two-loop recursion and the state's history. The line search is in lbfgs_line_search.cpp.
#include "tandem/nn/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/profile.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/optim/lbfgs_line_search.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {
namespace {

double number(const Tensor& scalar) { return scalar.item<double>(); }
double largest(const Tensor& values) { return number(values.abs().max()); }

void write_list(serialize::OutputArchive& archive, const char* name, const std::deque<Tensor>& list) {
  archive.write(concat(name, "/size"), static_cast<int64_t>(list.size()));
  for (std::size_t i = 0; i < list.size(); ++i) archive.write(concat(name, "/", i), list[i]);
}
void read_list(serialize::InputArchive& archive, const char* name, std::deque<Tensor>& list) {
  int64_t size = 0;
  archive.read(concat(name, "/size"), size);
  list.clear();
  // Ends with an error at the first missing tensor, whatever the size claims.
  for (int64_t i = 0; i < size; ++i) {
    Tensor value;
    archive.read(concat(name, "/", i), value);
    list.push_back(value.clone());
  }
}

}  // namespace

void LBFGSOptions::serialize(serialize::OutputArchive& archive) const {
  archive.write("lr", lr_);
  archive.write("max_iter", max_iter_);
  if (max_eval_) archive.write("max_eval", *max_eval_);
  archive.write("tolerance_grad", tolerance_grad_);
  archive.write("tolerance_change", tolerance_change_);
  archive.write("history_size", history_size_);
  if (line_search_fn_) archive.write("line_search_fn", *line_search_fn_);
}
void LBFGSOptions::serialize(serialize::InputArchive& archive) {
  archive.read("lr", lr_);
  archive.read("max_iter", max_iter_);
  max_eval_.reset();
  if (archive.contains("max_eval")) archive.read("max_eval", max_eval_.emplace());
  archive.read("tolerance_grad", tolerance_grad_);
  archive.read("tolerance_change", tolerance_change_);
  archive.read("history_size", history_size_);
  line_search_fn_.reset();
  if (archive.contains("line_search_fn")) archive.read("line_search_fn", line_search_fn_.emplace());
}
void LBFGSOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check(history_size_ > 0, "Invalid history_size: ", history_size_);
  check(!line_search_fn_ || *line_search_fn_ == "strong_wolfe",
        "LBFGS: only 'strong_wolfe' is supported as line_search_fn, got '", line_search_fn_.value_or(""), "'");
}

void LBFGSParamState::serialize(serialize::OutputArchive& archive) const {
  archive.write("func_evals", func_evals_);
  archive.write("n_iter", n_iter_);
  archive.write("t", t_);
  archive.write("prev_loss", prev_loss_);
  if (d_.defined()) archive.write("d", d_);
  if (H_diag_.defined()) archive.write("H_diag", H_diag_);
  if (prev_flat_grad_.defined()) archive.write("prev_flat_grad", prev_flat_grad_);
  write_list(archive, "old_dirs", old_dirs_);
  write_list(archive, "old_stps", old_stps_);
  write_list(archive, "ro", ro_);
}
void LBFGSParamState::serialize(serialize::InputArchive& archive) {
  archive.read("func_evals", func_evals_);
  archive.read("n_iter", n_iter_);
  archive.read("t", t_);
  archive.read("prev_loss", prev_loss_);
  const auto read = [&](const char* name, Tensor& value) {
    value.reset();
    if (archive.try_read(name, value)) value = value.clone();
  };
  read("d", d_);
  read("H_diag", H_diag_);
  read("prev_flat_grad", prev_flat_grad_);
  read_list(archive, "old_dirs", old_dirs_);
  read_list(archive, "old_stps", old_stps_);
  read_list(archive, "ro", ro_);
  check(old_dirs_.size() == old_stps_.size() && old_dirs_.size() == ro_.size(),
        "LBFGS: the saved histories differ in length: ", old_dirs_.size(), ", ", old_stps_.size(), " and ", ro_.size());
}

LBFGS::LBFGS(const std::vector<OptimizerParamGroup>& groups, LBFGSOptions defaults)
    : Optimizer(groups, std::make_unique<LBFGSOptions>(defaults)) {
  check(param_groups_.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups), got ",
        param_groups_.size(), " groups");
  auto& options = static_cast<LBFGSOptions&>(param_groups_[0].options());
  if (options.max_eval()) return;
  options.max_eval(options.max_iter() * 5 / 4);
  static_cast<LBFGSOptions&>(*defaults_).max_eval(*options.max_eval());
}

namespace {
// What is optimized of a complex parameter, as in PyTorch: its parts.
Tensor parts_of(const Tensor& t) { return t.is_complex() ? view_as_real(t.detach()) : t; }
}  // namespace

Tensor LBFGS::flat_gradient() const {
  std::vector<Tensor> all;
  for (const Tensor& p : own())
    all.push_back(parts_of(p.grad().defined() ? p.grad().detach() : zeros(p.sizes(), p.options())).reshape({-1}));
  return cat(all, 0);
}

void LBFGS::move(double length, const Tensor& direction) const {
  int64_t at = 0;
  for (const Tensor& whole : own()) {
    Tensor p = parts_of(whole);
    p.add_(direction.narrow(0, at, p.numel()).view(p.sizes()), length);
    at += p.numel();
  }
}

namespace {

// Adds the last step to the history and returns the new search direction.
Tensor next_direction(LBFGSParamState& state, const Tensor& gradient, int64_t history_size) {
  if (state.n_iter() == 1) {
    state.old_dirs().clear();
    state.old_stps().clear();
    state.ro().clear();
    state.H_diag(ones({}, gradient.options()));
    return gradient.neg();
  }
  const Tensor y = gradient.sub(state.prev_flat_grad()), s = state.d().mul(state.t()), ys = y.dot(s);
  if (number(ys) > 1e-10) {
    while (static_cast<int64_t>(state.old_dirs().size()) >= history_size) {
      state.old_dirs().pop_front();
      state.old_stps().pop_front();
      state.ro().pop_front();
    }
    state.old_dirs().push_back(y);
    state.old_stps().push_back(s);
    state.ro().push_back(ys.reciprocal());
    state.H_diag(ys.div(y.dot(y)));
  }
  const std::size_t count = state.old_dirs().size();
  std::vector<Tensor> al(count);
  Tensor direction = gradient.neg();
  for (std::size_t i = count; i-- > 0;) {
    al[i] = state.old_stps()[i].dot(direction).mul(state.ro()[i]);
    direction.sub_(state.old_dirs()[i].mul(al[i]));
  }
  direction.mul_(state.H_diag());
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor be = state.old_dirs()[i].dot(direction).mul(state.ro()[i]);
    direction.add_(state.old_stps()[i].mul(al[i].sub(be)));
  }
  return direction;
}

// The state on the device and in the dtype of the parameters, which a loaded one may differ from.
void match(LBFGSParamState& state, const Tensor& gradient, int64_t numel) {
  const auto convert = [&](Tensor& value) {
    if (value.defined()) value = value.to(gradient.device(), gradient.scalar_type());
  };
  for (Tensor* value : {&state.d(), &state.H_diag(), &state.prev_flat_grad()}) convert(*value);
  for (auto* list : {&state.old_dirs(), &state.old_stps(), &state.ro()})
    for (Tensor& value : *list) convert(value);
  check(!state.d().defined() || state.d().numel() == numel, "LBFGS: the state has directions of ",
        state.d().defined() ? state.d().numel() : 0, " numbers, but the parameters have ", numel);
}

}  // namespace

/// One step(): the current point and the evaluations so far.
struct LBFGS::Run {
  LBFGS& optimizer;
  const LossClosure& closure;
  const LBFGSOptions& options;
  LBFGSParamState& state;
  double loss;
  Tensor gradient;
  int64_t evaluations = 1;

  // The loss at `length` along the direction; the parameters are restored.
  LinePoint at(double length, const std::vector<Tensor>& from) {
    optimizer.move(length, state.d());
    LinePoint point{length, number(run_closure(closure)), optimizer.flat_gradient()};
    point.slope = number(point.gradient.dot(state.d()));
    for (std::size_t i = 0; i < from.size(); ++i) Tensor(optimizer.own()[i]).copy_(from[i]);
    return point;
  }

  // Moves along the direction; `last` without a line search does not evaluate the new point.
  void advance(double slope, bool last) {
    int64_t count = 0;
    if (options.line_search_fn()) {
      std::vector<Tensor> from;
      for (const Tensor& p : optimizer.own()) from.push_back(p.detach().clone());
      LinePoint found =
          strong_wolfe([&](double t) { return at(t, from); }, state.t(), {0, loss, gradient, slope}, largest(state.d()),
                       options.tolerance_change(), *options.max_eval() - evaluations, count);
      state.t(found.t);
      loss = found.loss;
      gradient = std::move(found.gradient);
      optimizer.move(state.t(), state.d());
    } else {
      optimizer.move(state.t(), state.d());
      if (!last) {
        loss = number(run_closure(closure));
        gradient = optimizer.flat_gradient();
        count = 1;
      }
    }
    evaluations += count;
    state.func_evals() += count;
  }

  void iterate() {
    for (int64_t i = 1; i <= options.max_iter(); ++i) {
      ++state.n_iter();
      state.d(next_direction(state, gradient, options.history_size()));
      state.prev_flat_grad(gradient.clone());
      state.prev_loss(loss);
      state.t(options.lr());
      if (state.n_iter() == 1) state.t() *= std::min(1.0, 1 / number(gradient.abs().sum()));
      const double slope = number(gradient.dot(state.d()));
      if (slope > -options.tolerance_change()) return;
      advance(slope, i == options.max_iter());
      if (evaluations >= *options.max_eval() || largest(gradient) <= options.tolerance_grad() ||
          largest(state.d().mul(state.t())) <= options.tolerance_change() ||
          std::abs(loss - state.prev_loss()) < options.tolerance_change())
        return;
    }
  }
};

Tensor LBFGS::step(LossClosure closure) {
  const profiler::Record span("LBFGS::step", "optimizer");
  check(static_cast<bool>(closure), "LBFGS.step: expected a closure that recomputes the loss");
  const NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  check_not_cut(own());
  int64_t numel = 0;
  for (const Tensor& p : own()) numel += p.numel();
  if (numel == 0) return loss;
  auto& options = static_cast<LBFGSOptions&>(param_groups_[0].options());
  if (!options.max_eval()) options.max_eval(options.max_iter() * 5 / 4);
  auto& state = state_of<LBFGSParamState>(own()[0]);
  ++state.func_evals();
  Tensor gradient = flat_gradient();
  if (largest(gradient) <= options.tolerance_grad()) return loss;
  match(state, gradient, gradient.numel());
  Run{*this, closure, options, state, number(loss), std::move(gradient)}.iterate();
  return loss;
}

LBFGS::LBFGS(std::vector<Tensor> params, LBFGSOptions defaults)
    : LBFGS(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}
std::unique_ptr<OptimizerParamState> LBFGS::make_state() const { return std::make_unique<LBFGSParamState>(); }

}  // namespace tandem::optim
