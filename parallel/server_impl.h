// The implementation of ServerCore, internal to its sources.
#pragma once
#include <exception>

#include "tandem/parallel/group_sum.h"
#include "tandem/parallel/replicas.h"
#include "tandem/parallel/server_core.h"
#include "tandem/parallel/server_group.h"
#include "tandem/parallel/server_replica.h"

namespace tandem::parallel {

struct Piece {
  int64_t start, size;
  double weight;   // of its loss in backward
  int64_t number;  // with shards, among those of all processes
};

/// Number of samples in a batch. Throws Error unless its tensors agree on it and it is positive.
int64_t batch_size(const Tensors& batch);
/// `from` as a tensor on `device`; if `device` can read its memory, a view that keeps the storage alive.
Tensor seen_from(Device device, const Tensor& from);
/// Rethrows the first device's error, with the device prepended to its message.
void rethrow(const std::vector<std::exception_ptr>& errors, const std::vector<Device>& devices,
             const ServerGroup* group);

struct ServerCore::Impl {
  using Sizes = std::vector<int64_t>;
  std::vector<Device> devices;
  std::size_t root = 0;
  ServerOptions options;
  std::unique_ptr<detail::ReplicaSet> set;
  std::vector<std::unique_ptr<ServerReplica>> replicas;  // one per device, on the modules of `set`
  Tensors inboxes;  // on the root, per replica; undefined where the root reads directly
  Tensor leaf;
  optim::FlatGradients summands;  // for the optimizer's pass to sum; empty if already summed
  bool has_buffers = false;
  bool accumulating = false;  // add to the gradients of earlier calls
  int held_back = 0;          // number of NoSync guards alive
  int64_t steps = 0;          // successful backward passes
  double left_at = 0;
  ServerTimings timings;
  std::unique_ptr<ServerGroup> group;   // null in a single process
  std::unique_ptr<GroupSum> group_sum;  // with a group, without shards
  bool summing = false;                 // begin_sum() was called in this step
  WholeBatch whole;                     // of the current step
  int64_t part_samples = 0;             // of this process's part of it
  bool weighted_late = false;           // without shards: this part's weight applies to the sum of its gradients

  ServerReplica& master() { return *replicas[root]; }
  bool shards() const { return options.shards > 0; }

  void make_inboxes();
  /// Runs f. If it throws, the other processes fail, too, instead of waiting for this one.
  template <class F>
  auto guarded(F f) {
    try {
      return f();
    } catch (...) {
      if (group) group->abort(std::current_exception());
      throw;
    }
  }
  StepResult run_backward(const Tensors& batch, PieceFunction loss, const optim::Optimizer* next);
  void update(optim::Optimizer& optimizer);
  std::vector<int64_t> piece_sizes(int64_t samples) const;
  void begin_batch(int64_t samples);
  bool complete_batch();
  Sizes shard_sizes(int64_t samples) const;
  void set_weights(StepResult& result) const;
  double divisor() const;
  double part_divisor() const;
  void begin_sum(std::size_t used);
  uint64_t stream_of(const Piece& piece) const;
  struct Computed {
    StepResult result;
    std::vector<Device> used;
    std::vector<std::exception_ptr> errors;  // by device
    bool failed = false;
  };
  Computed compute(const Tensors& batch, PieceFunction loss);
  std::vector<Piece> cut(const WholeBatch& whole) const;
  void work(std::size_t device, const std::vector<Piece>& pieces, std::size_t first, std::size_t count,
            const Tensors& batch, PieceFunction loss, StepResult& result, std::vector<char>& bad);
  bool piece(ServerReplica& r, const Piece& piece, std::size_t number, const Tensors& batch, PieceFunction loss,
             StepResult& result, PhaseClock& clock, bool last);
  void reduce(std::size_t used, const optim::Optimizer* next);
  void sum_devices(std::size_t used, const optim::Optimizer* next);
  Tensors gradients_of_peers(std::size_t used);
  bool steps_all(const optim::Optimizer& optimizer);
  void end_reading();
  void reduce_tree(std::size_t used);
  void fold_buffers(std::size_t used);
  void add_timings(std::size_t used, double elapsed);
  void forget() {
    summands = {};
    for (auto& r : replicas) r->forget_gradients();
    leaf.mutable_grad().reset();
    if (group_sum) group_sum->drop();
    accumulating = summing = false;
  }
};

}  // namespace tandem::parallel
