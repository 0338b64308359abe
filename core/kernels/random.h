// Random numbers. Element i of a draw depends on (seed, offset, i) alone: not on threads, device or size.
#pragma once
#include "tandem/core/kernels/random_ops.h"

namespace tandem {

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
  Kernel<void(const Tensor& out, const Tensor& weights, bool replacement, const Generator::Draw& draw)>
      multinomial;
};

}  // namespace tandem
