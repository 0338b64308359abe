// Sums gradients over the processes of a group while backward still runs.
//
// Gradients live in buckets: flat buffers that the parameters' .grad() are views of. A bucket is reduced as soon as all
// its gradients have arrived, in the order of the buckets, which follows the order in which backward produces
// gradients.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/shared/gradient_hooks.h"

namespace tandem::distributed {

/// What a communication hook receives: one bucket, complete on this process.
class GradBucket {
 public:
  /// [n]: the gradients of this process, consecutively, with gaps of zeros. The hook's result replaces them.
  const Tensor& buffer() const { return buffer_; }
  std::size_t index() const { return index_; }
  /// Whether this is the last bucket of the step.
  bool is_last() const { return is_last_; }
  /// Views of buffer(), one per parameter, in its shape.
  const std::vector<Tensor>& gradients() const { return gradients_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }

 private:
  friend class Reducer;
  Tensor buffer_;
  std::vector<Tensor> gradients_, parameters_;
  std::size_t index_ = 0;
  bool is_last_ = false;
};

/// A reduction in progress. When it is done, the average over the group is in the bucket's buffer.
struct HookResult {
  std::vector<WorkPtr> works;
  std::function<void()> finish = {};  ///< called after waiting for all works; may be empty
};
/// Starts the reduction of a bucket. Every process calls it for the same buckets in the same order. What it throws
/// fails the group.
using CommHook = std::function<HookResult(ProcessGroup& group, const GradBucket& bucket)>;

/// The average over the group (the default).
HookResult allreduce_hook(ProcessGroup& group, const GradBucket& bucket);
/// The same, sent in half the bytes: rounded to float16 or bfloat16 after division by the size of the group.
HookResult fp16_compress_hook(ProcessGroup& group, const GradBucket& bucket);
HookResult bf16_compress_hook(ProcessGroup& group, const GradBucket& bucket);

struct ReducerOptions {
  int64_t bucket_bytes = 4 << 20;
  int64_t first_bucket_bytes = 1 << 20;  ///< small, so that communication starts early
  /// Whether parameters may lack a gradient in some steps. A parameter that no process has used since the last averaged
  /// pass, not even under no_sync, keeps its .grad(). Every forward searches the graph of its outputs, all of which the
  /// loss must use. Outputs that depend on no parameter are replaced by copies that require a gradient, so
  /// backward can run on a process that uses none.
  bool find_unused_parameters = false;
  /// Whether every step uses the same parameters equally often. The first backward pass, which communicates only at its
  /// end, shows which are unused; until then the graph is searched as above, later it is not. Passes nested in backward
  /// may then reach a parameter several times; otherwise they may reach it once.
  bool static_graph = false;
  /// Whether replicas on other devices add to the gradients. Then the buckets keep their first order, because the
  /// order of arrival depends on which device is faster. With find_unused_parameters a parameter may lack a gradient
  /// although outputs depend on it in the graph, where one node links many parameters of a replica; it counts as unused
  /// at the end of the pass.
  bool several_devices = false;
  CommHook comm_hook = allreduce_hook;
};

class Reducer {
 public:
  /// Registers hooks on `parameters` (leaves that require a gradient, at least one); `names` are for messages.
  Reducer(std::vector<Tensor> parameters, std::vector<std::string> names, std::shared_ptr<ProcessGroup> group,
          ReducerOptions options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Makes the next backward pass reduce its gradients before it returns; later ones accumulate on this process only.
  /// `outputs`: what forward returned, without undefined tensors. If they depend on no parameter, which the options
  /// must allow, they are replaced by copies whose backward takes part in the reduction with zeros; returns whether
  /// they are. That backward throws Error if it lacks gradients, and with create_graph. Throws Error if the previous
  /// pass failed, if a parameter has changed its dtype, device, shape or requires_grad, and if `trains` although no
  /// backward can follow.
  bool prepare(Tensors& outputs, bool trains);
  /// Throws if the previous backward pass failed. prepare() and skip() call it.
  void check_previous();
  /// Backward passes accumulate on this process only, until prepare() is called.
  void skip();
  /// Takes part, with zero gradients, in the reductions of one backward pass of the other processes.
  void shadow();
  void set_hook(CommHook hook);

  std::size_t buckets() const;
  /// Bytes of the buckets' buffers.
  std::size_t bytes() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
  parallel::GradientHooks hooks_;
};

}  // namespace tandem::distributed
