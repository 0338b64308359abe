// Ramps, cycles and sequences of learning rates.
#include "tandem/nn/optim/cycles.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "tandem/nn/files/archive.h"

namespace tandem::optim {
namespace {

double part_of(int64_t step, int64_t total) {
  return static_cast<double>(std::min(step, total)) / static_cast<double>(total);
}

// Sets the momentum, or the first beta, of each group. Throws Error on an optimizer without either.
void set_momentum(const char* scheduler, Optimizer& optimizer, double value) {
  for (auto& group : optimizer.param_groups()) {
    bool found = false;
    for (const Field& field : group.options().fields()) {
      const std::string_view name = field.name;
      if (field.number == nullptr || (name != "momentum" && name != "beta1")) continue;
      *field.number = value;
      found = true;
    }
    check(found, scheduler, ": the optimizer must have momentum or beta1 with cycle_momentum");
  }
}

}  // namespace

std::vector<double> FactorLR::get_lrs() {
  const double before = step_count_ == 0 ? 1 : factor(step_count_ - 1), now = factor(step_count_);
  if (before == 0 && now != 0) return first_lrs();  // nothing of other schedulers is left in the rate
  return now == before ? get_current_lrs() : scaled(get_current_lrs(), now / before);
}
std::vector<double> FactorLR::first_lrs() { return scaled(initial_lrs(), factor(step_count_)); }

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : FactorLR(optimizer), factor_(factor), total_iters_(total_iters) {
  check(factor >= 0 && factor <= 1, "ConstantLR: expected a factor from 0 to 1, got ", factor);
  set_optimizer_lrs(ConstantLR::get_lrs());
}
double ConstantLR::factor(int64_t step) const { return step < total_iters_ ? factor_ : 1; }

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : FactorLR(optimizer), start_(start_factor), end_(end_factor), total_iters_(total_iters) {
  check(start_factor > 0 && start_factor <= 1, "LinearLR: expected a start_factor above 0 and up to 1, got ",
        start_factor);
  check(end_factor >= 0 && end_factor <= 1, "LinearLR: expected an end_factor from 0 to 1, got ", end_factor);
  check(total_iters > 0, "LinearLR: total_iters must be positive, got ", total_iters);
  set_optimizer_lrs(LinearLR::get_lrs());
}
double LinearLR::factor(int64_t step) const { return start_ + (end_ - start_) * part_of(step, total_iters_); }

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : FactorLR(optimizer), total_iters_(total_iters), power_(power) {
  check(total_iters > 0, "PolynomialLR: total_iters must be positive, got ", total_iters);
}
double PolynomialLR::factor(int64_t step) const { return std::pow(1 - part_of(step, total_iters_), power_); }

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min)
    : LRScheduler(optimizer), T_0_(T_0), T_mult_(T_mult), eta_min_(eta_min) {
  check(T_0 > 0, "CosineAnnealingWarmRestarts: expected positive T_0, got ", T_0);
  check(T_mult >= 1, "CosineAnnealingWarmRestarts: expected T_mult >= 1, got ", T_mult);
  set_optimizer_lrs(initial_lrs());
}
std::vector<double> CosineAnnealingWarmRestarts::get_lrs() {
  int64_t step = step_count_, length = T_0_;
  if (T_mult_ == 1) step %= length;
  for (; step >= length; length *= T_mult_) step -= length;
  const double part = static_cast<double>(step) / static_cast<double>(length);
  auto lrs = initial_lrs();
  for (double& lr : lrs) lr = eta_min_ + (lr - eta_min_) * (1 + std::cos(std::numbers::pi * part)) / 2;
  return lrs;
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, OneCycleLROptions options)
    : LRScheduler(optimizer), options_(std::move(options)) {
  check(options_.max_lr > 0, "OneCycleLR: max_lr must be positive, got ", options_.max_lr);
  check(options_.total_steps > 0, "OneCycleLR: total_steps must be positive, got ", options_.total_steps);
  check(options_.pct_start >= 0 && options_.pct_start <= 1, "OneCycleLR: expected pct_start from 0 to 1, got ",
        options_.pct_start);
  check(options_.anneal_strategy == "cos" || options_.anneal_strategy == "linear",
        "OneCycleLR: anneal_strategy must be 'cos' or 'linear', got '", options_.anneal_strategy, "'");
  set_optimizer_lrs(OneCycleLR::get_lrs());
}
std::vector<double> OneCycleLR::get_lrs() {
  struct Phase {
    double end, from_lr, to_lr, from_momentum, to_momentum;
  };
  const OneCycleLROptions& o = options_;
  check(step_count_ <= o.total_steps, "OneCycleLR: tried to step ", step_count_,
        " times. The specified number of total steps is ", o.total_steps);
  const auto total = static_cast<double>(o.total_steps), step = static_cast<double>(step_count_);
  const double first = o.max_lr / o.div_factor, last = first / o.final_div_factor;
  const double low = o.base_momentum, high = o.max_momentum, rise = o.pct_start * total;
  std::vector<Phase> phases{{rise - 1, first, o.max_lr, high, low}};
  if (o.three_phase) {
    phases.push_back({2 * rise - 2, o.max_lr, first, low, high});
    phases.push_back({total - 1, first, last, high, high});
  } else {
    phases.push_back({total - 1, o.max_lr, last, low, high});
  }
  std::size_t at = 0;
  while (at + 1 < phases.size() && step > phases[at].end) ++at;
  const double begin = at == 0 ? 0 : phases[at - 1].end, end = phases[at].end;
  const double part = end == begin ? 1 : (step - begin) / (end - begin);  // a phase may take no step
  const auto between = [&](double from, double to) {
    if (o.anneal_strategy == "linear") return from + (to - from) * part;
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
  };
  if (o.cycle_momentum)
    set_momentum("OneCycleLR", optimizer_, between(phases[at].from_momentum, phases[at].to_momentum));
  return std::vector<double>(initial_lrs().size(), between(phases[at].from_lr, phases[at].to_lr));
}

