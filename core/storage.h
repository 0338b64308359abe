// Storage: the bytes shared by one or more tensors, with their device and version counter.
//
// The version counts in-place writes; autograd compares it with the version at which a tensor was saved. All
// views of a storage share it, except those made by data(): their writes do not bump the version counter.
#pragma once
#include <atomic>
#include <cstdint>

#include "tandem/core/base/intrusive_ptr.h"
#include "tandem/core/device.h"

namespace tandem {

/// Frees memory that the caller provided.
using DeleterFn = void (*)(void* data, void* context);

class StorageImpl : public RefCounted {
 public:
  void* data() const { return data_; }
  std::size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool pinned() const { return pinned_; }

  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  /// `writer` names the in-place operation; it must be a string literal.
  void bump_version(const char* writer) {
    writer_.store(writer, std::memory_order_relaxed);
    version_.fetch_add(1, std::memory_order_relaxed);
  }
  /// The last in-place operation, or nullptr.
  const char* writer() const { return writer_.load(std::memory_order_relaxed); }

 private:
  friend struct StorageAccess;
  StorageImpl(void* data, std::size_t nbytes, Device device) : data_(data), nbytes_(nbytes), device_(device) {}

  void* data_;
  std::size_t nbytes_;
  DeleterFn deleter_ = nullptr;
  void* context_ = nullptr;
  std::size_t block_bytes_ = 0;  // size of the CPU block that holds this object and possibly its data
  std::atomic<const char*> writer_{nullptr};
  std::atomic<uint32_t> version_{0};
  Device device_;
  bool pinned_ = false;
};
void destroy(const StorageImpl* storage) noexcept;

/// The address of a storage's memory, as LibTorch's Storage::data_ptr() returns it.
class DataPtr {
 public:
  DataPtr(void* data, Device device) : data_(data), device_(device) {}
  void* get() const { return data_; }
  /// Null: what frees the memory belongs to the storage.
  void* get_context() const { return nullptr; }
  Device device() const { return device_; }
  explicit operator bool() const { return data_ != nullptr; }
  /// Whether they are the same address.
  friend bool operator==(const DataPtr& a, const DataPtr& b) { return a.data_ == b.data_; }
  friend bool operator==(const DataPtr& a, std::nullptr_t) { return a.data_ == nullptr; }

 private:
  void* data_;
  Device device_;
};

/// A reference to a StorageImpl. LibTorch's members, which take a dot, do the same as those of StorageImpl.
class Storage : public IntrusivePtr<StorageImpl> {
 public:
  Storage() = default;
  Storage(IntrusivePtr<StorageImpl> impl) : IntrusivePtr(std::move(impl)) {}
  /// Implicit, as in LibTorch.
  operator bool() const { return get() != nullptr; }
  void* data() const { return get()->data(); }
  void* mutable_data() const { return get()->data(); }
  DataPtr data_ptr() const { return {get()->data(), get()->device()}; }
  std::size_t nbytes() const { return get()->nbytes(); }
  Device device() const { return get()->device(); }
  DeviceType device_type() const { return get()->device().type(); }
  std::size_t use_count() const { return get() == nullptr ? 0 : get()->use_count(); }
  bool unique() const { return use_count() == 1; }
  bool is_alias_of(const Storage& other) const { return get() == other.get(); }
  StorageImpl* unsafeGetStorageImpl() const { return get(); }
};

/// New uninitialised memory on `device`, which must have an index. Throws Error if there is no memory left.
Storage make_storage(std::size_t nbytes, Device device, bool pinned = false);
/// Wraps memory owned by the caller. `deleter(data, context)` may be null; it runs with the last reference.
Storage borrow_storage(void* data, std::size_t nbytes, Device device, DeleterFn deleter, void* context);

}  // namespace tandem
