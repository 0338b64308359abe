// Recursion deeper than a thread's stack.
#pragma once
#include "tandem/core/threads/parallel_for.h"

namespace tandem::detail {

/// Calls `body`. If nested calls of this function have used 256 KiB of the current stack, `body` runs on a
/// new 8 MiB stack. The thread stays the same on any stack, including its thread_local objects, modes and
/// locks. Exceptions propagate to the caller. Throws Error if there is no memory for a stack.
void call_nested(FunctionRef<void()> body);

}  // namespace tandem::detail
