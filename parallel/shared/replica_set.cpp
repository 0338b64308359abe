// Every forward traverses the module tree, so it builds no names; gradients travel as one flat buffer.
#include "tandem/parallel/shared/replica_set.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/urgent_node.h"
#include "tandem/parallel/shared/buckets.h"

namespace tandem::parallel::detail {
namespace {

// Read access to protected members.
struct Members : nn::Module {
  static const auto& parameters(const nn::Module& m) { return m.*(&Members::parameters_); }
  static const auto& buffers(const nn::Module& m) { return m.*(&Members::buffers_); }
  static const auto& children(const nn::Module& m) { return m.*(&Members::children_); }
};

// Calls f(tensor, is_parameter, key) for every defined tensor of the tree; `path` holds the names above it.
template <class F>
void visit(const nn::Module& module, const F& f, std::vector<const std::string*>* path = nullptr) {
  for (const auto& item : Members::parameters(module))
    if (item.value().defined()) f(item.value(), true, item.key());
  for (const auto& item : Members::buffers(module))
    if (item.value().defined()) f(item.value(), false, item.key());
  for (const auto& child : Members::children(module)) {
    if (path != nullptr) path->push_back(&child.key());
    visit(*child.value(), f, path);
    if (path != nullptr) path->pop_back();
  }
}

std::vector<std::string> names_of(const nn::Module& module) {
  std::vector<std::string> out;
  std::vector<const std::string*> path;
  visit(
      module,
      [&](const Tensor&, bool, const std::string& key) {
        std::string name;
        for (const std::string* part : path) name += *part + ".";
        out.push_back(name + key);
      },
      &path);
  return out;
}

void follow(const nn::Module& master, nn::Module& replica) {
  if (replica.is_training() != master.is_training()) replica.train(master.is_training());
  const auto &from = Members::children(master), &to = Members::children(replica);
  for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) follow(*from[i].value(), *to[i].value());
}

bool same_tree(const nn::Module& a, const nn::Module& b) {
  const auto &left = Members::children(a), &right = Members::children(b);
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!same_tree(*left[i].value(), *right[i].value())) return false;
  return true;
}

}  // namespace

std::shared_ptr<nn::Module> make_uninitialised(FunctionRef<std::shared_ptr<nn::Module>()> make) {
  const InferenceMode no_inference(false);
  const NoGradGuard no_grad;
  const nn::init::SkipGuard values_follow;
  const GeneratorGuard generator{Generator()};
  return make();
}

std::shared_ptr<nn::Module> clone_of(const nn::Module& master) {
  try {
    return master.clone();
  } catch (const Error& error) {
    fail("replicate: ", master.name(), " cannot be copied to another device: ", error.what(),
         "\n  or give it a default constructor, and wrap it as its exact type, not as a base class");
  }
}

Master::Master(std::shared_ptr<nn::Module> module, MakeReplica make) : module_(std::move(module)), make_(make) {
  check(module_ != nullptr, "replicate: the module is empty");
  visit(*module_, [&](const Tensor& t, bool parameter, const std::string&) {
    tensors_.push_back(t);
    parameter_.push_back(parameter);
  });
}

bool Master::is_current() const {
  std::size_t k = 0;
  bool same = true;
  visit(*module_, [&](const Tensor& t, bool parameter, const std::string&) {
    same = same && k < tensors_.size() && tensors_[k].is_same(t) && parameter_[k] == parameter;
    ++k;
  });
  return same && k == tensors_.size();
}

std::vector<std::string> Master::names() const { return names_of(*module_); }

optional<Device> Master::device(const char* operation) const {
  if (tensors_.empty()) return nullopt;
  const Device first = tensors_[0].device();
  for (std::size_t k = 1; k < tensors_.size(); ++k)
    if (tensors_[k].device() != first) [[unlikely]] {
      const auto all = names();
      fail(operation, ": parameters and buffers must be on one device, but ", all[0], " is on ", first, " and ", all[k],
           " on ", tensors_[k].device(), "; call model->to(device)");
    }
  return first;
}

bool Replica::Seen::is(const Tensor& t) const {
  const TensorImpl& impl = *t.impl();
  return storage == impl.storage && data == impl.data && version == impl.versions().version();
}
void Replica::Seen::see(const Tensor& t) {
  storage = t.storage();
  data = t.impl()->data;
  version = t._version();
}

