// What a ParameterServer is for any type of module: replicas, pieces, gradients, copies, timings.
#pragma once
#include <memory>
#include <vector>

#include "tandem/core/exclusive.h"
#include "tandem/core/parallel_for.h"
#include "tandem/core/reduction.h"
#include "tandem/nn/module.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/comm.h"

namespace tandem::parallel {

/// What to do about a loss that is NaN or infinite. kIgnore alone reads nothing on the host.
enum class NotFinite { kThrow, kSkip, kIgnore };

struct ServerOptions {
  optional<Device> root;  ///< where parameters are kept and stepped; the first device unless given
  /// Number of fixed pieces of a batch, each with a backward and a random stream of its own, summed in a
  /// fixed binary tree: results, buffers included (see parameter_server.h), do not depend on devices and
  /// threads. 0: a piece a device.
  int64_t shards = 0;
  /// What the loss is over its piece: a mean (pieces count by their sizes) or a sum.
  Reduction loss = Reduction::Mean;
  NotFinite not_finite = NotFinite::kThrow;
  /// Pieces as chunk cuts them; else they differ by one at most.
  bool chunks = false;
  /// Gradients are sent in so many pieces while backward runs. 0: one for each MiB, four at most; and none
  /// between CPU devices, which read each other's gradients and batches where they are.
  int buckets = 0;
  /// Wait for the device after each phase, so that timings() are its own and not only the host's.
  bool synchronize_timings = false;
};

struct StepResult {
  Tensors losses;               ///< of each piece: numbers, detached, on its device
  std::vector<double> weights;  ///< with which they count
  bool skipped = false;         ///< a loss was not finite and NotFinite::kSkip given: nothing to step with
  /// Of the whole batch. Waits for the devices.
  double loss() const;
};

/// Seconds, summed over `steps`.
struct DeviceTimings {
  double broadcast = 0;  ///< fetching the parameters
  double copy_in = 0, forward = 0, backward = 0;
  double idle = 0;  ///< until the others have ended their pieces
};
struct ServerTimings {
  int64_t steps = 0;
  double total = 0;      ///< inside of step
  double data_wait = 0;  ///< between two steps
  /// With step, no shards and an optimizer of all parameters that sums_gradients(), its pass sums them: then
  /// reduce is waiting for them.
  double reduce = 0, optimizer = 0;
  std::vector<DeviceTimings> devices;
};

class ServerCore {
 public:
  ~ServerCore();
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;

  /// One leaf: all parameters of the model that need gradients. Make the optimizer on it. Where parameters
  /// are to be treated unlike (groups), make it on those of the module given, which look at the same memory;
  /// one that got no gradient on any device counts as having zeros.
  std::vector<Tensor> parameters() const;
  const std::vector<Device>& devices() const;
  Device root() const;
  const ServerOptions& options() const;

  /// The optimizer's step on the root; replicas fetch the result at their next step. Throws Error when a
  /// parameter of the optimizer is not the server's, or there is no gradient. Where the optimizer throws
  /// within step, the gradients are gone.
  void update(optim::Optimizer& optimizer);
  /// While it lives, backward adds up on each device and sends nothing. (With shards it does send: the order
  /// of the sums is fixed.) A call that fails loses what was held back.
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

  /// Steps so far: a part of what random streams depend on, so of a checkpoint.
  int64_t steps() const;
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

  const ServerTimings& timings() const;
  void reset_timings();

 protected:
  using PieceFunction = FunctionRef<Tensor(nn::Module& net, const Tensors& piece)>;
  using MakeFunction = FunctionRef<std::shared_ptr<nn::Module>(Device device)>;
  ServerCore(std::shared_ptr<nn::Module> net, ArrayRef<Device> devices, const ServerOptions& options,
             MakeFunction make);
  /// `next`: an optimizer whose update follows at once, which may then sum the gradients in its own pass.
  StepResult run_backward(const Tensors& batch, PieceFunction loss, const optim::Optimizer* next);
  Tensor run_evaluate(const Tensors& batch, PieceFunction f);
  nn::Module& refreshed(std::size_t i);
  Exclusive exclusive_;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::parallel
