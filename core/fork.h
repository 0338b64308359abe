// What lets the child of a fork() compute on the CPU whatever the parent's other threads were doing.
//
// The child has one thread, and a lock that another held stays locked there. So no lock of the library is
// waited for in a child whose holder it does not have: what serves a whole process is made anew (PerProcess),
// a lock of one object of many counts as free (ForkLock, ForkMutex). Only the allocator's lock is taken
// before a fork, so that its free blocks stay of use. Nothing is done at a fork itself, which may therefore
// happen inside any function of the user's that the library calls.
#pragma once
#include <atomic>
#include <cstdint>

namespace tandem::detail {

/// How many forks lead from the process that loaded the library to this one.
extern constinit std::atomic<uint32_t> fork_generation;
inline uint32_t this_process() { return fork_generation.load(std::memory_order_relaxed); }

/// One T, made on first use and never destroyed. Threads that race to make it wait for nobody: one of theirs
/// is kept, so a T can be made and thrown away.
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

/// One T for each process, made on first use and never destroyed. That of a child is made by T(const T&),
/// from the parent's, which a thread that is gone may have been changing: only atomics may be read there.
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

/// A spin lock, held for a moment. What it guards must be whole between any two writes.
class ForkLock {
 public:
  void lock() noexcept {
    for (uint32_t seen = 0; !try_lock(seen);) {
    }
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 protected:
  // Takes the lock when it is free or was held by a thread of another process; else `seen` tells who has it.
  bool try_lock(uint32_t& seen) noexcept {
    const uint32_t mine = this_process() + 1;
    seen = 0;
    return holder_.compare_exchange_weak(seen, mine, std::memory_order_acquire) ||
           (seen != 0 && seen != mine &&
            holder_.compare_exchange_strong(seen, mine, std::memory_order_acquire));
  }
  std::atomic<uint32_t> holder_{0};
};

/// The same for longer: who waits sleeps.
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

/// Throws Error when this process is not `process`: `what` was interrupted by a fork, and waits in the child
/// for threads that it does not have.
void check_same_process(uint32_t process, const char* what);

}  // namespace tandem::detail