Replica::Replica(const Master& master, Device device, std::shared_ptr<nn::Module> copy, const char* operation)
    : device_(device), module_(std::move(copy)) {
  std::vector<bool> parameter;
  visit(*module_, [&](const Tensor& t, bool is_parameter, const std::string&) {
    tensors_.push_back(t);
    parameter.push_back(is_parameter);
  });
  const char* cure =
      "\n  the copy is made by clone() or the default constructor, which must produce the same structure: "
      "derive from nn::Cloneable and build everything in reset()";
  check(tensors_.size() == master.size() && same_tree(*master.module(), *module_), operation, ": the copy of ",
        master.module()->name(), " has ", tensors_.size(), " parameters and buffers, expected ", master.size(), cure);
  for (std::size_t k = 0; k < tensors_.size(); ++k)
    check(parameter[k] == master.is_parameter(k) && tensors_[k].sizes() == master.tensor(k).sizes() &&
              !tensors_[k].is_same(master.tensor(k)),
          operation, ": ", master.names()[k], " is ", master.tensor(k), ", but ", tensors_[k], " in the copy of ",
          master.module()->name(), tensors_[k].is_same(master.tensor(k)) ? " (the same tensor)" : "", cure);
  sent_.resize(tensors_.size());
  buffers_.resize(tensors_.size());
}

bool Replica::is_stale(const Master& master) const {
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    if (!sent_[k].is(master.tensor(k))) return true;
    if (!master.is_parameter(k) && !buffers_[k].is(tensors_[k])) return true;
  }
  return false;
}

void Replica::forget_values() {
  for (Seen& seen : sent_) seen = {};
}

void Replica::follow_modes(const Master& master) { follow(*master.module(), *module_); }

void send(const Master& master, const std::vector<Replica*>& replicas) {
  if (replicas.empty() || master.size() == 0) return;
  const InferenceMode no_inference(false);
  const NoGradGuard no_grad;
  std::vector<Device> devices;
  for (const Replica* replica : replicas) devices.push_back(replica->device());
  Tensors tensors;  // a shared parameter is sent once
  std::vector<std::size_t> place(master.size());
  for (std::size_t k = 0; k < master.size(); ++k) {
    const auto same = [&](const Tensor& t) { return t.is_same(master.tensor(k)); };
    place[k] = static_cast<std::size_t>(std::find_if(tensors.begin(), tensors.end(), same) - tensors.begin());
    if (place[k] == tensors.size()) tensors.push_back(master.tensor(k));
  }
  const std::vector<Tensors> copies = broadcast_coalesced(tensors, devices);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    Replica& replica = *replicas[i];
    for (std::size_t k = 0; k < master.size(); ++k) {
      const Tensor &copy = copies[i][place[k]], &mine = replica.tensors_[k];
      // Each buffer needs a separate version counter: its writes must not count as writes to the parameters
      // in the same flat copy.
      const bool apart = !master.is_parameter(k) && !copy.is_same(master.tensor(k));
      mine.set_data(apart ? copy.data() : copy);
      replica.sent_[k].see(master.tensor(k));
      replica.buffers_[k].see(mine);
    }
  }
}

namespace {

/// The backward of a replica's parameters. One flat copy per replica brings all gradients to the root, where the engine
/// adds them to the leaves in node order: the root's own first, then replica 1, 2, …
/// Output j: parameter places[j] of the replica. Input j: the same parameter of the master. It is urgent because
/// forward creates it first, so it would be sent when backward has ended on the replica.
struct ReplicaBackward final : autograd::UrgentNode {
  const char* label() const override { return "ReplicaBackward"; }
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    if (sync != nullptr && hold(grads)) return;
    Tensors defined;
    for (std::size_t j = 0; j < grads.size(); ++j)
      if (grads[j].defined() && needs(j)) defined.push_back(grads[j]);
    if (defined.empty()) return;
    Tensors here = broadcast_coalesced(defined, {root})[0];
    std::size_t at = 0;
    for (std::size_t j = 0; j < grads.size(); ++j)
      if (grads[j].defined() && needs(j)) out[j] = std::move(here[at++]);
  }

  Device root;
  std::size_t replica = 0;
  std::vector<std::size_t> places;
  std::shared_ptr<GradientSync> sync;

 private:
  // Whether the gradients stay on the replica for now; if so, accumulates them there.
  bool hold(std::span<Tensor> grads) {
    const std::lock_guard lock(sync->mutex);
    if (sync->holding == 0) {
      ++sync->sent;
      return false;
    }
    const NoGradGuard no_grad;
    if (sync->held.size() <= replica) sync->held.resize(replica + 1);
    Tensors& held = sync->held[replica];
    for (std::size_t j = 0; j < grads.size(); ++j) {
      if (!grads[j].defined()) continue;
      if (held.size() <= places[j]) held.resize(places[j] + 1);
      Tensor& sum = held[places[j]];
      sum = sum.defined() ? sum + grads[j].detach() : grads[j].detach();
    }
    return true;
  }
};

