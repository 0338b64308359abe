// DataParallel: its `Module` interface, its root and its replicas.
#include "tandem/parallel/data_parallel/data_parallel.h"

#include <algorithm>
#include <exception>
#include <new>
#include <ostream>

#include "tandem/autograd/grad_mode.h"

namespace tandem::parallel {
namespace {

std::vector<Device> devices_or_all(const detail::Master& master, const optional<std::vector<Device>>& given) {
  if (given) return checked_devices("DataParallel", *given);
  const DeviceType type = master.size() == 0 ? kCPU : master.tensor(0).device().type();
  std::vector<Device> out;
  for (int i = 0; i < device_count(type); ++i) out.emplace_back(type, static_cast<DeviceIndex>(i));
  return out;
}

std::string list(const std::vector<Device>& devices) {
  std::string out;
  for (const Device& device : devices) out += (out.empty() ? "" : ", ") + device.str();
  return out;
}

}  // namespace

DataParallelBase::DataParallelBase(std::shared_ptr<nn::Module> module, detail::MakeReplica make,
                                   optional<std::vector<Device>> devices, optional<Device> output_device, int64_t dim)
    : WrappedModule("DataParallel", module),
      dim_(dim),
      sync_(std::make_shared<detail::GradientSync>()),
      master_(std::make_shared<detail::Master>(std::move(module), make)) {
  devices_ = devices_or_all(*master_, devices);
  if (output_device) output_device_ = resolve(*output_device);
}
DataParallelBase::~DataParallelBase() = default;

std::shared_ptr<const detail::Master> DataParallelBase::master() const {
  const std::lock_guard lock(mutex_);
  return master_;
}

Device DataParallelBase::root() const {
  const Device device = master()->device("DataParallel").value_or(devices_[0]);
  check(std::find(devices_.begin(), devices_.end(), device) != devices_.end(), "DataParallel: ", wrapped()->name(),
        " is on ", device, ", which is not one of the devices ", list(devices_), "; call model->to(\"", devices_[0],
        "\")");
  return device;
}

Device DataParallelBase::only_device() const {
  const Device device = devices_[0];
  const auto master = this->master();
  if (master->size() != 0 && master->tensor(0).device() != device) [[unlikely]]
    root();  // throws
  return device;
}

void DataParallelBase::refresh() { ++asked_; }

// Discards replica sets built for other tensors of the module or for another root.
std::unique_ptr<detail::ReplicaSet> DataParallelBase::take_set() {
  std::vector<std::unique_ptr<detail::ReplicaSet>> old;  // freed outside the lock
  {
    const std::lock_guard lock(mutex_);
    if (!master_->is_current()) {
      master_ = std::make_shared<detail::Master>(wrapped(), master_->maker());
      old.swap(free_);
    }
  }
  const Device first = root();
  const std::lock_guard lock(mutex_);
  while (!free_.empty()) {
    std::unique_ptr<detail::ReplicaSet> set = std::move(free_.back());
    free_.pop_back();
    if (set->master() == master_ && set->devices()[0] == first) return set;
    old.push_back(std::move(set));
  }
  std::vector<Device> order = {first};
  for (const Device& device : devices_)
    if (device != first) order.push_back(device);
  return std::make_unique<detail::ReplicaSet>(master_, std::move(order));
}

DataParallelBase::Call::Call(DataParallelBase& model) : model_(model), set_(model.take_set()) {}
DataParallelBase::Call::~Call() {
  try {
    const std::lock_guard lock(model_.mutex_);
    model_.free_.push_back(std::move(set_));
  } catch (const std::bad_alloc&) {  // the next call makes new copies
  }
}

std::vector<nn::Module*> DataParallelBase::Call::prepare(std::size_t count) {
  set_->create(count);
  if (set_->refresh(count, model_.sync_->sends() + model_.asked_)) ++model_.refreshes_;
  set_->link(count, model_.sync_);
  std::vector<nn::Module*> out;
  for (std::size_t i = 0; i < count; ++i) {
    set_->follow_modes(i);
    out.push_back(set_->module(i).get());
  }
  return out;
}

void DataParallelBase::zero_grad(bool set_to_none) {
  sync_->forget();
  WrappedModule::zero_grad(set_to_none);
}
void DataParallelBase::pretty_print(std::ostream& stream) const {
  stream << "DataParallel[" << list(devices_) << "] ";
  wrapped()->pretty_print(stream);
}

NoSyncGuard::NoSyncGuard(DataParallelBase& model) : model_(model), exceptions_(std::uncaught_exceptions()) {
  model_.sync_->begin();
}
NoSyncGuard::~NoSyncGuard() noexcept(false) {
  model_.sync_->end(*model_.master(), std::uncaught_exceptions() > exceptions_);
}

}  // namespace tandem::parallel
