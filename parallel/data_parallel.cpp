// DataParallel: its face as a Module, its root and its replicas.
#include "tandem/parallel/data_parallel.h"

#include <algorithm>
#include <exception>
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

const nn::Module& checked(const std::shared_ptr<nn::Module>& module) {
  check(module != nullptr, "DataParallel: the module is empty");
  return *module;
}

}  // namespace

// The copy of a Module shares parameters, buffers and children.
DataParallelBase::DataParallelBase(std::shared_ptr<nn::Module> module, detail::MakeReplica make,
                                   optional<std::vector<Device>> devices, optional<Device> output_device,
                                   int64_t dim)
    : nn::Module(checked(module)),
      module_(module),
      master_(std::move(module), make),
      devices_(devices_or_all(master_, devices)),
      dim_(dim),
      sync_(std::make_shared<detail::GradientSync>()) {
  if (output_device) output_device_ = resolve(*output_device);
  if (const auto& hooks = forward_hooks()) {  // they run around the module's own forward
    hooks->pre.clear();
    hooks->post.clear();
  }
}
DataParallelBase::~DataParallelBase() = default;

Device DataParallelBase::root() const {
  const Device device = master_.device("DataParallel").value_or(devices_[0]);
  check(std::find(devices_.begin(), devices_.end(), device) != devices_.end(),
        "DataParallel: ", module_->name(), " is on ", device, ", which is none of the devices ",
        list(devices_), "; call model->to(\"", devices_[0], "\")");
  return device;
}

Device DataParallelBase::only_device() const {
  const Device device = devices_[0];
  if (master_.size() != 0 && master_.tensor(0).device() != device) [[unlikely]]
    root();  // throws
  return device;
}

const std::vector<Device>& DataParallelBase::order() {
  const bool same = master_.update();
  const Device first = root();
  if (same && !order_.empty() && order_[0] == first) return order_;
  replicas_.clear();
  order_ = {first};
  for (const Device& device : devices_)
    if (device != first) order_.push_back(device);
  return order_;
}

void DataParallelBase::refresh() { refresh_ = true; }

std::vector<nn::Module*> DataParallelBase::prepare(std::size_t count) {
  for (std::size_t i = replicas_.size() + 1; i < count; ++i) replicas_.emplace_back(master_, order_[i]);

  const bool sent = sync_->take_sent();
  if (std::exchange(refresh_, false) || sent)
    for (detail::Replica& replica : replicas_) replica.forget_values();
  std::vector<detail::Replica*> stale;
  for (std::size_t i = 1; i < count; ++i)
    if (replicas_[i - 1].is_stale(master_)) stale.push_back(&replicas_[i - 1]);
  if (!stale.empty()) {
    detail::send(master_, stale);
    ++refreshes_;
  }

  std::vector<nn::Module*> out(count, module_.get());
  for (std::size_t i = count; i-- > 1;) {  // gradients are added latest first: in order of devices
    replicas_[i - 1].follow_modes(master_);
    replicas_[i - 1].link(master_, i, sync_);
    out[i] = replicas_[i - 1].module().get();
  }
  return out;
}

void DataParallelBase::train(bool on) {
  module_->train(on);
  nn::Module::train(on);
}
void DataParallelBase::to(Device device, ScalarType dtype, bool non_blocking) {
  module_->to(device, dtype, non_blocking);
}
void DataParallelBase::to(ScalarType dtype, bool non_blocking) { module_->to(dtype, non_blocking); }
void DataParallelBase::to(Device device, bool non_blocking) { module_->to(device, non_blocking); }
void DataParallelBase::zero_grad(bool set_to_none) {
  sync_->forget();
  module_->zero_grad(set_to_none);
}
void DataParallelBase::save(serialize::OutputArchive& archive) const { module_->save(archive); }
void DataParallelBase::load(serialize::InputArchive& archive) { module_->load(archive); }
bool DataParallelBase::is_serializable() const { return module_->is_serializable(); }
void DataParallelBase::pretty_print(std::ostream& stream) const {
  stream << "DataParallel[" << list(devices_) << "] ";
  module_->pretty_print(stream);
}

NoSyncGuard::NoSyncGuard(DataParallelBase& model) : model_(model), exceptions_(std::uncaught_exceptions()) {
  model_.sync_->begin();
}
NoSyncGuard::~NoSyncGuard() noexcept(false) {
  model_.sync_->end(model_.master_, std::uncaught_exceptions() > exceptions_);
}

}  // namespace tandem::parallel
