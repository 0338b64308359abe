// Batches of sequences of different lengths without padding (LibTorch's torch::nn::utils::rnn).
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem::nn::utils::rnn {

/// p with p[permutation[i]] = i; undefined for an undefined permutation.
Tensor invert_permutation(const Tensor& permutation);

/// The rows of all sequences by step: those of step 0, then those of step 1, …; in each step the longest sequence
/// first. The functions below create it.
class PackedSequence {
 public:
  /// batch_sizes: the number of rows of each step, int64 on the CPU. sorted_indices: the positions in the original
  /// batch of the sequences from longest to shortest, undefined if they were sorted; unsorted_indices: its inverse,
  /// computed if undefined.
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {}, Tensor unsorted_indices = {});

  const Tensor& data() const { return data_; }
  const Tensor& batch_sizes() const { return batch_sizes_; }
  const Tensor& sorted_indices() const { return sorted_indices_; }
  const Tensor& unsorted_indices() const { return unsorted_indices_; }

  PackedSequence pin_memory() const;
  /// Converts the data; the indices follow to its device.
  PackedSequence to(const TensorOptions& options) const;
  PackedSequence cuda() const { return to(TensorOptions().device(optional<Device>(Device(kCUDA)))); }
  PackedSequence cpu() const { return to(TensorOptions().device(optional<Device>(Device(kCPU)))); }
  bool is_cuda() const { return data_.is_cuda(); }
  bool is_pinned() const { return data_.is_pinned(); }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

/// input [T, B, ...], or [B, T, ...] with batch_first; lengths [B], integers. Throws Error for lengths that are not
/// from 1 to T, and with enforce_sorted for lengths that increase.
PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first = false, bool enforce_sorted = true);
/// The padded batch [T, B, ...] (or [B, T, ...]) in its original order, and the lengths [B]. T is the longest length,
/// or total_length. Throws Error for a smaller total_length.
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                               double padding_value = 0.0, optional<int64_t> total_length = nullopt);
/// Sequences [L_i, ...] as [T, B, ...], or [B, T, ...] with batch_first.
Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false, double padding_value = 0,
                    std::string_view padding_side = "right");
/// Sequences [L_i, ...], with enforce_sorted from longest to shortest.
PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted = true);

}  // namespace tandem::nn::utils::rnn
