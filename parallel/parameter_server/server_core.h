// The type-independent part of ParameterServer: replicas, pieces, gradients, copies, timings.
#pragma once
#include <memory>
#include <vector>

#include "tandem/core/base/exclusive.h"
#include "tandem/core/reduction.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/nn/module.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/shards/pieces.h"
#include "tandem/parallel/shared/device_copies.h"

namespace tandem::distributed {
class ProcessGroup;
}

namespace tandem::parallel {

struct ServerOptions {
  optional<Device> root = {};  ///< holds and updates the parameters; by default the first device
  /// Number of fixed pieces of a batch. Each has a separate backward and random stream, and they are summed
  /// in a fixed binary tree. Results, including buffers (see parameter_server.h), then do not depend on the
  /// number of devices and threads. 0: one piece per device.
  int64_t shards = 0;
  /// Whether the loss of a piece is a mean (pieces are weighted by size) or a sum. With shards, hooks see gradients
  /// times the size of their shard: the sum is divided once.
  Reduction loss = Reduction::Mean;
  NotFinite not_finite = NotFinite::kThrow;
  /// Cut pieces as chunk does; otherwise their sizes differ by at most one.
  bool chunks = false;
  /// Number of parts in which gradients are sent while backward runs. 0: one per started MiB, at most four,
  /// and none between CPU devices, which read each other's gradients and batches in place.
  int buckets = 0;
  /// Processes that train together; each passes step() its part of the batch. The gradients are summed over all
  /// of them. With `shards` (of the whole batch; rank r's part consists of run r of them, in order, see
  /// core/shards.h) results do not depend on the number of processes either. Null: this process only. Throws Error for
  /// a group of which this process is not a member.
  std::shared_ptr<distributed::ProcessGroup> group = nullptr;
  /// Gradients are sent to other processes in parts of this many bytes; without shards while backward runs, if the root
  /// can read the gradients of all devices. A loss that itself communicates in backward must then use the same
  /// parameters on all processes.
  int64_t bucket_bytes = 4 << 20;
  /// Wait for the device after each phase, so timings() measure device time and not only host time.
  bool synchronize_timings = false;
};

/// Seconds, summed over `steps`.
struct DeviceTimings {
  double broadcast = 0;  ///< time to fetch the parameters
  double copy_in = 0, forward = 0, backward = 0;
  double idle = 0;  ///< waiting for the other devices' pieces
};
struct ServerTimings {
  int64_t steps = 0;
  double total = 0;      ///< inside step
  double data_wait = 0;  ///< between two steps
  /// In step() without shards, an optimizer of all parameters that sums_gradients() sums them in its own
  /// pass; `reduce` is then the time spent waiting for them.
  double reduce = 0, optimizer = 0;
  std::vector<DeviceTimings> devices;
};

class ServerCore {
 public:
  ~ServerCore();
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;

  /// One leaf with all trainable parameters of the model; construct the optimizer on it. To treat parameters
  /// differently (groups), construct it on the parameters of the given module, which share the same memory. A
  /// parameter without a gradient on any device counts as having a zero gradient.
  std::vector<Tensor> parameters() const;
  const std::vector<Device>& devices() const;
  Device root() const;
  const ServerOptions& options() const;

  /// Performs the optimizer's step on the root; replicas fetch the result at their next step. Throws Error
  /// when a parameter of the optimizer does not belong to the server, or when there is no gradient. If the
  /// optimizer throws within step, the gradients are lost.
  void update(optim::Optimizer& optimizer);
  /// While alive, backward accumulates on each device and sends nothing. (With shards it still sends, since
  /// the order of the sums is fixed.) A call that fails loses the accumulated gradients.
  class NoSync {
   public:
    explicit NoSync(ServerCore& server);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    ServerCore& server_;
  };
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  /// Steps so far; part of a checkpoint, since random streams depend on it.
  int64_t steps() const;
  /// Counts on from `steps`, as load() does. Throws Error if it is negative.
  void set_steps(int64_t steps);
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

  const ServerTimings& timings() const;
  void reset_timings();

 protected:
  using PieceFunction = FunctionRef<Tensor(nn::Module& net, const Tensors& piece)>;
  using MakeFunction = FunctionRef<std::shared_ptr<nn::Module>(Device device)>;
  ServerCore(std::shared_ptr<nn::Module> net, ArrayRef<Device> devices, const ServerOptions& options,
             MakeFunction make);
  /// `next`: an optimizer that steps immediately afterwards and may sum the gradients in its own pass.
  StepResult run_backward(const Tensors& batch, PieceFunction loss, const optim::Optimizer* next);
  Tensor run_evaluate(const Tensors& batch, PieceFunction f);
  nn::Module& refreshed(std::size_t i);
  Exclusive exclusive_;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::parallel
