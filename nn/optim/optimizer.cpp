// Optimizer: parameter groups, gradients, saving and loading.
#include "tandem/nn/optim/optimizer.h"

#include <algorithm>
#include <string_view>
#include <typeinfo>
#include <unordered_set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/backend/optim.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/profile.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/optim/libtorch_state.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {
namespace {

bool same(const Field& a, const Field& b) {
  if (a.number != nullptr) return *a.number == *b.number;
  if (a.flag != nullptr) return *a.flag == *b.flag;
  return a.count == nullptr || *a.count == *b.count;
}

void assign(const Field& to, const Field& from) {
  if (to.number != nullptr) *to.number = *from.number;
  if (to.flag != nullptr) *to.flag = *from.flag;
  if (to.count != nullptr) *to.count = *from.count;
}

// Replaces the options that equal those of a default constructor by the optimizer's defaults. The two betas are
// one option.
void inherit(OptimizerOptions& options, OptimizerOptions& defaults) {
  const auto fresh = options.fresh();
  if (fresh == nullptr || typeid(options) != typeid(defaults)) return;
  const std::vector<Field> own = options.fields(), plain = fresh->fields(), given = defaults.fields();
  const auto is_beta = [&](std::size_t i) { return std::string_view(own[i].name).starts_with("beta"); };
  bool plain_betas = true;
  for (std::size_t i = 0; i < own.size(); ++i) plain_betas = plain_betas && (!is_beta(i) || same(own[i], plain[i]));
  for (std::size_t i = 0; i < own.size(); ++i)
    if (is_beta(i) ? plain_betas : same(own[i], plain[i])) assign(own[i], given[i]);
}

}  // namespace

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  defaults_->validate();
  for (const auto& group : groups) Optimizer::add_param_group(group);
}
Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}
Optimizer::~Optimizer() = default;

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  std::unordered_set<const TensorImpl*> known;
  for (const Tensor& p : parameters()) known.insert(p.impl());
  for (const Tensor& p : group.params()) {
    check(p.defined(), "an optimizer got an undefined parameter");
    check(p.is_leaf(), "can't optimize a non-leaf Tensor: ", p);
    check(known.insert(p.impl()).second, "some parameters appear in more than one parameter group, or twice: ", p);
  }
  check_not_cut(group.params());
  OptimizerParamGroup added(group);
  if (added.has_options())
    inherit(added.options(), *defaults_);
  else
    added.set_options(defaults_->clone());
  added.options().validate();
  param_groups_.push_back(std::move(added));
}

