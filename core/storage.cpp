// CPU data follows the object in the same block, unless it is large: weights have sizes like 4 MiB, and 4 MiB with an
// object before it would need a block of the next size, and another huge page.
// Memory of other devices comes from the backend.
#include "tandem/core/storage.h"

#include <mutex>
#include <new>
#include <unordered_map>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/capture/recorded_memory.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/memory/released_memory.h"
#include "tandem/core/memory/storage_owner.h"
#include "tandem/core/profile.h"
#include "tandem/core/profile/profile_memory.h"

namespace tandem {

namespace {
constexpr std::size_t kHeader = 128, kLarge = std::size_t{1} << 19;
static_assert(sizeof(StorageImpl) <= kHeader);
}  // namespace

struct StorageAccess {
  static StorageImpl* make(void* block, std::size_t block_bytes, void* data, std::size_t nbytes, Device device) {
    auto* impl = new (block) StorageImpl(data, nbytes, device);
    impl->block_bytes_ = block_bytes;
    return impl;
  }
  static void set_deleter(StorageImpl* impl, DeleterFn deleter, void* context) {
    impl->deleter_ = deleter;
    impl->context_ = context;
  }
  static void set_pinned(StorageImpl* impl) { impl->pinned_ = true; }
  static bool counted(const StorageImpl& impl) { return impl.context_ == &impl; }
  static void set_data(StorageImpl& impl, void* data) { impl.data_ = data; }
  static void free_data(StorageImpl* impl) noexcept {
    if (impl->deleter_ != nullptr) impl->deleter_(impl->data_, impl->context_);
    if (counted(*impl)) {
      detail::count_memory(impl->device_, -static_cast<int64_t>(impl->nbytes_));
      if (profiler::is_on()) [[unlikely]]
        profiler::detail::note_freed(impl, impl->device_, impl->nbytes_);
    }
  }
  static void free(StorageImpl* impl) noexcept {
    if (!counted(*impl) || !detail::is_released(*impl)) free_data(impl);
    const std::size_t block_bytes = impl->block_bytes_;
    impl->~StorageImpl();
    cpu::deallocate(impl, block_bytes);
  }
};

namespace {

void count_made(const StorageImpl* impl) {
  detail::count_memory(impl->device(), static_cast<int64_t>(impl->nbytes()));
  if (profiler::is_on()) [[unlikely]]
    profiler::detail::note_created(impl, impl->device(), impl->nbytes());
}

void* allocate_on(Device device, std::size_t nbytes) {
  return device.is_cpu() ? cpu::allocate(nbytes) : backend(device).runtime.allocate(device, nbytes);
}

// A storage with memory of its own, which it frees.
StorageImpl* make_separate(void* data, std::size_t nbytes, Device device) {
  auto* impl = StorageAccess::make(cpu::allocate(sizeof(StorageImpl)), sizeof(StorageImpl), data, nbytes, device);
  StorageAccess::set_deleter(
      impl,
      [](void* memory, void* self) {
        auto* storage = static_cast<StorageImpl*>(self);
        if (storage->pinned())
          backend(Device(kCUDA)).runtime.free_pinned(memory);
        else if (storage->device().is_cpu())
          cpu::deallocate(memory, storage->nbytes());
        else
          backend(storage->device()).runtime.free(storage->device(), memory, storage->nbytes());
      },
      impl);
  return impl;
}

}  // namespace

// A context that points to the storage itself marks memory that make_storage counted.
Storage make_storage(std::size_t nbytes, Device device, bool pinned) {
  check(nbytes < (std::size_t{1} << 46), "out of memory: could not allocate ", nbytes, " bytes on ", device);
  if (detail::recorded_memory != nullptr && device.is_cpu() && !pinned) [[unlikely]]
    if (Storage recorded = detail::recorded_memory->make(nbytes, device)) return recorded;
  StorageImpl* impl = nullptr;
  if (device.is_cpu() && !pinned && nbytes < kLarge) {
    void* block = cpu::allocate(kHeader + nbytes);
    impl = StorageAccess::make(block, kHeader + nbytes, static_cast<char*>(block) + kHeader, nbytes, device);
    StorageAccess::set_deleter(impl, nullptr, impl);
  } else {
    void* data = pinned ? backend(Device(kCUDA)).runtime.allocate_pinned(nbytes) : allocate_on(device, nbytes);
    impl = make_separate(data, nbytes, device);
    if (pinned) StorageAccess::set_pinned(impl);
  }
  count_made(impl);
  return IntrusivePtr(impl);
}

Storage borrow_storage(void* data, std::size_t nbytes, Device device, DeleterFn deleter, void* context) {
  auto* impl = StorageAccess::make(cpu::allocate(sizeof(StorageImpl)), sizeof(StorageImpl), data, nbytes, device);
  StorageAccess::set_deleter(impl, deleter, context);
  return IntrusivePtr(impl);
}

bool detail::owns_memory(const StorageImpl& storage) { return StorageAccess::counted(storage); }

namespace detail {
namespace {

struct Restorers {
  std::mutex mutex;
  std::unordered_map<const StorageImpl*, std::function<void()>> of;
};
// Never destroyed: storages with static storage duration may be restored late.
Restorers& restorers() {
  static auto* instance = new Restorers;
  return *instance;
}

}  // namespace

Storage make_released_storage(std::size_t nbytes, Device device) {
  return IntrusivePtr(make_separate(nullptr, nbytes, device));
}

void release_memory(StorageImpl& storage) noexcept {
  if (is_released(storage)) return;
  StorageAccess::free_data(&storage);
  StorageAccess::set_data(storage, nullptr);
}

void restore_memory(StorageImpl& storage) {
  if (!is_released(storage)) return;
  StorageAccess::set_data(storage, allocate_on(storage.device(), storage.nbytes()));
  count_made(&storage);
}

void set_restorer(const StorageImpl& storage, std::function<void()> restore) {
  Restorers& all = restorers();
  const std::lock_guard lock(all.mutex);
  if (restore)
    all.of[&storage] = std::move(restore);
  else
    all.of.erase(&storage);
}

void restore_values(const StorageImpl& storage) {
  std::function<void()> restore;
  {
    Restorers& all = restorers();
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.of.find(&storage); found != all.of.end()) restore = found->second;
  }
  if (restore) restore();
  check(!is_released(storage),
        "the memory of a tensor that backward needs was given back, and nothing restores it: "
        "the model that it belongs to is gone");
}

}  // namespace detail

void destroy(const StorageImpl* storage) noexcept { StorageAccess::free(const_cast<StorageImpl*>(storage)); }

}  // namespace tandem
