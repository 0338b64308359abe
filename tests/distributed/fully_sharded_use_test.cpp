// FullyShardedDataParallel: what is kept where, accumulation, evaluation, clipping, and what is refused.
#include <doctest/doctest.h>

#include "tandem/tests/distributed/fully_sharded.h"

namespace tandem::distributed {
namespace {}  // namespace

}  // namespace tandem::distributed
