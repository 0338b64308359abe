// Learning rate schedulers.
#include "tandem/nn/optim/schedulers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/nn/files/archive.h"

namespace tandem::optim {
namespace {

void check_groups(std::size_t rates, std::size_t groups) {
  check(rates == groups, "the scheduler has ", rates, " learning rates, but the optimizer has ", groups,
        " parameter groups: create the scheduler after adding the last group");
}

}  // namespace

std::vector<double> LRScheduler::scaled(std::vector<double> lrs, double factor) {
  for (double& lr : lrs) lr *= factor;
  return lrs;
}

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  for (auto& group : optimizer.param_groups()) {
    if (!group.initial_lr()) group.initial_lr() = group.options().get_lr();
    initial_lrs_.push_back(*group.initial_lr());
  }
}

void LRScheduler::step() {
  ++step_count_;
  set_optimizer_lrs(get_lrs());
}

void LRScheduler::restart() {
  step_count_ = 0;
  set_optimizer_lrs(first_lrs());
}

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> out;
  for (const auto& group : optimizer_.param_groups()) out.push_back(group.options().get_lr());
  return out;
}

void LRScheduler::set_optimizer_lrs(const std::vector<double>& lrs) {
  auto& groups = optimizer_.param_groups();
  check_groups(lrs.size(), groups.size());
  for (std::size_t i = 0; i < lrs.size(); ++i) groups[i].options().set_lr(lrs[i]);
}

void LRScheduler::save(serialize::OutputArchive& archive) const {
  archive.write("step_count", step_count_);
  archive.write("groups", static_cast<int64_t>(initial_lrs_.size()));
  for (std::size_t i = 0; i < initial_lrs_.size(); ++i) archive.write(concat("initial_lr.", i), initial_lrs_[i]);
}
void LRScheduler::load(serialize::InputArchive& archive) {
  int64_t groups = 0;
  archive.read("groups", groups);
  check(groups == static_cast<int64_t>(initial_lrs_.size()), "the scheduler was saved with ", groups,
        " parameter groups, but this one has ", initial_lrs_.size());
  archive.read("step_count", step_count_);
  for (std::size_t i = 0; i < initial_lrs_.size(); ++i) archive.read(concat("initial_lr.", i), initial_lrs_[i]);
}

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  check(step_size > 0, "StepLR: step_size must be positive");
}
std::vector<double> StepLR::get_lrs() {
  return step_count_ % step_size_ == 0 ? scaled(get_current_lrs(), gamma_) : get_current_lrs();
}

std::vector<double> MultiStepLR::get_lrs() {
  auto lrs = get_current_lrs();
  for (auto n = std::ranges::count(milestones_, step_count_); n > 0; --n) lrs = scaled(std::move(lrs), gamma_);
  return lrs;
}

std::vector<double> ExponentialLR::get_lrs() { return scaled(get_current_lrs(), gamma_); }

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), T_max_(T_max), eta_min_(eta_min) {
  check(T_max > 0, "CosineAnnealingLR: T_max must be positive, got ", T_max);
}
std::vector<double> CosineAnnealingLR::get_lrs() {
  const auto height = [&](int64_t step) {
    return (1 + std::cos(std::numbers::pi * static_cast<double>(step) / static_cast<double>(T_max_))) / 2;
  };
  const bool at_bottom = (step_count_ - 1) % (2 * T_max_) == T_max_;  // before this step
  const double now = height(step_count_), before = height(step_count_ - 1);
  auto lrs = get_current_lrs();
  check_groups(initial_lrs().size(), lrs.size());
  for (std::size_t i = 0; i < lrs.size(); ++i)
    lrs[i] = at_bottom ? lrs[i] + (initial_lrs()[i] - eta_min_) * now : eta_min_ + (lrs[i] - eta_min_) * (now / before);
  return lrs;
}

std::vector<double> LambdaLR::get_lrs() { return scaled(initial_lrs(), factor_->at(step_count_)); }

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, Settings settings)
    : optimizer_(optimizer),
      settings_(settings),
      best_(settings.mode == Mode::kMin ? std::numeric_limits<double>::infinity()
                                        : -std::numeric_limits<double>::infinity()) {
  check(settings.factor > 0 && settings.factor < 1, "ReduceLROnPlateau: factor must be in (0, 1), got ",
        settings.factor);
}

void ReduceLROnPlateau::step(double metric) {
  const bool better =
      settings_.mode == Mode::kMin
          ? metric < best_ - std::abs(best_) * settings_.threshold || (std::isinf(best_) && metric < best_)
          : metric > best_ + std::abs(best_) * settings_.threshold || (std::isinf(best_) && metric > best_);
  if (better) best_ = metric;
  bad_ = better ? 0 : bad_ + 1;
  if (wait_ > 0) {
    --wait_;
    bad_ = 0;
  }
  if (bad_ <= settings_.patience) return;
  for (auto& group : optimizer_.param_groups())
    group.options().set_lr(std::max(group.options().get_lr() * settings_.factor, settings_.min_lr));
  wait_ = settings_.cooldown;
  bad_ = 0;
}

void ReduceLROnPlateau::save(serialize::OutputArchive& archive) const {
  archive.write("best", best_);
  archive.write("bad_steps", bad_);
  archive.write("wait", wait_);
}
void ReduceLROnPlateau::load(serialize::InputArchive& archive) {
  archive.read("best", best_);
  archive.read("bad_steps", bad_);
  archive.read("wait", wait_);
}

}  // namespace tandem::optim
