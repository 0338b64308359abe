// Lets the child of a fork() compute on the CPU, whatever the parent's other threads were doing.
//
// The child has a single thread, and a lock that another thread held stays locked. So a child never waits for
// a library lock whose holder it does not have: process-wide state is recreated (PerProcess), and the lock of
// an individual object counts as free (ForkLock, ForkMutex). Only the allocator's lock is taken before a
// fork, so its free blocks remain usable. Nothing else happens at the fork itself, so user code that the
// library calls may fork anywhere.
#pragma once
#include <atomic>
#include <cstdint>

namespace tandem::detail {

/// Number of forks between the process that loaded the library and this one.
extern constinit std::atomic<uint32_t> fork_generation;
inline uint32_t this_process() { return fork_generation.load(std::memory_order_relaxed); }

/// One T, created on first use and never destroyed. Threads that race to create it do not wait for each
/// other: one instance is kept, so a T may be created and discarded.
template <class T>
class OnFirstUse {
 public:
  template <class Make>
  T& get(const Make& make) {
    T* found = at_.load(std::memory_order_acquire);
    return found != nullptr ? *found : add(make());
  }
  T& get() {
    return get([] { return new T; });
  }

 private:
  T& add(T* mine) {
    T* first = nullptr;
    if (at_.compare_exchange_strong(first, mine, std::memory_order_acq_rel)) return *mine;
    delete mine;
    return *first;
  }
  std::atomic<T*> at_{nullptr};
};

/// One T per process, created on first use and never destroyed. A child constructs its own with T(const T&)
/// from the parent's, which a thread that no longer exists may have been modifying: the constructor may read
/// only atomics.
template <class T>
class PerProcess {
 public:
  T& get() {
    Made* found = at_.load(std::memory_order_acquire);
    if (found != nullptr && found->process == this_process()) [[likely]]
      return found->value;
    return make(found);
  }

 private:
  struct Made {
    Made() = default;
    explicit Made(const T& before) : value(before) {}
    T value;
    const uint32_t process = this_process();
  };
  T& make(Made* found) {
    Made* mine = found == nullptr ? new Made : new Made(found->value);
    if (at_.compare_exchange_strong(found, mine, std::memory_order_acq_rel)) return mine->value;
    delete mine;
    return found->value;
  }
  std::atomic<Made*> at_{nullptr};
};

/// A spin lock for a few instructions: four bytes, so every tensor's state can hold one. Guarded data must be
/// consistent between any two writes. State that is recreated in the child uses std::mutex instead.
class ForkLock {
 public:
  void lock() noexcept {
    for (uint32_t seen = 0; !try_lock(seen);) {
    }
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 protected:
  // Takes the lock if it is free or was held by a thread of another process; otherwise sets `seen` to the
  // holder.
  bool try_lock(uint32_t& seen) noexcept {
    const uint32_t mine = this_process() + 1;
    seen = 0;
    return holder_.compare_exchange_weak(seen, mine, std::memory_order_acquire) ||
           (seen != 0 && seen != mine && holder_.compare_exchange_strong(seen, mine, std::memory_order_acquire));
  }
  std::atomic<uint32_t> holder_{0};
};

/// The same for longer critical sections, in which a spinning waiter would burn a core: waiters sleep.
class ForkMutex : private ForkLock {
 public:
  void lock() noexcept {
    for (uint32_t seen = 0; !try_lock(seen);)
      if (seen != 0) holder_.wait(seen, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    ForkLock::unlock();
    holder_.notify_one();
  }
};

/// Throws Error unless this process is `process`: a fork interrupted `what`, and the child would wait for
/// threads that it does not have.
void check_same_process(uint32_t process, const char* what);

}  // namespace tandem::detail
