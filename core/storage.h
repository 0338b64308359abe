// Storage: the bytes that one or several tensors look at, their device and their version.
//
// The version counts in-place writes; autograd compares it with the version at the time a tensor was saved.
// All views of a storage share it, but for data(), whose writes nobody is to notice.
#pragma once
#include <atomic>
#include <cstdint>

#include "tandem/core/device.h"
#include "tandem/core/intrusive_ptr.h"

namespace tandem {

/// Frees memory that was handed in from outside.
using DeleterFn = void (*)(void* data, void* context);

class StorageImpl : public RefCounted {
 public:
  void* data() const { return data_; }
  std::size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool pinned() const { return pinned_; }

  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  /// `writer` names the in-place operation: a string literal.
  void bump_version(const char* writer) {
    writer_.store(writer, std::memory_order_relaxed);
    version_.fetch_add(1, std::memory_order_relaxed);
  }
  /// The last in-place operation, or nullptr.
  const char* writer() const { return writer_.load(std::memory_order_relaxed); }

 private:
  friend struct StorageAccess;
  StorageImpl(void* data, std::size_t nbytes, Device device)
      : data_(data), nbytes_(nbytes), device_(device) {}

  void* data_;
  std::size_t nbytes_;
  DeleterFn deleter_ = nullptr;
  void* context_ = nullptr;
  std::size_t block_bytes_ = 0;  // bytes of the CPU block that holds this object and maybe its data
  std::atomic<const char*> writer_{nullptr};
  std::atomic<uint32_t> version_{0};
  Device device_;
  bool pinned_ = false;
};
void destroy(const StorageImpl* storage) noexcept;

using Storage = IntrusivePtr<StorageImpl>;

/// New memory on `device` (which has an index), not initialised. Throws Error when there is none.
Storage make_storage(std::size_t nbytes, Device device, bool pinned = false);
/// Memory of somebody else; `deleter(data, context)` runs with the last reference (may be null).
Storage borrow_storage(void* data, std::size_t nbytes, Device device, DeleterFn deleter, void* context);

}  // namespace tandem
