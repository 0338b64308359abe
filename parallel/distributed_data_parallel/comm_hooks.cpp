// The communication hooks that come with DistributedDataParallel.
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/parallel/distributed_data_parallel/reducer.h"

namespace tandem::distributed {
namespace {

// Divides before rounding, so the sum stays within the range of float16.
HookResult compressed(ProcessGroup& group, const GradBucket& bucket, ScalarType dtype) {
  const NoGradGuard no_grad;
  Tensor buffer = bucket.buffer();
  Tensor small = (buffer / static_cast<double>(group.size())).to(dtype);
  return {{group.all_reduce(small, ReduceOp::SUM, static_cast<int>(bucket.index()))}, [buffer, small]() mutable {
            const NoGradGuard no_grad;
            buffer.copy_(small);
          }};
}

}  // namespace

HookResult allreduce_hook(ProcessGroup& group, const GradBucket& bucket) {
  return {{group.all_reduce(bucket.buffer(), ReduceOp::AVG, static_cast<int>(bucket.index()))}};
}
HookResult fp16_compress_hook(ProcessGroup& group, const GradBucket& bucket) {
  return compressed(group, bucket, kHalf);
}
HookResult bf16_compress_hook(ProcessGroup& group, const GradBucket& bucket) {
  return compressed(group, bucket, kBFloat16);
}

}  // namespace tandem::distributed
