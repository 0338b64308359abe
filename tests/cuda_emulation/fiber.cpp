// Stack switching: a dozen instructions on x86-64, ucontext elsewhere. AddressSanitizer and ThreadSanitizer
// are notified in builds that use them.
#include "tandem/tests/cuda_emulation/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "tandem/core/base/sanitizers.h"

#ifdef TANDEM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TANDEM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifdef TANDEM_FIBERS_ASSEMBLY
// void tandem_change_stack(void** save, void* load): pushes the callee-saved registers on the old stack.
extern "C" void tandem_change_stack(void** save, void* load);
asm(R"(
.text
.globl tandem_change_stack
.hidden tandem_change_stack
.type tandem_change_stack,@function
tandem_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tandem_change_stack,.-tandem_change_stack
)");
#endif

namespace tandem::cuda_emulation {
namespace {
#if defined(TANDEM_ASAN) || defined(TANDEM_TSAN)
constexpr std::size_t kStack = std::size_t{256} << 10;
#else
constexpr std::size_t kStack = std::size_t{96} << 10;
#endif
constexpr std::size_t kGuard = 4096;
}  // namespace

Fiber::Fiber(void (*main)()) : main_(main) {
  void* memory =
      mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<char*>(memory) + kGuard;
  mprotect(memory, kGuard, PROT_NONE);  // a stack overflow faults here
#ifdef TANDEM_TSAN
  followed_.tsan_fiber = __tsan_create_fiber(0);
#endif
}
Fiber::~Fiber() {
#ifdef TANDEM_TSAN
  __tsan_destroy_fiber(followed_.tsan_fiber);
#endif
  munmap(stack_ - kGuard, kStack + kGuard);
}

#ifdef TANDEM_FIBERS_ASSEMBLY
void Fiber::change(Context& from, Context& to) { tandem_change_stack(&from, to); }
void Fiber::prepare() {
  // Six registers, the address of main for `ret`, and the stack alignment of a function entry.
  auto* top = reinterpret_cast<uintptr_t*>(stack_ + kStack) - 3;
  top[0] = 0;
  top[-1] = reinterpret_cast<uintptr_t>(main_);
  for (int i = 2; i < 8; ++i) top[-i] = 0;
  own_ = top - 7;
}
#else
void Fiber::change(Context& from, Context& to) { swapcontext(&from, &to); }
void Fiber::prepare() {
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_;
  own_.uc_stack.ss_size = kStack;
  own_.uc_link = nullptr;
  makecontext(&own_, main_, 0);
}
#endif

void Fiber::run() {
  if (!prepared_) prepare();
  prepared_ = true;
#ifdef TANDEM_TSAN
  followed_.tsan_host = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(followed_.tsan_fiber, 0);
#endif
#ifdef TANDEM_ASAN
  __sanitizer_start_switch_fiber(&followed_.host_fake_stack, stack_, kStack);
#endif
  change(host_, own_);
#ifdef TANDEM_ASAN
  __sanitizer_finish_switch_fiber(followed_.host_fake_stack, nullptr, nullptr);
#endif
}

void Fiber::arrived() {
#ifdef TANDEM_ASAN
  __sanitizer_finish_switch_fiber(followed_.fake_stack, &followed_.host_bottom, &followed_.host_size);
#endif
}

void Fiber::leave() {
#ifdef TANDEM_TSAN
  __tsan_switch_to_fiber(followed_.tsan_host, 0);
#endif
#ifdef TANDEM_ASAN
  __sanitizer_start_switch_fiber(&followed_.fake_stack, followed_.host_bottom, followed_.host_size);
#endif
  change(own_, host_);
  arrived();
}

}  // namespace tandem::cuda_emulation
