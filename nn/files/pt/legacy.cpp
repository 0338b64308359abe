// The format of torch.save before PyTorch 1.6.
#include "tandem/nn/files/pt/legacy.h"

#include <cstring>
#include <deque>
#include <map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/pt/pickle.h"
#include "tandem/nn/files/pt_plugin.h"

namespace tandem::serialize::pt {
namespace {

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& file, const optional<Device>& device)
      : rest_(bytes), file_(file), device_(device.value_or(Device(kCPU))) {}
  Reader(const Reader&) = delete;  // reader_ refers to it
  Reader& operator=(const Reader&) = delete;

  /// The next pickle. Storages get memory, which fill() fills: their elements come after the pickle.
  IValue next() {
    PickleMachine& machine = machines_.emplace_back(rest_, file_, reader_);
    const IValue value = value_of(machine.run(), file_);
    rest_.remove_prefix(machine.consumed());
    return value;
  }

  /// Reads the elements, and computes the tensors that depend on them.
  void fill(const IValue& keys) {
    check(keys.isList(), file_, ": lacks the list of its storages");
    std::size_t filled = 0;
    for (const IValue& key : keys.toListRef()) {
      const auto found = storages_.find(key.toStringRef());
      check(found != storages_.end(), file_, ": has a storage that no tensor uses: ", key.toStringRef());
      Storage& storage = found->second;
      check(!storage.filled, file_, ": storage ", found->first, " occurs twice");
      int64_t numel = 0;
      std::memcpy(&numel, take(sizeof numel).data(), sizeof numel);
      check(numel == storage.elements.numel(), file_, ": storage ", found->first, " has ", numel,
            " elements, expected ", storage.elements.numel());
      const std::string_view bytes = take(storage.elements.nbytes());
      NoGradGuard no_grad;
      const Tensor host =
          device_.is_cpu() ? storage.elements : empty_like(storage.elements, TensorOptions().device(Device(kCPU)));
      if (!bytes.empty()) std::memcpy(host.data_ptr(), bytes.data(), bytes.size());
      check_bools(host, found->first, file_);
      if (!device_.is_cpu()) storage.elements.copy_(host);
      storage.filled = true;
      ++filled;
    }
    check(filled == storages_.size(), file_, ": lacks the elements of ", storages_.size() - filled, " storages");
    for (PickleMachine& machine : machines_) machine.resolve();
  }

 private:
  struct Storage {
    Tensor elements;
    bool filled = false;
  };

  Tensor storage(const StorageInfo& info) {
    Tensor& elements = storages_[info.key].elements;
    if (!elements.defined()) {
      int64_t bytes = 0;
      check(!__builtin_mul_overflow(info.numel, item_size(info.dtype), &bytes) &&
                !__builtin_add_overflow(bytes, bytes_, &bytes_) && static_cast<uint64_t>(bytes_) <= rest_.size(),
            file_, ": the storages would be longer than the file");
      NoGradGuard no_grad;
      elements = empty({info.numel}, TensorOptions(info.dtype).device(device_));
    }
    check(elements.numel() == info.numel && elements.dtype() == info.dtype, file_, ": storage ", info.key,
          " is described in two ways");
    return elements;
  }
  std::string_view take(std::size_t bytes) {
    check(bytes <= rest_.size(), file_, ": is truncated");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
  const std::string& file_;
  const Device device_;
  const StorageReader reader_ = [this](const StorageInfo& info) { return storage(info); };
  std::deque<PickleMachine> machines_;
  std::map<std::string, Storage> storages_;
  int64_t bytes_ = 0;
};

}  // namespace

IValue parse_legacy(std::string_view bytes, const std::string& file, const optional<Device>& device) {
  Reader in(bytes.substr(legacy_start(bytes)), file, device);
  const IValue version = in.next();
  check(version.isInt() && version.toInt() == 1001, file, ": is of an unknown version");
  const IValue machine = in.next();
  check(machine.isGenericDict() && machine.toGenericDict().contains("little_endian") &&
            machine.toGenericDict().at("little_endian").toBool(),
        file, ": its elements are not little-endian");
  const IValue value = in.next();
  in.fill(in.next());
  return value;
}

}  // namespace tandem::serialize::pt
