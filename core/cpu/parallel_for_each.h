// Multithreaded loops over tasks.
#pragma once
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {

/// Calls body(i) for i < n by parallel_for, in chunks of `grain`.
template <class Body>
void parallel_for_each(int64_t n, int64_t grain, const Body& body) {
  parallel_for(n, grain, [&body](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace tandem::cpu
