// IntrusivePtr: a reference-counted pointer with the count stored in the object.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <utility>

namespace tandem {

/// Base of counted objects. `destroy(const T*)`, found by ADL, frees an object when its count drops to zero.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  /// True when this was the last reference.
  bool drop() const { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  /// Returns false, without taking a reference, if the object is already being destroyed.
  bool try_retain() const {
    uint32_t count = count_.load(std::memory_order_relaxed);
    while (count != 0)
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  uint32_t use_count() const { return count_.load(std::memory_order_acquire); }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<uint32_t> count_{0};
};

template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}
  explicit IntrusivePtr(T* object) : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  IntrusivePtr(const IntrusivePtr& other) : IntrusivePtr(other.object_) {}
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  requires(std::is_convertible_v<U*, T*>) IntrusivePtr(IntrusivePtr<U> other)
  noexcept : object_(other.detach()) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~IntrusivePtr() { reset(); }

  void reset() {
    if (T* object = std::exchange(object_, nullptr); object != nullptr && object->drop()) destroy(object);
  }
  /// Takes over a reference that was already counted.
  static IntrusivePtr adopt(T* object) {
    IntrusivePtr out;
    out.object_ = object;
    return out;
  }
  /// Releases the reference without decrementing the count.
  T* detach() { return std::exchange(object_, nullptr); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  /// A pointer that holds another reference, for programs that name std::shared_ptr<autograd::Node>.
  operator std::shared_ptr<T>() const {
    return std::shared_ptr<T>(object_, [kept = *this](T*) {});
  }
  /// Prints the address.
  friend std::ostream& operator<<(std::ostream& out, const IntrusivePtr& pointer) { return out << pointer.get(); }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) { return a.object_ == b.object_; }
  friend bool operator==(const IntrusivePtr& a, std::nullptr_t) { return a.object_ == nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace tandem
