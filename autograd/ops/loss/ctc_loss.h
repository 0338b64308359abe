// Connectionist temporal classification.
#pragma once
#include "tandem/core/reduction.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// -log of the probability that log_probs [T, N, C] (or [T, C]) yield the targets, summed over all alignments in which
/// `blank` may stand between labels and labels may repeat (A. Graves et al.: Connectionist temporal classification,
/// ICML 2006). targets: integers [N, S], or all labels in one vector; input_lengths and target_lengths: N numbers.
///
/// The mean divides each loss by its target's length first. zero_infinity replaces infinite losses, of inputs shorter
/// than their targets, and their gradients by 0. The gradient is taken for scores before log_softmax, exp(log_probs) -
/// posterior, as in PyTorch; it has no gradient itself. Throws Error on lengths and labels out of range.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank = 0, Reduction reduction = kMean, bool zero_infinity = false);
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank = 0, Reduction reduction = kMean,
                bool zero_infinity = false);

}  // namespace tandem