// Gradients of a replica travel in buckets of these sizes.
constexpr int64_t kFirstBytes = 1 << 20, kBytes = 4 << 20;

}  // namespace

void Replica::link(const Master& master, std::size_t index, const std::shared_ptr<GradientSync>& sync) {
  if (!GradMode::is_enabled()) return;
  Tensors outs, ins;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    if (!master.is_parameter(k)) continue;
    if (master.tensor(k).requires_grad()) {
      outs.push_back(tensors_[k]);
      ins.push_back(master.tensor(k));
      places.push_back(k);
    } else if (tensors_[k].requires_grad()) {
      autograd::set_history(tensors_[k], {});
    }
  }
  // The groups of the last parameters have the youngest nodes, so their gradients arrive first.
  auto groups = group_parameters(ins, backward_order(ins.size()), kFirstBytes, kBytes);
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    Tensors group_outs, group_ins;
    for (const std::size_t j : *group) {
      group_outs.push_back(outs[j]);
      group_ins.push_back(ins[j]);
    }
    auto* n = autograd::record_list<ReplicaBackward>(group_outs, group_ins);
    if (n == nullptr) continue;
    n->root = group_ins[0].device();
    n->replica = index;
    for (const std::size_t j : *group) n->places.push_back(places[j]);
    n->sync = sync;
  }
}

ReplicaSet::ReplicaSet(std::shared_ptr<const Master> master, std::vector<Device> devices, std::size_t root,
                       const char* operation)
    : master_(std::move(master)),
      devices_(std::move(devices)),
      root_(root),
      operation_(operation),
      replicas_(devices_.size()) {}

void ReplicaSet::create(std::size_t count) {
  create(count, [&](Device) { return master_->make(); });
}

void ReplicaSet::create(std::size_t count, Make make) {
  for (std::size_t i = 0; i < count; ++i)
    if (i != root_ && replicas_[i] == nullptr)
      replicas_[i] = std::make_unique<Replica>(*master_, devices_[i], make(devices_[i]), operation_);
}

const std::shared_ptr<nn::Module>& ReplicaSet::module(std::size_t i) const {
  return i == root_ ? master_->module() : replicas_[i]->module();
}

bool ReplicaSet::refresh(std::size_t count, uint64_t events) {
  if (std::exchange(seen_, events) != events)
    for (const auto& replica : replicas_)
      if (replica) replica->forget_values();
  std::vector<Replica*> stale;
  for (std::size_t i = 0; i < count; ++i)
    if (replicas_[i] && replicas_[i]->is_stale(*master_)) stale.push_back(replicas_[i].get());
  send(*master_, stale);
  return !stale.empty();
}

void ReplicaSet::follow_modes(std::size_t i) {
  if (replicas_[i]) replicas_[i]->follow_modes(*master_);
}

void ReplicaSet::link(std::size_t count, const std::shared_ptr<GradientSync>& sync) {
  for (std::size_t i = count; i-- > 0;)  // descending: the node linked last adds its gradient first
    if (replicas_[i]) replicas_[i]->link(*master_, i, sync);
}

void GradientSync::begin() {
  const std::lock_guard lock(mutex);
  ++holding;
}

void GradientSync::forget() {
  const std::lock_guard lock(mutex);
  held.clear();
}

uint64_t GradientSync::sends() {
  const std::lock_guard lock(mutex);
  return sent;
}

void GradientSync::end(const Master& master, bool drop) {
  std::vector<Tensors> pending;
  {
    const std::lock_guard lock(mutex);
    if (--holding > 0) return;
    pending = std::exchange(held, {});
    ++sent;
  }
  if (drop) return;
  const NoGradGuard no_grad;
  for (const Tensors& list : pending) {
    Tensors defined;
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < list.size(); ++k)
      if (list[k].defined()) {
        defined.push_back(list[k]);
        places.push_back(k);
      }
    if (defined.empty()) continue;
    const Tensors here = broadcast_coalesced(defined, {master.tensor(places[0]).device()})[0];
    for (std::size_t j = 0; j < places.size(); ++j) autograd::add_to_grad(master.tensor(places[j]), here[j]);
  }
}

}  // namespace tandem::parallel::detail
