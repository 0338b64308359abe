// The type-independent part of DataParallel: its devices, its replicas and its `Module` interface.
#pragma once
#include <atomic>
#include <mutex>

#include "tandem/parallel/shared/replica_set.h"
#include "tandem/parallel/shared/wrapped_module.h"

namespace tandem::parallel {

/// While alive, accumulates the replicas' gradients on their devices without sending them; on destruction
/// they are added to the module's gradients. For gradient accumulation: one transfer instead of one per
/// backward. Rounding may differ, since the order of the sums does. For backward(), not for autograd::grad.
class NoSyncGuard {
 public:
  explicit NoSyncGuard(class DataParallelBase& model);
  /// May throw, as backward may. During stack unwinding the pending gradients are dropped.
  ~NoSyncGuard() noexcept(false);
  NoSyncGuard(const NoSyncGuard&) = delete;
  NoSyncGuard& operator=(const NoSyncGuard&) = delete;

 private:
  DataParallelBase& model_;
  int exceptions_;
};

/// Base of DataParallel, independent of the module's type.
class DataParallelBase : public WrappedModule {
 public:
  DataParallelBase(std::shared_ptr<nn::Module> module, detail::MakeReplica make, optional<std::vector<Device>> devices,
                   optional<Device> output_device, int64_t dim);
  ~DataParallelBase() override;

  /// The devices, in the order given.
  const std::vector<Device>& devices() const { return devices_; }
  /// The module's device. Throws Error when that is not in the list or the module is on several devices.
  Device root() const;
  /// Makes the next forward send all values to the replicas.
  void refresh();
  [[nodiscard]] NoSyncGuard no_sync() { return NoSyncGuard(*this); }
  /// Number of transfers of values so far, for tests and reports. A forward after no change adds none.
  int64_t refreshes() const { return refreshes_; }

  void zero_grad(bool set_to_none = true) override;
  void pretty_print(std::ostream& stream) const override;

 protected:
  /// The replicas of one forward; no other call uses them until it ends.
  class Call {
   public:
    explicit Call(DataParallelBase& model);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    /// The devices, root first, for the module in its current state.
    const std::vector<Device>& order() const { return set_->devices(); }
    /// Modules for the first `count` devices of order(), ready to compute.
    std::vector<nn::Module*> prepare(std::size_t count);

   private:
    DataParallelBase& model_;
    std::unique_ptr<detail::ReplicaSet> set_;
  };
  /// The device of a single-device list. Throws Error when the module is on another device.
  Device only_device() const;
  const optional<Device>& given_output_device() const { return output_device_; }
  int64_t dim() const { return dim_; }

 private:
  friend class NoSyncGuard;
  std::shared_ptr<const detail::Master> master() const;
  std::unique_ptr<detail::ReplicaSet> take_set();

  std::vector<Device> devices_;
  optional<Device> output_device_;
  int64_t dim_;
  std::shared_ptr<detail::GradientSync> sync_;
  std::atomic<int64_t> refreshes_{0};
  std::atomic<uint64_t> asked_{0};  // number of refresh() calls
  mutable std::mutex mutex_;        // guards the members below
  std::shared_ptr<const detail::Master> master_;
  std::vector<std::unique_ptr<detail::ReplicaSet>> free_;  // last in, first out
};

}  // namespace tandem::parallel