CyclicLR::CyclicLR(Optimizer& optimizer, CyclicLROptions options)
    : LRScheduler(optimizer), options_(std::move(options)) {
  check(options_.max_lr > 0, "CyclicLR: max_lr must be positive, got ", options_.max_lr);
  check(options_.step_size_up > 0 && options_.step_size_down.value_or(1) > 0, "CyclicLR: step sizes must be positive");
  check(options_.mode == "triangular" || options_.mode == "triangular2" || options_.mode == "exp_range",
        "CyclicLR: mode must be 'triangular', 'triangular2' or 'exp_range', got '", options_.mode, "'");
  set_optimizer_lrs(CyclicLR::get_lrs());
}
std::vector<double> CyclicLR::get_lrs() {
  const CyclicLROptions& o = options_;
  const auto up = static_cast<double>(o.step_size_up), step = static_cast<double>(step_count_);
  const auto down = static_cast<double>(o.step_size_down.value_or(o.step_size_up));
  const double total = up + down, ratio = up / total, cycle = std::floor(1 + step / total);
  const double x = 1 + step / total - cycle;
  double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
  if (o.mode == "triangular2") height /= std::pow(2.0, cycle - 1);
  if (o.mode == "exp_range") height *= std::pow(o.gamma, step);
  if (o.cycle_momentum)
    set_momentum("CyclicLR", optimizer_, o.max_momentum - (o.max_momentum - o.base_momentum) * height);
  return std::vector<double>(initial_lrs().size(), o.base_lr + (o.max_lr - o.base_lr) * height);
}

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<int64_t> milestones)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  check(!schedulers_.empty(), "SequentialLR expects at least one scheduler");
  for (const auto& scheduler : schedulers_) check(scheduler != nullptr, "SequentialLR: a scheduler is null");
  check(milestones_.size() + 1 == schedulers_.size(), "SequentialLR: expected ", schedulers_.size() - 1,
        " milestones for ", schedulers_.size(), " schedulers, got ", milestones_.size());
  check(std::is_sorted(milestones_.begin(), milestones_.end()), "SequentialLR: milestones must ascend");
  schedulers_[0]->restart();
}
std::vector<double> SequentialLR::get_lrs() {
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), step_count_);
  LRScheduler& scheduler = *schedulers_[static_cast<std::size_t>(next - milestones_.begin())];
  if (next != milestones_.begin() && next[-1] == step_count_)
    scheduler.restart();
  else
    scheduler.step();
  return get_current_lrs();
}
void SequentialLR::save(serialize::OutputArchive& archive) const {
  LRScheduler::save(archive);
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    serialize::OutputArchive part;
    schedulers_[i]->save(part);
    archive.write(concat("schedulers.", i), part);
  }
}
void SequentialLR::load(serialize::InputArchive& archive) {
  LRScheduler::load(archive);
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    serialize::InputArchive part;
    archive.read(concat("schedulers.", i), part);
    schedulers_[i]->load(part);
  }
}

}  // namespace tandem::optim
