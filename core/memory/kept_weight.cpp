#include "tandem/core/memory/kept_weight.h"

#include <atomic>
#include <mutex>

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/memory/storage_owner.h"

namespace tandem {
namespace {
constinit std::atomic<uint64_t> unversioned_aliases{0};
}  // namespace

void detail::note_unversioned_alias() { unversioned_aliases.fetch_add(1, std::memory_order_release); }

bool KeptWeight::Copy::same(const Copy& other) const {
  return packed && storage == other.storage && data == other.data && dtype == other.dtype && sizes == other.sizes &&
         layout == other.layout && bytes == other.bytes && version == other.version && aliases == other.aliases;
}

std::shared_ptr<const void> KeptWeight::get(const Tensor& weight, int64_t layout, std::size_t bytes,
                                            FunctionRef<void(void* to)> pack) {
  const TensorImpl& impl = *weight.impl();
  Copy wanted;
  wanted.storage = impl.storage;
  wanted.data = impl.data;
  wanted.dtype = impl.dtype;
  wanted.sizes = impl.sizes;
  wanted.layout = layout;
  wanted.bytes = bytes;
  // Read before packing: a write during it makes the copy invalid.
  wanted.aliases = unversioned_aliases.load(std::memory_order_acquire);
  wanted.version = impl.storage->version();
  {
    std::lock_guard lock(mutex_);
    if (copy_.same(wanted)) return copy_.packed;
  }
  clear();
  // The weight's reference and `wanted`'s. Other threads that pack the same weight now keep nothing, either.
  const bool alone = wanted.storage.use_count() == 2;
  if (!alone || impl.counter || !detail::owns_memory(*impl.storage)) return nullptr;
  void* to = cpu::allocate(bytes);
  wanted.packed = std::shared_ptr<const void>(
      to, [bytes](const void* memory) { cpu::deallocate(const_cast<void*>(memory), bytes); });
  pack(to);
  std::lock_guard lock(mutex_);
  copy_ = std::move(wanted);
  return copy_.packed;
}

void KeptWeight::clear() {
  Copy old;  // freed after the lock is released
  std::lock_guard lock(mutex_);
  std::swap(old, copy_);
}

}  // namespace tandem
