// A fiber: a function on its own stack that can be suspended and resumed, always from the same host thread.
#pragma once
#include <cstddef>

#if defined(__x86_64__) && !defined(TANDEM_FIBERS_UCONTEXT)
#define TANDEM_FIBERS_ASSEMBLY 1
#else
#include <ucontext.h>
#endif

namespace tandem::cuda_emulation {

class Fiber {
 public:
  /// `main` never returns.
  explicit Fiber(void (*main)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Called on the host thread's stack: runs `main`, or continues it, until it leaves.
  void run();

  /// Called on the fiber: switches back to the host thread's stack.
  void leave();
  /// Must be the first call in `main`.
  void arrived();

 private:
#ifdef TANDEM_FIBERS_ASSEMBLY
  using Context = void*;
#else
  using Context = ucontext_t;
#endif
  static void change(Context& from, Context& to);
  void prepare();

  void (*main_)();
  char* stack_;
  bool prepared_ = false;
  Context own_{}, host_{};
  // For the sanitizers, which track stacks.
  struct Followed {
    void *fake_stack = nullptr, *host_fake_stack = nullptr;
    const void* host_bottom = nullptr;
    std::size_t host_size = 0;
    void *tsan_fiber = nullptr, *tsan_host = nullptr;
  } followed_;
};

}  // namespace tandem::cuda_emulation
