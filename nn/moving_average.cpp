// The module's state dict is read again for each update, so that the module may have been moved in between.
#include "tandem/nn/moving_average.h"

#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

ExponentialMovingAverage::ExponentialMovingAverage(std::shared_ptr<Module> module, double decay, EmaWarmup warmup)
    : module_(std::move(module)), decay_(decay), warmup_(warmup) {
  check(module_ != nullptr, "ExponentialMovingAverage: no module given");
  check(decay >= 0 && decay < 1, "ExponentialMovingAverage: decay ", decay, "; expected a number from 0 to below 1");
  NoGradGuard no_grad;
  for (const auto& item : module_->state_dict()) averages_.insert(item.key(), item.value().clone());
}

double ExponentialMovingAverage::decay() const {
  const auto n = static_cast<double>(updates_);
  return warmup_ == EmaWarmup::kYes ? std::min(decay_, (1 + n) / (10 + n)) : decay_;
}

void ExponentialMovingAverage::update() {
  check(!in_use_, "ExponentialMovingAverage.update: the module has the averages at present");
  NoGradGuard no_grad;
  const double weight = 1 - decay();
  for (const auto& item : module_->state_dict()) {
    const Tensor& value = item.value();
    Tensor& average = averages_[item.key()];
    if (average.device() != value.device()) average = average.to(value.device());
    if (updates_ > 0 && value.is_floating_point())
      average.lerp_(value, weight);
    else
      average.copy_(value);
  }
  ++updates_;
}

ExponentialMovingAverage::Use::Use(ExponentialMovingAverage& average) : average_(average) {
  check(!average.in_use_, "ExponentialMovingAverage.use: the module has the averages already");
  NoGradGuard no_grad;
  for (const auto& item : average.module_->state_dict()) {
    own_.push_back(item.value().clone());
    values_.push_back(item.value());
  }
  std::size_t i = 0;
  for (const auto& item : average.averages_) values_.at(i++).copy_(item.value());
  average.in_use_ = true;
}

ExponentialMovingAverage::Use::~Use() {
  NoGradGuard no_grad;
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i].copy_(own_[i]);
  average_.in_use_ = false;
}

void ExponentialMovingAverage::save(serialize::OutputArchive& archive) const {
  for (const auto& item : averages_) archive.write(item.key(), item.value());
  archive.write("updates", updates_);
}

void ExponentialMovingAverage::load(serialize::InputArchive& archive) {
  int64_t updates = 0;
  archive.read("updates", updates);
  check(updates >= 0, "ExponentialMovingAverage.load: ", updates, " updates");
  check(archive.tensors().size() == averages_.size(), "ExponentialMovingAverage.load: ", archive.tensors().size(),
        " tensors were saved, but the module has ", averages_.size());
  for (const auto& item : averages_) {
    const Tensor* saved = archive.tensors().find(item.key());
    check(saved != nullptr, "ExponentialMovingAverage.load: ", item.key(), " is missing");
    check(saved->sizes() == item.value().sizes() && saved->dtype() == item.value().dtype(),
          "ExponentialMovingAverage.load: ", item.key(), " differs\n  ", *saved, "\n  ", item.value());
  }
  NoGradGuard no_grad;
  for (auto& item : averages_) item.value().copy_(archive.tensors()[item.key()]);
  updates_ = updates;
}

}  // namespace tandem::nn
