// Random numbers. Element i of a draw depends on (seed, offset, i) alone: not on threads, device or size.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/op_lists.h"
#include "tandem/core/generator.h"

namespace tandem {

/// Numbers that shape a distribution; each op says what it reads.
struct RandomParameters {
  double a = 0, b = 0;
  int64_t base = 0;
  uint64_t range = 0;
};

/// out row-major, of a dtype of the op's Types.
using FillRandomKernels =
    KernelArray<RandomOps, void(const Tensor& out, const Generator::Draw& draw, const RandomParameters& p)>;

struct RandomKernels {
  const FillRandomKernels& fill;
  /// Draws columns of each row of `weights` (float64 [rows, columns], row-major) into `out` (int64
  /// [rows, samples], row-major). Throws Error on a negative, infinite or NaN weight, on a row of zeros, and
  /// without replacement on a row with fewer positive weights than samples. With replacement a sample is the
  /// column where the cumulated weights pass uniform number row samples + k; without, sample k is the column
  /// of the k-th smallest -ln u / weight, u of number row columns + column.
  Kernel<"multinomial",
         void(const Tensor& out, const Tensor& weights, bool replacement, const Generator::Draw& draw)>
      multinomial;
};

}  // namespace tandem
