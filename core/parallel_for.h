// Work on several threads with results that do not depend on how many there are.
//
// A range is cut in chunks of `grain`: the cut depends on (n, grain) alone, never on the number of threads,
// so a chunk that writes its own outputs, or its own partial sum, gives the same bits on 1 and on N threads.
// Every logical CPU device has a pool of its own; the caller's current device picks it.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

namespace tandem {

/// A borrowed callable: two pointers, no allocation. The callable must outlive the call.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(static_cast<Args&&>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Calls `body(begin, end)` for [0, grain), [grain, 2 grain) … [.., n), on the threads of the current device,
/// in any order. A call from inside a body, and a call while the pool is busy with another caller, runs on
/// the calling thread. An exception of a body is rethrown here after all chunks have ended. n <= grain costs
/// one direct call.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

/// While it lives, parallel_for of the calling thread runs on that thread alone: for helpers (loading,
/// copying) that must not take the pool away from the thread that computes.
class SerialGuard {
 public:
  SerialGuard();
  ~SerialGuard();
  SerialGuard(const SerialGuard&) = delete;
  SerialGuard& operator=(const SerialGuard&) = delete;

 private:
  bool previous_;
};

/// Threads for all CPU devices together (default: the cores this process may use, or TANDEM_NUM_THREADS).
/// With k logical devices each has max(1, threads / k). Throws Error when count < 1.
void set_num_threads(int count);
int get_num_threads();

/// Threads of the current device's pool, the caller included.
int device_num_threads();

namespace cpu {
/// Number of logical CPU devices (default 1, or TANDEM_CPU_DEVICES); 1 to 64. cpu:0 … cpu:count-1 share the
/// cores. Call it before any work runs on another device. Throws Error outside the range.
void set_device_count(int count);
int device_count();
/// The calling thread's current logical CPU device.
int current_device();
void set_current_device(int index);
}  // namespace cpu

}  // namespace tandem
