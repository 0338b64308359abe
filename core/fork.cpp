// The handlers of fork(). They are registered when the library is loaded, so that those of its users run
// outside of them.
#include "tandem/core/fork.h"

#include <pthread.h>

#include "tandem/core/cpu_allocator.h"
#include "tandem/core/error.h"
#include "tandem/core/profile.h"

namespace tandem::detail {

constinit std::atomic<uint32_t> fork_generation{0};

namespace {
void before() { cpu::lock_for_fork(); }
void in_parent() { cpu::unlock_after_fork(); }
void in_child() {
  fork_generation.fetch_add(1, std::memory_order_relaxed);
  profiler::detail::on.store(false, std::memory_order_relaxed);  // a profile is the parent's
  cpu::unlock_after_fork();
}
[[gnu::constructor]] void watch_forks() { pthread_atfork(before, in_parent, in_child); }
}  // namespace

void check_same_process(uint32_t process, const char* what) {
  check(process == this_process(), what,
        ": the process was forked meanwhile, and the child has none of the threads that took part; a child "
        "that "
        "is forked inside of it can only start anew");
}

}  // namespace tandem::detail
