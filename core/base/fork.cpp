// Handlers for fork(). They are registered when the library is loaded, so they run closer to the fork than
// those of the program.
#include "tandem/core/base/fork.h"

#include <pthread.h>

#include "tandem/core/error.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/profile.h"

namespace tandem::detail {

constinit std::atomic<uint32_t> fork_generation{0};

namespace {
void before() { cpu::lock_for_fork(); }
void in_parent() { cpu::unlock_after_fork(); }
void in_child() {
  fork_generation.fetch_add(1, std::memory_order_relaxed);
  profiler::detail::watchers.store(0, std::memory_order_relaxed);  // a running profile belongs to the parent
  cpu::unlock_after_fork();
}
[[gnu::constructor]] void watch_forks() { pthread_atfork(before, in_parent, in_child); }
}  // namespace

void check_same_process(uint32_t process, const char* what) {
  check(process == this_process(), what,
        ": the process was forked meanwhile, and the child lacks the threads that took part; it cannot finish "
        "this call, but it can start new ones");
}

}  // namespace tandem::detail
