// Recursion that is deeper than a thread's stack.
#pragma once
#include "tandem/core/parallel_for.h"

namespace tandem::detail {

/// Calls `body`. Where calls of this function are nested so deep in each other that 256 KiB of the stack lie
/// between them, on a stack of 8 MiB of its own. It is the same thread on any stack: its thread_local
/// objects, modes and locks are the caller's. Exceptions of `body` pass. Throws Error when there is no memory
/// for a stack.
void call_nested(FunctionRef<void()> body);

}  // namespace tandem::detail
