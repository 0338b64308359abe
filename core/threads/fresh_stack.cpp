// Stacks are mapped with a guard page below and switched by ucontext; sanitizers are notified.
#include "tandem/core/threads/fresh_stack.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <utility>

#include "tandem/core/base/sanitizers.h"
#include "tandem/core/error.h"

#ifdef TANDEM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TANDEM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tandem::detail {
namespace {

constexpr std::size_t kStack = std::size_t{8} << 20, kGuard = std::size_t{64} << 10;
constexpr std::uintptr_t kMaxUsed = std::uintptr_t{256} << 10;  // of a stack, before nested calls get another

class Stack {
 public:
  Stack()
      : memory_(mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)) {
    check(memory_ != MAP_FAILED, "out of memory for another stack of ", kStack,
          " bytes: calls of backward inside backward are nested too deeply");
    mprotect(memory_, kGuard, PROT_NONE);
  }
  ~Stack() { munmap(memory_, kGuard + kStack); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  char* bottom() const { return static_cast<char*>(memory_) + kGuard; }

 private:
  void* memory_;
};

// A call on another stack. `entering` passes it to begin(), which takes no arguments.
class Call;
constinit thread_local Call* entering = nullptr;

class Call {
 public:
  explicit Call(FunctionRef<void()> body) : body_(body) {}
  void run() {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.bottom();
    own_.uc_stack.ss_size = kStack;
    own_.uc_link = nullptr;
    makecontext(&own_, begin, 0);
    entering = this;
#ifdef TANDEM_TSAN
    void* const fiber = __tsan_create_fiber(0);
    caller_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber, 0);
#endif
#ifdef TANDEM_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, stack_.bottom(), kStack);
#endif
    swapcontext(&caller_, &own_);
#ifdef TANDEM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
#ifdef TANDEM_TSAN
    __tsan_destroy_fiber(fiber);
#endif
    if (error_) std::rethrow_exception(std::move(error_));
  }

 private:
  static void begin() { entering->body(); }
  void body() {
#ifdef TANDEM_ASAN
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
#endif
    try {
      body_();
    } catch (...) {
      error_ = std::current_exception();
    }
#ifdef TANDEM_ASAN
    __sanitizer_start_switch_fiber(nullptr, bottom, size);
#endif
#ifdef TANDEM_TSAN
    __tsan_switch_to_fiber(caller_fiber_, 0);
#endif
    setcontext(&caller_);
  }

  FunctionRef<void()> body_;
  Stack stack_;
  ucontext_t own_{}, caller_{};
  std::exception_ptr error_;
  [[maybe_unused]] void* caller_fiber_ = nullptr;
};

// Where the first nested call on the current stack began; 0 if there is none.
constinit thread_local std::uintptr_t first = 0;

class First {
 public:
  explicit First(std::uintptr_t at) : before_(std::exchange(first, at)) {}
  ~First() { first = before_; }
  First(const First&) = delete;
  First& operator=(const First&) = delete;

 private:
  std::uintptr_t before_;
};

}  // namespace

void call_nested(FunctionRef<void()> body) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (first == 0) {
    const First mark(here);
    body();
  } else if (first - here < kMaxUsed) {
    body();
  } else {
    const First mark(0);
    Call([body] { call_nested(body); }).run();
  }
}

}  // namespace tandem::detail
