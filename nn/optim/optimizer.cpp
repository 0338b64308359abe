// Optimizer: parameter groups, gradients, saving and loading.
#include "tandem/nn/optim/optimizer.h"

#include <algorithm>
#include <unordered_set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/core/backend/optim.h"
#include "tandem/core/profile.h"
#include "tandem/nn/files/archive.h"

namespace tandem::optim {

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& groups,
                     std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  defaults_->validate();
  for (const auto& group : groups) Optimizer::add_param_group(group);
}
Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))},
                std::move(defaults)) {}
Optimizer::~Optimizer() = default;

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  std::unordered_set<const TensorImpl*> known;
  for (const Tensor& p : parameters()) known.insert(p.impl());
  for (const Tensor& p : group.params()) {
    check(p.defined(), "an optimizer got an undefined parameter");
    check(p.is_leaf(), "can't optimize a non-leaf Tensor: ", p);
    check(known.insert(p.impl()).second,
          "some parameters appear in more than one parameter group, or twice: ", p);
  }
  OptimizerParamGroup added(group);
  if (!added.has_options()) added.set_options(defaults_->clone());
  added.options().validate();
  groups_.push_back(std::move(added));
}

void Optimizer::zero_grad(bool set_to_none) {
  const profiler::Record span("zero_grad", "optimizer");
  NoGradGuard no_grad;
  for (auto& group : groups_)
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      if (set_to_none) {
        p.mutable_grad().reset();
      } else {
        if (p.grad().requires_grad()) p.mutable_grad() = p.grad().detach();
        p.mutable_grad().zero_();
      }
    }
}

void Optimizer::step_with(const FlatGradients& gradients) {
  Tensor own = gradients.own;
  check(own.defined() && own.is_contiguous(), name(), ".step_with: expected contiguous flat gradients");
  for (const auto& group : groups_)
    for (const Tensor& p : group.params())
      check(p.grad().defined() && p.grad().is_contiguous() && p.grad().storage() == own.storage() &&
                p.grad().storage_offset() >= own.storage_offset() &&
                p.grad().storage_offset() + p.grad().numel() <= own.storage_offset() + own.numel(),
            name(), ".step_with: the gradient is not a view of the flat gradients for ", p);
  for (const Tensor& other : gradients.others)
    check(other.defined() && other.is_contiguous() && other.sizes() == own.sizes() &&
              other.dtype() == own.dtype() && other.device() == own.device(),
          name(), ".step_with: flat gradients differ in size, dtype or device\n  ", own, "\n  ", other);
  const std::size_t count = gradients.others.size(), most = sums_gradients() ? Gradients::kMostOthers : 0;
  const auto rest = gradients.others.begin() + static_cast<std::ptrdiff_t>(count - std::min(count, most));
  NoGradGuard no_grad;
  for (auto other = gradients.others.begin(); other != rest; ++other) own.add_(*other);
  const FlatGradients left{own, {rest, gradients.others.end()}};
  struct Reset {
    const FlatGradients*& flat;
    ~Reset() { flat = nullptr; }
  } reset{flat_};
  if (!left.others.empty()) flat_ = &left;
  step();
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> out;
  for (const auto& group : groups_) out.insert(out.end(), group.params().begin(), group.params().end());
  return out;
}
std::size_t Optimizer::size() const {
  std::size_t count = 0;
  for (const auto& group : groups_) count += group.params().size();
  return count;
}

namespace {

std::string key(const char* what, std::size_t index, const char* name) {
  return concat(what, ".", index, ".", name);
}

void write(serialize::OutputArchive& archive, const std::string& key, const Field& field) {
  if (field.tensor != nullptr) {
    if (field.tensor->defined()) archive.write(key, *field.tensor);
  } else if (field.number != nullptr) {
    archive.write(key, *field.number);
  } else if (field.flag != nullptr) {
    archive.write(key, *field.flag);
  } else {
    archive.write(key, *field.count);
  }
}

void read_number(serialize::InputArchive& archive, const std::string& key, const Field& field) {
  if (field.number != nullptr) archive.read(key, *field.number);
  if (field.flag != nullptr) archive.read(key, *field.flag);
  if (field.count != nullptr) archive.read(key, *field.count);
}

// Fills `state` from the archive; returns false if the archive has nothing for parameter `index`.
bool read_state(serialize::InputArchive& archive, const char* optimizer, std::size_t index, const Tensor& p,
                OptimizerParamState& state) {
  bool any = false;
  for (const Field& field : state.fields()) {
    const std::string name = key("state", index, field.name);
    if (field.tensor == nullptr) {
      if (!archive.contains(name)) continue;
      read_number(archive, name, field);
    } else {
      Tensor value;
      if (!archive.try_read(name, value)) continue;
      check(value.sizes() == p.sizes(), optimizer, ".load: ", name, " has shape ", value.sizes(),
            ", but the parameter has shape ", p.sizes());
      // A copy: the archive may be read again or be shared.
      *field.tensor = tandem::empty(p.sizes(), p.options());
      field.tensor->copy_(value);
    }
    any = true;
  }
  return any;
}

}  // namespace

void Optimizer::save(serialize::OutputArchive& archive) const {
  archive.write("optimizer", std::string(name()));
  archive.write("param_groups", static_cast<int64_t>(groups_.size()));
  std::size_t index = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    archive.write(key("param_groups", g, "params"), static_cast<int64_t>(groups_[g].params().size()));
    for (const Field& field : groups_[g].options().fields())
      write(archive, key("param_groups", g, field.name), field);
    for (const Tensor& p : groups_[g].params()) {
      const auto found = state_.find(p.impl());
      if (found != state_.end() && found->second)
        for (const Field& field : found->second->fields())
          write(archive, key("state", index, field.name), field);
      ++index;
    }
  }
}

void Optimizer::load(serialize::InputArchive& archive) {
  std::string saved_name;
  archive.read("optimizer", saved_name);
  check(saved_name == name(), name(), ".load: the saved state belongs to ", saved_name);
  int64_t group_count = 0;
  archive.read("param_groups", group_count);
  check(group_count == static_cast<int64_t>(groups_.size()), name(), ".load: ", group_count,
        " parameter groups were saved, but this optimizer has ", groups_.size());
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  std::unordered_map<void*, std::unique_ptr<OptimizerParamState>> states;
  std::size_t index = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    int64_t count = 0;
    archive.read(key("param_groups", g, "params"), count);
    check(count == static_cast<int64_t>(groups_[g].params().size()), name(), ".load: group ", g,
          " was saved with ", count, " parameters, but has ", groups_[g].params().size());
    options.push_back(groups_[g].options().clone());
    for (const Field& field : options.back()->fields())
      read_number(archive, key("param_groups", g, field.name), field);
    options.back()->validate();
    for (const Tensor& p : groups_[g].params()) {
      auto state = make_state();
      if (state && read_state(archive, name(), index, p, *state)) states[p.impl()] = std::move(state);
      ++index;
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].set_options(std::move(options[g]));
  state_ = std::move(states);
}

}  // namespace tandem::optim
