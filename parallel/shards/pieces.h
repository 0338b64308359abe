// The pieces of a batch, each with its own forward and backward pass, and their losses.
#pragma once
#include <cstdint>
#include <vector>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/core/reduction.h"
#include "tandem/core/tensor.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::parallel {

/// What to do about a NaN or infinite loss. Only kIgnore avoids reading the loss on the host.
enum class NotFinite { kThrow, kSkip, kIgnore };

struct StepResult {
  std::vector<Tensor> losses;   ///< per piece: detached scalars on its device
  std::vector<double> weights;  ///< weights of the losses
  bool skipped = false;         ///< a loss was not finite under NotFinite::kSkip, so there are no gradients
  /// The loss of the batch; in several processes, the part of this one: they add up to the loss of the whole
  /// batch. Waits for the devices.
  double loss() const;
};

/// A part of a batch with its own forward and backward pass.
struct Piece {
  int64_t start, size;        // its samples in this process's part of the batch
  int64_t number;             // of a shard: among the shards of all processes
  double weight;              // of its loss in backward
  optional<uint64_t> stream;  // of random numbers; without one, it draws from the caller's
};

/// The number of samples in a batch. Throws Error unless its tensors agree on it and it is positive.
int64_t batch_size(const std::vector<Tensor>& batch, const char* caller);
/// The sizes of the pieces of a batch: cut as chunk does, or so that they differ by at most one.
std::vector<int64_t> piece_sizes(int64_t samples, int64_t pieces, bool chunks);
/// a / b where losses are means, otherwise 1.
double loss_share(Reduction loss, int64_t a, int64_t b);
/// Pieces of these sizes, whose numbers begin at `first`, and whose losses are weighted as parts of `whole` samples.
std::vector<Piece> make_pieces(const std::vector<int64_t>& sizes, int64_t first, int64_t whole, Reduction loss);

/// What the pieces of a step have in common.
struct PieceRun {
  const char* kind;  // what messages call a piece
  uint64_t seed;     // of the pieces' random streams
  int64_t step;
  NotFinite not_finite;
};

/// Calls `loss` with the piece's random numbers and log (null: buffers are changed at once). Throws Error unless it
/// returns a scalar on `device`.
Tensor loss_of_piece(const PieceRun& run, const Piece& piece, autograd::BufferLog* log, Device device,
                     FunctionRef<Tensor()> loss);
/// Returns false if the loss is not finite and the step is to be skipped. Throws Error under kThrow.
bool check_finite(const PieceRun& run, const Piece& piece, const Tensor& loss);
/// The backward pass of a piece's loss times its weight.
void run_backward(Tensor loss, const Piece& piece);

}  // namespace tandem::parallel
