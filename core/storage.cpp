// CPU data follows the object in the same block, unless it is large: weights have sizes like 4 MiB, and 4 MiB with an
// object before it would need a block of the next size, and another huge page.
// Memory of other devices comes from the backend.
#include "tandem/core/storage.h"

#include <new>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/capture/recorded_memory.h"
#include "tandem/core/memory/cpu_allocator.h"
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
  static void free(StorageImpl* impl) noexcept {
    if (impl->deleter_ != nullptr) impl->deleter_(impl->data_, impl->context_);
    if (counted(*impl)) {
      detail::count_memory(impl->device_, -static_cast<int64_t>(impl->nbytes_));
      if (profiler::is_on()) [[unlikely]]
        profiler::detail::note_freed(impl, impl->device_, impl->nbytes_);
    }
    const std::size_t block_bytes = impl->block_bytes_;
    impl->~StorageImpl();
    cpu::deallocate(impl, block_bytes);
  }
};

// A context that points to the storage itself marks memory that make_storage counted.
Storage make_storage(std::size_t nbytes, Device device, bool pinned) {
  check(nbytes < (std::size_t{1} << 46), "out of memory: could not allocate ", nbytes, " bytes on ", device);
  if (detail::recorded_memory != nullptr && device.is_cpu() && !pinned) [[unlikely]]
    if (Storage recorded = detail::recorded_memory->make(nbytes, device)) return recorded;
  StorageImpl* impl = nullptr;
  if (device.is_cpu() && !pinned && nbytes >= kLarge) {
    void* data = cpu::allocate(nbytes);
    impl = StorageAccess::make(cpu::allocate(sizeof(StorageImpl)), sizeof(StorageImpl), data, nbytes, device);
    StorageAccess::set_deleter(
        impl, [](void* data, void* self) { cpu::deallocate(data, static_cast<StorageImpl*>(self)->nbytes()); }, impl);
  } else if (device.is_cpu() && !pinned) {
    void* block = cpu::allocate(kHeader + nbytes);
    impl = StorageAccess::make(block, kHeader + nbytes, static_cast<char*>(block) + kHeader, nbytes, device);
    StorageAccess::set_deleter(impl, nullptr, impl);
  } else {
    const RuntimeKernels& runtime = backend(pinned ? Device(kCUDA) : device).runtime;
    void* data = pinned ? runtime.allocate_pinned(nbytes) : runtime.allocate(device, nbytes);
    impl = StorageAccess::make(cpu::allocate(sizeof(StorageImpl)), sizeof(StorageImpl), data, nbytes, device);
    StorageAccess::set_deleter(
        impl,
        [](void* data, void* self) {
          auto* storage = static_cast<StorageImpl*>(self);
          if (storage->pinned())
            backend(Device(kCUDA)).runtime.free_pinned(data);
          else
            backend(storage->device()).runtime.free(storage->device(), data, storage->nbytes());
        },
        impl);
    if (pinned) StorageAccess::set_pinned(impl);
  }
  detail::count_memory(device, static_cast<int64_t>(nbytes));
  if (profiler::is_on()) [[unlikely]]
    profiler::detail::note_created(impl, device, nbytes);
  return IntrusivePtr(impl);
}

Storage borrow_storage(void* data, std::size_t nbytes, Device device, DeleterFn deleter, void* context) {
  auto* impl = StorageAccess::make(cpu::allocate(sizeof(StorageImpl)), sizeof(StorageImpl), data, nbytes, device);
  StorageAccess::set_deleter(impl, deleter, context);
  return IntrusivePtr(impl);
}

bool detail::owns_memory(const StorageImpl& storage) { return StorageAccess::counted(storage); }

void destroy(const StorageImpl* storage) noexcept { StorageAccess::free(const_cast<StorageImpl*>(storage)); }

}  // namespace tandem
