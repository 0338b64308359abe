// The queue of a captured step: kernel calls that compute element by element wait, so that those that follow each other
// become one kernel. A chain of them then reads and writes its tensors once.
//
// Calls wait while their results have as many elements, in one order. Whatever takes the context's stream
// (Context::stream) or changes it, and events, run them first, so everything else finds its inputs computed; but kernels
// that have nothing to do with them may run before them. Bits are the same as with separate kernels:
// each result is rounded to its dtype in a register as if it were stored. What nobody holds any more when the calls run
// is not written: the allocator keeps freed memory back (CachingAllocator::hold), so no other tensor has moved in.
#pragma once
#include <memory>
#include <vector>

#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/fusion_counts.h"
#include "tandem/core/tensor.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/fusion/core.h"
#include "tandem/cuda/fusion/formulas.h"

namespace tandem::cuda_impl {

/// A tensor, or a number; a result may be neither. Its memory is borrowed, so that a call that waits does not count as a use of it.
struct QueuedArgument {
  Tensor tensor;
  Scalar number;
  std::vector<int64_t> strides;  ///< along the dimensions of the queue

  bool is_number() const { return !tensor.defined(); }
};

/// A call that waits.
struct QueuedCall {
  const Formula* formula = nullptr;
  QueuedArgument out;
  std::vector<QueuedArgument> in;
  Scalar parameters[2];
  bool has_parameters = false;
  std::shared_ptr<const Core> core;  ///< the first argument is its source; the result may be undefined

  const Tensor& shape() const { return out.tensor.defined() ? out.tensor : in[0].tensor; }
};

struct FusedSource;

class FusionQueue final : public KernelQueue {
 public:
  explicit FusionQueue(Context& context);
  ~FusionQueue();
  FusionQueue(const FusionQueue&) = delete;
  FusionQueue& operator=(const FusionQueue&) = delete;

  bool take(const KernelCall& call) override;
  void resume() noexcept override { context_.fusion = this; }
  /// Runs what waits.
  void end();
  const FusionCounts& counts() const { return counts_; }

 private:
  void hold(const QueuedCall& call) const;
  bool is_independent(const KernelCall& call, std::size_t writes) const;
  bool joins(QueuedCall& call, const std::vector<int64_t>& sizes);
  bool admits(const QueuedCall& call) const;
  bool is_dead(const QueuedArgument& result) const;
  void run(const std::vector<QueuedCall>& calls);
  bool run_fused(const FusedSource& source);

  Context& context_;
  std::vector<QueuedCall> calls_;
  std::vector<int64_t> sizes_;  // of the queue's dimensions, innermost first
  FusionCounts counts_;
};

}  // namespace tandem::cuda_impl
