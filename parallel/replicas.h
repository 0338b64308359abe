// Replicas of a module on other devices: how they are created, receive the master's values and return their
// gradients. Used by replicate() and DataParallel.
#pragma once
#include <memory>
#include <typeinfo>
#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/parallel/comm.h"

namespace tandem::parallel::detail {

using MakeReplica = std::shared_ptr<nn::Module> (*)(const nn::Module& master);
/// While a replica is built: disables recording and initialisation, and shields the default generator.
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

/// Creates a module of the same structure, with values still to be copied: by clone() if the type overrides
/// it, otherwise by the default constructor. Throws Error with advice if it has neither.
template <class M>
std::shared_ptr<nn::Module> make_replica(const nn::Module& master) {
  const MakingReplica making;
  if constexpr (!ClonesItself<M> && std::is_default_constructible_v<M>)
    if (typeid(master) == typeid(M)) return std::make_shared<M>();
  return clone_of(master);
}

/// Holds the replicas' gradients while no_sync is active.
struct GradientSync;

/// A module that replicas follow, with its parameters and buffers in tree order as of construction.
/// Immutable, so any thread may read it.
class Master {
 public:
  Master(std::shared_ptr<nn::Module> module, MakeReplica make);
  nn::Module& module() const { return *module_; }
  MakeReplica maker() const { return make_; }
  /// Whether the module still has exactly these tensors.
  bool is_current() const;
  std::size_t size() const { return tensors_.size(); }
  const Tensor& tensor(std::size_t k) const { return tensors_[k]; }
  bool is_parameter(std::size_t k) const { return parameter_[k]; }
  /// The common device of its tensors, or nullopt if there are none. Throws Error, naming two tensors, when
  /// they are on several devices.
  optional<Device> device(const char* operation) const;
  std::vector<std::string> names() const;
  std::shared_ptr<nn::Module> make() const { return make_(*module_); }

 private:
  std::shared_ptr<nn::Module> module_;
  MakeReplica make_;
  Tensors tensors_;
  std::vector<bool> parameter_;
};

/// A module on another device, with the master's values as of the last send().
class Replica {
 public:
  /// Throws Error when the copy's parameters and buffers do not match the master's.
  Replica(const Master& master, Device device);
  const std::shared_ptr<nn::Module>& module() const { return module_; }
  Device device() const { return device_; }
  /// Whether the master, or a buffer here, has been written since the last send().
  bool is_stale(const Master& master) const;
  /// Marks the values as stale.
  void forget_values();
  /// Copies the train/eval mode of every module from the master.
  void follow_modes(const Master& master);
  /// If recording is on, connects the parameters to the graph so their gradients flow to the master's leaves.
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

/// The replicas used by one forward at a time.
struct ReplicaSet {
  std::shared_ptr<const Master> master;
  std::vector<Device> order;      // root first
  std::vector<Replica> replicas;  // for `order` without the root; created on demand
  uint64_t seen = 0;              // events that may have changed values undetected
};

/// Sends the master's values to all replicas, with one copy per device and dtype. A replica on the master's
/// own device shares its memory.
void send(const Master& master, const std::vector<Replica*>& replicas);

struct GradientSync {
  GradientSync();
  ~GradientSync();
  void begin();
  /// Adds the pending gradients to the master's, replica by replica, unless `drop`.
  void end(const Master& master, bool drop);
  void forget();
  /// How often gradients have been sent so far; after each time the parameters may have been updated.
  uint64_t sends();

  struct State;
  std::unique_ptr<State> state;
};

}  // namespace tandem::parallel::detail
