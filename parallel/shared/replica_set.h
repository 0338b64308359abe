// Replicas of a module on other devices: how they are created, receive the master's values and return their
// gradients. Used by replicate(), DataParallel, ParameterServer and DistributedDataParallel.
#pragma once
#include <memory>
#include <typeinfo>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/nn/cloneable.h"
#include "tandem/parallel/shared/device_copies.h"

namespace tandem::parallel::detail {

using MakeReplica = std::shared_ptr<nn::Module> (*)(const nn::Module& master);
/// Calls `make` without recording and initialisation, and shields the default generator.
std::shared_ptr<nn::Module> make_uninitialised(FunctionRef<std::shared_ptr<nn::Module>()> make);
std::shared_ptr<nn::Module> clone_of(const nn::Module& master);

template <class M>
concept ClonesItself = !std::is_same_v<decltype(&M::clone), decltype(&nn::Module::clone)>;

/// Creates a module of the same structure, with values still to be copied: by clone() if the type overrides
/// it, otherwise by the default constructor. Throws Error with advice if it has neither.
template <class M>
std::shared_ptr<nn::Module> make_replica(const nn::Module& master) {
  return make_uninitialised([&]() -> std::shared_ptr<nn::Module> {
    if constexpr (!ClonesItself<M> && std::is_default_constructible_v<M>)
      if (typeid(master) == typeid(M)) return std::make_shared<M>();
    return clone_of(master);
  });
}

/// Holds the replicas' gradients while no_sync is active.
struct GradientSync;

/// A module that replicas follow, with its parameters and buffers in tree order as of construction.
/// Immutable, so any thread may read it.
class Master {
 public:
  /// `make` may be null if make() is not called.
  Master(std::shared_ptr<nn::Module> module, MakeReplica make);
  const std::shared_ptr<nn::Module>& module() const { return module_; }
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
  /// `copy`: a module with values still to be copied. Throws Error when its parameters, buffers and children do not
  /// match the master's.
  Replica(const Master& master, Device device, std::shared_ptr<nn::Module> copy, const char* operation = "replicate");
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

/// Sends the master's values to all replicas, with one copy per device and dtype. A replica on the master's
/// own device shares its memory.
void send(const Master& master, const std::vector<Replica*>& replicas);

/// A module on several devices of this process: itself on the root, a copy on each of the others. One caller at a time.
class ReplicaSet {
 public:
  using Make = FunctionRef<std::shared_ptr<nn::Module>(Device device)>;
  /// Without copies so far. `devices` are distinct; devices[root] is the root. `operation` is for messages.
  ReplicaSet(std::shared_ptr<const Master> master, std::vector<Device> devices, std::size_t root = 0,
             const char* operation = "replicate");
  const std::shared_ptr<const Master>& master() const { return master_; }
  const std::vector<Device>& devices() const { return devices_; }
  std::size_t root() const { return root_; }

  /// Makes the copies that the first `count` devices lack; by default as the master's maker does.
  void create(std::size_t count);
  void create(std::size_t count, Make make);
  /// The module on devices()[i], which must have been created.
  const std::shared_ptr<nn::Module>& module(std::size_t i) const;
  /// Sends the master's values to the stale ones among the first `count`; to all if `events`, which counts what may
  /// have changed values undetected, has changed. Returns whether there were any.
  bool refresh(std::size_t count, uint64_t events);
  /// Copies the train/eval modes of the master to copy i.
  void follow_modes(std::size_t i);
  /// If recording is on, connects the first `count` copies' parameters to the graph, so that their gradients flow to
  /// the master's leaves and are added there in the order of the devices, the root's own first.
  void link(std::size_t count, const std::shared_ptr<GradientSync>& sync);

 private:
  std::shared_ptr<const Master> master_;
  std::vector<Device> devices_;
  std::size_t root_;
  const char* operation_;
  std::vector<std::unique_ptr<Replica>> replicas_;  // null for the root and where not created
  uint64_t seen_ = 0;
};

struct GradientSync {
  void begin();
  /// Adds the pending gradients to the master's, replica by replica, unless `drop`.
  void end(const Master& master, bool drop);
  void forget();
  /// How often gradients have been sent so far; after each time the parameters may have been updated.
  uint64_t sends();

  tandem::detail::ForkMutex mutex;  // replicas use it from different threads
  int holding = 0;
  uint64_t sent = 0;
  std::vector<Tensors> held;  // [replica][parameter or buffer]
};

}  // namespace tandem::parallel::detail