void Optimizer::zero_grad(bool set_to_none) {
  const profiler::Record span("zero_grad", "optimizer");
  NoGradGuard no_grad;
  for (auto& group : param_groups_) {
    check_not_cut(group.params());
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
}

void Optimizer::step_with(const FlatGradients& gradients) {
  Tensor own = gradients.own;
  check(own.defined() && own.is_contiguous(), name(), ".step_with: expected contiguous flat gradients");
  for (const auto& group : param_groups_)
    for (const Tensor& p : group.params())
      check(p.grad().defined() && p.grad().is_contiguous(dense_format(p)) && p.grad().storage() == own.storage() &&
                p.grad().storage_offset() >= own.storage_offset() &&
                p.grad().storage_offset() + p.grad().numel() <= own.storage_offset() + own.numel(),
            name(), ".step_with: the gradient is not a view of the flat gradients for ", p);
  for (const Tensor& other : gradients.others)
    check(other.defined() && other.is_contiguous() && other.sizes() == own.sizes() && other.dtype() == own.dtype() &&
              other.device() == own.device(),
          name(), ".step_with: flat gradients differ in size, dtype or device\n  ", own, "\n  ", other);
  // Steps see complex gradients as real ones of twice the size.
  const bool sums = sums_gradients() && !own.is_complex();
  const std::size_t count = gradients.others.size(), most = sums ? Gradients::kMaxOthers : 0;
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
  for (const auto& group : param_groups_) out.insert(out.end(), group.params().begin(), group.params().end());
  return out;
}
std::size_t Optimizer::size() const {
  std::size_t count = 0;
  for (const auto& group : param_groups_) count += group.params().size();
  return count;
}

namespace {

void write(serialize::OutputArchive& archive, const Field& field) {
  if (field.tensor != nullptr) {
    if (field.tensor->defined()) archive.write(field.name, *field.tensor);
  } else if (field.number != nullptr) {
    archive.write(field.name, *field.number);
  } else if (field.flag != nullptr) {
    archive.write(field.name, *field.flag);
  } else {
    archive.write(field.name, *field.count);
  }
}

void read_number(serialize::InputArchive& archive, const Field& field) {
  if (field.number != nullptr) archive.read(field.name, *field.number);
  if (field.flag != nullptr) archive.read(field.name, *field.flag);
  if (field.count != nullptr) archive.read(field.name, *field.count);
}

// Writes options or a state under `name`.
template <class Entry>
void write_entry(serialize::OutputArchive& archive, const std::string& name, const Entry& entry) {
  serialize::OutputArchive part;
  entry.serialize(part);
  archive.write(name, part);
}

// Fills `state` from its archive; returns false if that is empty.
bool read_state(serialize::InputArchive& archive, const char* optimizer, std::size_t index, const Tensor& p,
                OptimizerParamState& state) {
  if (archive.keys().empty()) return false;
  const std::vector<Field> fields = state.fields();
  if (fields.empty()) state.serialize(archive);
  for (const Field& field : fields) {
    if (field.tensor == nullptr) {
      if (archive.contains(field.name)) read_number(archive, field);
      continue;
    }
    Tensor value;
    if (!archive.try_read(field.name, value)) continue;
    check(value.sizes() == p.sizes(), optimizer, ".load: ", "state.", index, ".", field.name, " has shape ",
          value.sizes(), ", but the parameter has shape ", p.sizes());
    // A copy: the archive may be read again or be shared.
    *field.tensor = empty_like(p);
    field.tensor->copy_(value);
  }
  return true;
}

template <class Saved>
bool equal_saved(const Saved& a, const Saved& b) {
  if (typeid(a) != typeid(b)) return false;
  serialize::OutputArchive first, second;
  a.serialize(first);
  b.serialize(second);
  check(!first.tensors().is_empty() || !first.metadata().is_empty(),
        "==: override fields() or serialize() of these options or this state");
  return first.metadata().pairs() == second.metadata().pairs() &&
         std::ranges::equal(first.tensors(), second.tensors(), [](const auto& x, const auto& y) {
           return x.key() == y.key() && x.value().dtype() == y.value().dtype() && equal(x.value(), y.value());
         });
}

}  // namespace

bool operator==(const OptimizerOptions& a, const OptimizerOptions& b) { return equal_saved(a, b); }
bool operator==(const OptimizerParamState& a, const OptimizerParamState& b) { return equal_saved(a, b); }

std::unique_ptr<OptimizerOptions> OptimizerOptions::clone() const {
  fail("clone() is not implemented for these optimizer options: derive them from OptimizerCloneableOptions");
}
double OptimizerOptions::get_lr() const { fail("get_lr() is not implemented for these optimizer options"); }
void OptimizerOptions::set_lr(const double) { fail("set_lr() is not implemented for these optimizer options"); }
void OptimizerOptions::serialize(serialize::OutputArchive& archive) const {
  for (const Field& field : const_cast<OptimizerOptions*>(this)->fields()) write(archive, field);
}
void OptimizerOptions::serialize(serialize::InputArchive& archive) {
  for (const Field& field : fields()) read_number(archive, field);
}
std::unique_ptr<OptimizerParamState> OptimizerParamState::clone() const {
  fail("clone() is not implemented for this optimizer state: derive it from OptimizerCloneableParamState");
}
void OptimizerParamState::serialize(serialize::OutputArchive& archive) const {
  for (const Field& field : const_cast<OptimizerParamState*>(this)->fields()) write(archive, field);
}
void OptimizerParamState::serialize(serialize::InputArchive& archive) {
  for (const Field& field : fields()) {
    if (field.tensor == nullptr) {
      read_number(archive, field);
    } else {
      field.tensor->reset();
      archive.try_read(field.name, *field.tensor);
    }
  }
}
void Optimizer::save(serialize::OutputArchive& archive) const {
  archive.write("optimizer", std::string(name()));
  archive.write("param_groups", static_cast<int64_t>(param_groups_.size()));
  std::size_t index = 0;
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    archive.write(concat("param_groups.", g, ".params"), static_cast<int64_t>(param_groups_[g].params().size()));
    write_entry(archive, concat("param_groups.", g), param_groups_[g].options());
    for (const Tensor& p : param_groups_[g].params()) {
      const auto found = state_.find(p.impl());
      if (found != state_.end() && found->second) write_entry(archive, concat("state.", index), *found->second);
      ++index;
    }
  }
}

void Optimizer::load(serialize::InputArchive& archive) {
  if (is_libtorch_state(archive)) {
    serialize::InputArchive own = own_state(archive, name(), param_groups_);
    return Optimizer::load(own);
  }
  std::string saved_name;
  archive.read("optimizer", saved_name);
  check(saved_name == name(), name(), ".load: the saved state belongs to ", saved_name);
  int64_t group_count = 0;
  archive.read("param_groups", group_count);
  check(group_count == static_cast<int64_t>(param_groups_.size()), name(), ".load: ", group_count,
        " parameter groups were saved, but this optimizer has ", param_groups_.size());
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  std::unordered_map<void*, std::unique_ptr<OptimizerParamState>> states;
  std::size_t index = 0;
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    int64_t count = 0;
    archive.read(concat("param_groups.", g, ".params"), count);
    check(count == static_cast<int64_t>(param_groups_[g].params().size()), name(), ".load: group ", g,
          " was saved with ", count, " parameters, but has ", param_groups_[g].params().size());
    options.push_back(param_groups_[g].options().clone());
    serialize::InputArchive part;
    archive.read(concat("param_groups.", g), part);
    options.back()->serialize(part);
    options.back()->validate();
    for (const Tensor& p : param_groups_[g].params()) {
      auto state = make_state();
      archive.read(concat("state.", index), part);
      check(state != nullptr || part.keys().empty(), name(), ".load: the class overrides neither make_state() ",
            "nor load(), so the saved states cannot be restored");
      if (state && read_state(part, name(), index, p, *state)) states[p.impl()] = std::move(state);
      ++index;
    }
  }
  for (std::size_t g = 0; g < param_groups_.size(); ++g) param_groups_[g].set_options(std::move(options[g]));
  state_ = std::move(states);
}

}  // namespace tandem::optim
