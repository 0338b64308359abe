#include "tandem/parallel/shards/pieces.h"

#include <cmath>
#include <limits>

#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/random/splitmix64.h"
#include "tandem/parallel/shared/device_copies.h"

namespace tandem::parallel {

double StepResult::loss() const {
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i)
    sum += losses[i].defined() ? weights[i] * losses[i].item<double>() : std::numeric_limits<double>::quiet_NaN();
  return sum;
}

int64_t batch_size(const std::vector<Tensor>& batch, const char* caller) {
  check(!batch.empty(), caller, ": the batch has no tensors");
  for (const Tensor& t : batch) {
    check(t.defined() && t.dim() > 0, caller, ": batch tensors must have samples along dimension 0, got ", t);
    check(t.size(0) == batch[0].size(0), caller, ": batch tensors differ in the number of samples\n  ", batch[0],
          "\n  ", t);
  }
  check(batch[0].size(0) > 0, caller, ": the batch has no samples: ", batch[0]);
  return batch[0].size(0);
}

std::vector<int64_t> piece_sizes(int64_t samples, int64_t pieces, bool chunks) {
  const auto count = static_cast<std::size_t>(pieces);
  return chunks ? chunk_sizes(samples, count) : balanced_sizes(samples, count);
}

double loss_share(Reduction loss, int64_t a, int64_t b) {
  return loss == Reduction::Mean ? static_cast<double>(a) / static_cast<double>(b) : 1;
}

std::vector<Piece> make_pieces(const std::vector<int64_t>& sizes, int64_t first, int64_t whole, Reduction loss) {
  std::vector<Piece> pieces;
  for (int64_t start = 0; const int64_t size : sizes) {
    pieces.push_back({start, size, first, loss_share(loss, size, whole), static_cast<uint64_t>(first)});
    start += size;
    ++first;
  }
  return pieces;
}

Tensor loss_of_piece(const PieceRun& run, const Piece& piece, autograd::BufferLog* log, Device device,
                     FunctionRef<Tensor()> loss) {
  optional<GeneratorGuard> stream;
  if (piece.stream)
    stream.emplace(Generator(mixed(mixed(mixed(run.seed) ^ static_cast<uint64_t>(run.step)) ^ *piece.stream)));
  Tensor value;
  {
    const autograd::BufferLogGuard guard(log);
    value = loss();
  }
  check(value.defined() && value.numel() == 1 && value.device() == device, "the loss of ", run.kind, " ", piece.number,
        " must be a scalar on ", device, ", got ", value);
  return value;
}

bool check_finite(const PieceRun& run, const Piece& piece, const Tensor& loss) {
  if (run.not_finite == NotFinite::kIgnore) return true;
  const double number = loss.item<double>();
  if (std::isfinite(number)) return true;
  check(run.not_finite == NotFinite::kSkip, "the loss of ", run.kind, " ", piece.number, " (samples ", piece.start,
        " to ", piece.start + piece.size - 1, " of the batch) is ", number);
  return false;
}

void run_backward(Tensor loss, const Piece& piece) {
  if (piece.weight == 1)
    loss.backward();
  else
    loss.backward(full(loss.sizes(), piece.weight, loss.options()));
}

}  // namespace tandem::parallel
