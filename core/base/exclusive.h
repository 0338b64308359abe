// Exclusive: reports concurrent use of an object that only one thread at a time may use.
#pragma once
#include <atomic>
#include <thread>

#include "tandem/core/error.h"

namespace tandem {

class Exclusive {
 public:
  Exclusive() = default;
  /// A copy starts out unused.
  Exclusive(const Exclusive&) {}
  Exclusive& operator=(const Exclusive&) { return *this; }

  /// While it lives, other threads are refused; the same thread may nest uses.
  class Use {
   public:
    /// Throws Error, prefixed by `what`, if another thread is using the object.
    Use(Exclusive& object, const char* what) : object_(object) {
      const std::thread::id me = std::this_thread::get_id();
      if (object_.user_.load(std::memory_order_relaxed) == me) return;
      std::thread::id nobody;
      check(object_.user_.compare_exchange_strong(nobody, me, std::memory_order_acquire), what,
            ": another thread is using it, but only one thread at a time may; use one per thread, or take a "
            "lock");
      outermost_ = true;
    }
    ~Use() {
      if (outermost_) object_.user_.store({}, std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Exclusive& object_;
    bool outermost_ = false;
  };

 private:
  std::atomic<std::thread::id> user_{};
};

}  // namespace tandem
