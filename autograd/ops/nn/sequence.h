// Batches of sequences of different lengths: padded to one length, or packed step by step. nn/packed_sequence.h has the
// user's form of packed sequences.
#pragma once
#include <string_view>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// Sequences [L_i, ...] as [T, B, ...], or [B, T, ...] with batch_first, where T is the largest L_i. padding_side is
/// "right" or "left". Throws Error when there is no sequence or the other sizes differ.
Tensor pad_sequence(TensorList sequences, bool batch_first = false, double padding_value = 0,
                    std::string_view padding_side = "right");

/// From a padded batch [T, B, ...] (or [B, T, ...]) the rows of step 0, then of step 1, …, each without padding:
/// data [sum of lengths, ...] and batch_sizes [longest], int64 on the CPU. `lengths` [B] are integers on the CPU,
/// positive and not increasing.
std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first);
/// The reverse: the padded batch with max(total_length, longest) steps, and the lengths, int64 on the CPU.
std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes, bool batch_first,
                                                const Scalar& padding_value, int64_t total_length);

namespace autograd {
/// The values of batch_sizes. Throws Error unless it is an int64 vector on the CPU of positive numbers that do not
/// increase and whose sum is the number of rows of `data`.
std::vector<int64_t> checked_batch_sizes(const char* operation, const Tensor& data, const Tensor& batch_sizes);
}  // namespace autograd

}  // namespace tandem
