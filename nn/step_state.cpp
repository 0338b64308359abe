// Snapshots of optimizers, taken over the fields under which they are saved.
#include "tandem/nn/step_state.h"

#include <algorithm>

namespace tandem::detail {

std::vector<OptimizerSnapshot::Value> OptimizerSnapshot::read(const std::vector<optim::Field>& fields) {
  std::vector<Value> out(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const optim::Field& field = fields[i];
    if (field.number != nullptr) out[i].number = *field.number;
    if (field.count != nullptr) out[i].count = *field.count;
    if (field.flag != nullptr) out[i].flag = *field.flag;
    if (field.tensor != nullptr) out[i].tensor = *field.tensor;
  }
  return out;
}
void OptimizerSnapshot::write(const std::vector<optim::Field>& fields, const std::vector<Value>& values) {
  for (std::size_t i = 0; i < fields.size() && i < values.size(); ++i) {
    const optim::Field& field = fields[i];
    if (field.number != nullptr) *field.number = values[i].number;
    if (field.count != nullptr) *field.count = values[i].count;
    if (field.flag != nullptr) *field.flag = values[i].flag;
    if (field.tensor != nullptr) *field.tensor = values[i].tensor;
  }
}

OptimizerSnapshot::OptimizerSnapshot(const std::vector<optim::Optimizer*>& optimizers) : optimizers_(optimizers) {
  for (std::size_t o = 0; o < optimizers.size(); ++o) {
    for (const auto& [key, state] : optimizers[o]->state())
      if (state) parameters_.push_back({o, key, read(state->fields())});
    for (const auto& group : optimizers[o]->param_groups()) options_.push_back(read(group.options().fields()));
  }
}

void OptimizerSnapshot::restore() const {
  std::size_t group_at = 0;
  for (std::size_t o = 0; o < optimizers_.size(); ++o) {
    auto& states = optimizers_[o]->state();
    std::erase_if(states, [&](const auto& entry) {
      return std::ranges::none_of(parameters_,
                                  [&](const Parameter& p) { return p.optimizer == o && p.key == entry.first; });
    });
    for (const auto& group : optimizers_[o]->param_groups())
      if (group_at < options_.size()) write(group.options().fields(), options_[group_at++]);
  }
  for (const Parameter& p : parameters_)
    if (const auto found = optimizers_[p.optimizer]->state().find(p.key);
        found != optimizers_[p.optimizer]->state().end() && found->second)
      write(found->second->fields(), p.values);
}

std::string OptimizerSnapshot::forbidden_change() const {
  std::size_t states = 0, group_at = 0;
  for (optim::Optimizer* optimizer : optimizers_) {
    for (const auto& [key, state] : optimizer->state()) states += state != nullptr;
    for (const auto& group : optimizer->param_groups()) {
      if (group_at == options_.size()) return "adds a parameter group to an optimizer";
      const std::vector<Value> now = read(group.options().fields());
      const std::vector<Value>& before = options_[group_at++];
      if (!std::ranges::equal(now, before, [](const Value& a, const Value& b) {
            return a.number == b.number && a.count == b.count && a.flag == b.flag;
          }))
        return "changes an optimizer's options (keep schedulers outside the step)";
    }
  }
  if (states != parameters_.size()) return "creates optimizer state";
  for (const Parameter& p : parameters_) {
    const auto found = optimizers_[p.optimizer]->state().find(p.key);
    if (found == optimizers_[p.optimizer]->state().end()) return "removes optimizer state";
    const std::vector<Value> now = read(found->second->fields());
    for (std::size_t i = 0; i < now.size(); ++i)
      if (!now[i].tensor.is_same(p.values[i].tensor)) return "creates optimizer state";
  }
  return {};
}

std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> out;
  out.reserve(parameters.size());
  for (const Tensor& p : parameters) out.push_back(p.grad());
  return out;
}
void set_gradients(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!parameters[i].grad().is_same(gradients[i])) parameters[i].mutable_grad() = gradients[i];
}

}  // namespace tandem::detail
