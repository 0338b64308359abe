// Packing and padding of sequences.
#include "tandem/nn/packed_sequence.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/gather.h"
#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/nn/sequence.h"
#include "tandem/autograd/ops/reduce/sort.h"

namespace tandem::nn::utils::rnn {

Tensor invert_permutation(const Tensor& permutation) {
  if (!permutation.defined()) return {};
  Tensor inverse = empty_like(permutation.contiguous());
  inverse.scatter_(0, permutation, arange(permutation.numel(), permutation.options()));
  return inverse;
}

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices, Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(unsorted_indices.defined() ? std::move(unsorted_indices)
                                                   : invert_permutation(sorted_indices_)) {
  check(batch_sizes_.is_cpu(), "PackedSequence: batch_sizes must be on the CPU, got ", batch_sizes_,
        "; create packed sequences with pack_sequence or pack_padded_sequence");
}

PackedSequence PackedSequence::pin_memory() const {
  const auto pinned = [](const Tensor& t) { return t.defined() ? t.pin_memory() : t; };
  return PackedSequence(data_.pin_memory(), batch_sizes_, pinned(sorted_indices_), pinned(unsorted_indices_));
}

PackedSequence PackedSequence::to(const TensorOptions& options) const {
  const Tensor data = data_.to(options);
  if (data.is_same(data_)) return *this;
  const auto moved = [&](const Tensor& t) { return t.defined() ? t.to(data.device()) : t; };
  return PackedSequence(data, batch_sizes_, moved(sorted_indices_), moved(unsorted_indices_));
}

PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first, bool enforce_sorted) {
  check(input.dim() >= 2, "pack_padded_sequence: expected a padded batch of at least 2 dimensions, got ", input);
  lengths = lengths.to(kLong).cpu();
  Tensor sorted_indices;
  if (!enforce_sorted) {
    std::tie(lengths, sorted_indices) = sort(lengths, -1, /*descending=*/true);
    sorted_indices = sorted_indices.to(input.device());
    input = index_select(input, batch_first ? 0 : 1, sorted_indices);
  }
  auto [data, batch_sizes] = _pack_padded_sequence(input, lengths, batch_first);
  return PackedSequence(std::move(data), std::move(batch_sizes), std::move(sorted_indices));
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first, double padding_value,
                                               optional<int64_t> total_length) {
  const int64_t longest = sequence.batch_sizes().size(0);
  check(!total_length || *total_length >= longest,
        "Expected total_length to be at least the length of the longest sequence in input, ", longest, ", but got ",
        total_length.value_or(0));
  auto [padded, lengths] = _pad_packed_sequence(sequence.data(), sequence.batch_sizes(), batch_first, padding_value,
                                                total_length.value_or(longest));
  const Tensor& order = sequence.unsorted_indices();
  if (!order.defined()) return {padded, lengths};
  return {index_select(padded, batch_first ? 0 : 1, order), index_select(lengths, 0, order.cpu())};
}

Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  return tandem::pad_sequence(sequences, batch_first, padding_value, padding_side);
}

PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted) {
  Tensor lengths = empty({static_cast<int64_t>(sequences.size())}, TensorOptions(kLong));
  const Tensor padded = tandem::pad_sequence(sequences);
  for (std::size_t i = 0; i < sequences.size(); ++i) lengths.data_ptr<int64_t>()[i] = sequences[i].size(0);
  return pack_padded_sequence(padded, lengths, false, enforce_sorted);
}

}  // namespace tandem::nn::utils::rnn
