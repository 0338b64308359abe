// Replicas of a module on other devices: how they are made, get the master's values and hand their gradients
// back. What replicate() and DataParallel are built on.
#pragma once
#include <memory>
#include <typeinfo>
#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/parallel/comm.h"

namespace tandem::parallel::detail {

using MakeReplica = std::shared_ptr<nn::Module> (*)(const nn::Module& master);
/// While a replica is made: nothing is recorded, nothing initialised, and the default generator not used.
class MakingReplica {
 public:
  MakingReplica();
  ~MakingReplica();

 private:
  struct State;
  std::unique_ptr<State> state_;
};
std::shared_ptr<nn::Module> clone_of(const nn::Module& master);

template <class M>
concept ClonesItself = !std::is_same_v<decltype(&M::clone), decltype(&nn::Module::clone)>;

/// A module of the same structure; values are to follow. By clone() where the type has it, else by the
/// default constructor. Throws Error, saying what to do, when there is neither.
template <class M>
std::shared_ptr<nn::Module> make_replica(const nn::Module& master) {
  const MakingReplica making;
  if constexpr (!ClonesItself<M> && std::is_default_constructible_v<M>)
    if (typeid(master) == typeid(M)) return std::make_shared<M>();
  return clone_of(master);
}

/// Gradients of replicas while no_sync holds them back.
struct GradientSync;

/// One module that others follow: its parameters and buffers, in the order of its tree, as they were when
/// this was made. Never changes, so any thread may read it.
class Master {
 public:
  Master(std::shared_ptr<nn::Module> module, MakeReplica make);
  nn::Module& module() const { return *module_; }
  MakeReplica maker() const { return make_; }
  /// Whether the tree still has these tensors and no others.
  bool is_current() const;
  std::size_t size() const { return tensors_.size(); }
  const Tensor& tensor(std::size_t k) const { return tensors_[k]; }
  bool is_parameter(std::size_t k) const { return parameter_[k]; }
  /// Where all of its tensors are, or nullopt without any. Throws Error, naming two, when on several devices.
  optional<Device> device(const char* operation) const;
  std::vector<std::string> names() const;
  std::shared_ptr<nn::Module> make() const { return make_(*module_); }

 private:
  std::shared_ptr<nn::Module> module_;
  MakeReplica make_;
  Tensors tensors_;
  std::vector<bool> parameter_;
};

/// A module on another device that has the master's values since the last send().
class Replica {
 public:
  /// Throws Error when the copy's parameters and buffers are not those of the master.
  Replica(const Master& master, Device device);
  const std::shared_ptr<nn::Module>& module() const { return module_; }
  Device device() const { return device_; }
  /// Whether the master, or a buffer here, was written since.
  bool is_stale(const Master& master) const;
  /// Makes it stale.
  void forget_values();
  /// The same modules train or evaluate as in the master.
  void follow_modes(const Master& master);
  /// Puts the parameters on the tape: their gradients will go to the master's leaves. When recording is on.
  void link(const Master& master, std::size_t index, const std::shared_ptr<GradientSync>& sync);

 private:
  friend void send(const Master& master, const std::vector<Replica*>& replicas);
  struct Seen {
    Storage storage;
    void* data = nullptr;
    uint32_t version = 0;
    bool is(const Tensor& t) const;
    void see(const Tensor& t);
  };
  Device device_;
  std::shared_ptr<nn::Module> module_;
  Tensors tensors_;
  std::vector<Seen> sent_, buffers_;
};

/// The replicas that one forward at a time computes with.
struct ReplicaSet {
  std::shared_ptr<const Master> master;
  std::vector<Device> order;      // the root first
  std::vector<Replica> replicas;  // of order, without the root; made when first needed
  uint64_t seen = 0;              // of what may have changed values without being counted
};

/// The master's values to all of these: one copy a device and dtype. A replica on the master's own device
/// shares its memory.
void send(const Master& master, const std::vector<Replica*>& replicas);

struct GradientSync {
  GradientSync();
  ~GradientSync();
  void begin();
  /// Adds what was held back to the master's gradients, replica by replica, unless it is to be dropped.
  void end(const Master& master, bool drop);
  void forget();
  /// How often gradients were sent so far: after each time somebody may have used them.
  uint64_t sends();

  struct State;
  std::unique_ptr<State> state;
};

}  // namespace tandem::parallel::detail
