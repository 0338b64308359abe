// How a ParameterServer sums the gradients of a step. There is one class for each way: LocalReduction (the devices of
// one process), GroupReduction (several processes) and TreeReduction (shards). Internal to ParameterServer.
#pragma once
#include <memory>
#include <vector>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/parameter_server/server_core.h"
#include "tandem/parallel/parameter_server/server_replica.h"
#include "tandem/parallel/shards/pieces.h"

namespace tandem::parallel {

class GradientReduction {
 public:
  using Replicas = std::vector<std::unique_ptr<ServerReplica>>;  // one per device

  /// `kind`: what messages call a piece. Both references must outlive the reduction.
  GradientReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options, const char* kind);
  virtual ~GradientReduction() = default;

  /// A step begins: cuts `samples`, this process's part of the batch, into pieces().
  virtual void begin_step(int64_t samples, int64_t step) = 0;

  /// These are called on the device's thread: before its first piece, and before and after the backward of each.
  virtual void begin_device(std::size_t device) = 0;
  virtual void before_backward(std::size_t device, const Piece& piece) = 0;
  virtual void after_backward(std::size_t device) = 0;
  /// Defers the updates of buffers in forward; null if there is nothing to defer.
  virtual autograd::BufferLog* log(std::size_t) { return nullptr; }

  /// All devices have ended; `failed`: with an exception. Returns false if the pieces have changed: they must be
  /// computed again.
  virtual bool complete(bool /*failed*/) { return true; }
  /// Sums the gradients into leaf.grad(), unless they are held back. `next`: see ServerCore::run_backward.
  virtual void finish(const optim::Optimizer* next) = 0;
  /// Forgets all gradients, of this step and of earlier ones. `failed`: the sums may never arrive.
  virtual void drop(bool failed);
  /// The optimizer's step.
  virtual void update(optim::Optimizer& optimizer) { optimizer.step(); }

  const std::vector<Piece>& pieces() const { return pieces_; }
  /// The weight of a piece's loss in the loss of the batch of all processes.
  double loss_weight(const Piece& piece) const { return share(piece.size, samples_); }
  uint64_t seed() const { return seed_; }
  /// Whether gradients are held back, to be added to the next step's.
  bool accumulating() const { return accumulating_; }
  /// Number of NoSync guards alive.
  int held_back = 0;
  /// All trainable parameters of the root; its .grad() is the sum.
  const Tensor leaf;
  const char* const kind;

 protected:
  /// The sizes of the pieces of a batch.
  std::vector<int64_t> cut(int64_t samples, std::size_t parts) const;
  /// Sets pieces(), whose numbers begin at `first` and whose losses are weighted as parts of `whole` samples. Devices
  /// without a piece have no gradient, unless an earlier one counts.
  void set_pieces(const std::vector<int64_t>& sizes, int64_t first, int64_t whole);
  /// a / b where losses are means, otherwise 1.
  double share(int64_t a, int64_t b) const;
  ServerReplica& root() const { return *replicas_[root_]; }

  const Replicas& replicas_;
  const std::size_t root_;
  const ServerOptions& options_;
  std::vector<Piece> pieces_;
  std::size_t used_ = 0;  // devices with pieces
  int64_t samples_ = 0;   // in the batch of all processes
  uint64_t seed_ = 0;     // of the pieces' random streams
  bool accumulating_ = false;
};

/// A GroupReduction and a TreeReduction.
std::unique_ptr<GradientReduction> make_group_reduction(const GradientReduction::Replicas& replicas, std::size_t root,
                                                        const ServerOptions& options);
std::unique_ptr<GradientReduction> make_tree_reduction(const GradientReduction::Replicas& replicas, std::size_t root,
                                                       const ServerOptions& options);

}  // namespace tandem::parallel
