// DataParallel without the module's type: its devices, its replicas, and its face as a Module.
#pragma once
#include <atomic>
#include <mutex>

#include "tandem/nn/module.h"
#include "tandem/parallel/replicas.h"

namespace tandem::parallel {

/// While it lives, gradients of replicas are added up where they are, and nothing is sent; when it ends they
/// are added to the module's. For accumulation over several backwards: one transfer instead of one each.
/// Rounding may differ, since sums are taken in another order. Is for backward(), not for autograd::grad.
class NoSyncGuard {
 public:
  explicit NoSyncGuard(class DataParallelBase& model);
  /// May throw, as backward may. After an exception the gradients held back are dropped.
  ~NoSyncGuard() noexcept(false);
  NoSyncGuard(const NoSyncGuard&) = delete;
  NoSyncGuard& operator=(const NoSyncGuard&) = delete;

 private:
  DataParallelBase& model_;
  int exceptions_;
};

/// What does not depend on the module's type. As a Module it stands for the module that it wraps: the same
/// parameters, buffers and children under the same names, so that its state dict has no prefix.
class DataParallelBase : public nn::Module {
 public:
  DataParallelBase(std::shared_ptr<nn::Module> module, detail::MakeReplica make,
                   optional<std::vector<Device>> devices, optional<Device> output_device, int64_t dim);
  ~DataParallelBase() override;

  /// The list as given.
  const std::vector<Device>& devices() const { return devices_; }
  /// The device that the module is on. Throws Error when it is on none of the list, or on several.
  Device root() const;
  /// Sends all values to the replicas with the next forward.
  void refresh();
  [[nodiscard]] NoSyncGuard no_sync() { return NoSyncGuard(*this); }
  /// Copies of values so far, for tests and reports: a forward after which nothing changed adds none.
  int64_t refreshes() const { return refreshes_; }

  void train(bool on = true) override;
  void to(Device device, ScalarType dtype, bool non_blocking = false) override;
  void to(ScalarType dtype, bool non_blocking = false) override;
  void to(Device device, bool non_blocking = false) override;
  void zero_grad(bool set_to_none = true) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  bool is_serializable() const override;
  void pretty_print(std::ostream& stream) const override;

 protected:
  /// Replicas of one forward, which are no other call's until it ends.
  class Call {
   public:
    explicit Call(DataParallelBase& model);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    /// The devices, the root first, for the module as it is now.
    const std::vector<Device>& order() const { return set_->order; }
    /// Modules for the first `count` of order(), ready to compute.
    std::vector<nn::Module*> prepare(std::size_t count);

   private:
    DataParallelBase& model_;
    std::unique_ptr<detail::ReplicaSet> set_;
  };
  /// The one device of a list of one. Throws Error when the module is elsewhere.
  Device only_device() const;
  const optional<Device>& given_output_device() const { return output_device_; }
  int64_t dim() const { return dim_; }

 private:
  friend class NoSyncGuard;
  std::shared_ptr<const detail::Master> master() const;
  std::unique_ptr<detail::ReplicaSet> take_set();

  std::shared_ptr<nn::Module> module_;
  std::vector<Device> devices_;
  optional<Device> output_device_;
  int64_t dim_;
  std::shared_ptr<detail::GradientSync> sync_;
  std::atomic<int64_t> refreshes_{0};
  std::atomic<uint64_t> asked_{0};  // calls of refresh()
  mutable std::mutex mutex_;        // of what follows
  std::shared_ptr<const detail::Master> master_;
  std::vector<std::unique_ptr<detail::ReplicaSet>> free_;  // the last one given back is taken first
};

}  // namespace tandem::parallel
