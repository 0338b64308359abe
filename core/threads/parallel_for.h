// Multithreaded loops with results that do not depend on the number of threads.
//
// A range is split into chunks of `grain`. The split depends only on (n, grain), so a chunk that writes its
// own outputs, or its own partial sum, produces the same bits on 1 and on N threads. Every logical CPU device
// has its own thread pool; the caller's current device selects it.
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
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))), call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(static_cast<Args&&>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Calls `body(begin, end)` for [0, grain), [grain, 2 grain) … [.., n), in any order, on the threads of the
/// current device. A nested call, or a call while another caller uses the pool, runs on the calling thread.
/// An exception from a body is rethrown here after all chunks have ended. n <= grain costs one direct call.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

/// Whether parallel_for on this thread runs on it alone: within a body, or under a SerialGuard.
bool in_parallel_region();
/// The thread's number in its pool, below device_num_threads(); 0 on threads that belong to none.
int thread_number();

/// While it lives, parallel_for on this thread runs on this thread only. For helpers (loading, copying) that
/// must not occupy the pool of the computing thread.
class SerialGuard {
 public:
  [[nodiscard]] SerialGuard();
  ~SerialGuard();
  SerialGuard(const SerialGuard&) = delete;
  SerialGuard& operator=(const SerialGuard&) = delete;

 private:
  bool previous_;
};

/// Number of threads for all CPU devices together (default: the cores available to this process, or
/// TANDEM_NUM_THREADS). Each of k logical devices gets max(1, threads / k). Throws Error when count < 1.
void set_num_threads(int count);
int get_num_threads();

/// Number of threads in the current device's pool, including the caller.
int device_num_threads();

namespace cpu {
/// Number of logical CPU devices, 1 to 64 (default 1, or TANDEM_CPU_DEVICES). cpu:0 … cpu:count-1 share the
/// cores. Call it before any work runs on another device. Throws Error if `count` is out of range.
void set_device_count(int count);
int device_count();
/// The calling thread's current logical CPU device.
int current_device();
void set_current_device(int index);
}  // namespace cpu

}  // namespace tandem
