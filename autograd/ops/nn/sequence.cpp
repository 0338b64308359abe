// pad_sequence and packed sequences. Packing selects rows of the padded batch, padding selects rows of the packed data
// and of one more row that holds the padding.
#include "tandem/autograd/ops/nn/sequence.h"

#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/dims.h"

namespace tandem {
namespace {

// The values of an integer vector on the CPU.
std::vector<int64_t> values_of(const char* operation, const char* what, const Tensor& t) {
  check(t.defined() && t.dim() == 1 && t.dtype() == kLong && t.is_cpu(), operation, ": expected ", what,
        " to be an int64 vector on the CPU, got ", t);
  const Tensor row = t.contiguous();
  return {row.data_ptr<int64_t>(), row.data_ptr<int64_t>() + row.numel()};
}

Tensor int64_tensor(const std::vector<int64_t>& values) {
  Tensor t = empty({static_cast<int64_t>(values.size())}, TensorOptions(kLong).device(Device(kCPU)));
  std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  return t;
}

// The first two dimensions merged.
Tensor merged(const Tensor& t) {
  Dims sizes{t.size(0) * t.size(1)};
  for (int64_t d = 2; d < t.dim(); ++d) sizes.push_back(t.size(d));
  return t.reshape(sizes);
}

}  // namespace

std::vector<int64_t> autograd::checked_batch_sizes(const char* operation, const Tensor& data,
                                                   const Tensor& batch_sizes) {
  std::vector<int64_t> rows = values_of(operation, "batch_sizes", batch_sizes);
  check(!rows.empty(), operation, ": batch_sizes is empty");
  int64_t left = data.size(0);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    check(rows[t] > 0 && (t == 0 || rows[t] <= rows[t - 1]), operation,
          ": batch_sizes must be positive and not increase, got ", rows);
    check(rows[t] <= left, operation, ": batch_sizes ", rows, " exceed the rows of data ", data);
    left -= rows[t];
  }
  check(left == 0, operation, ": batch_sizes ", rows, " do not add up to the rows of data ", data);
  return rows;
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  check(sequences.size() > 0, "pad_sequence: expected at least one sequence");
  check(padding_side == "right" || padding_side == "left", "pad_sequence: padding_side must be left or right, got ",
        padding_side);
  int64_t longest = 0;
  for (const Tensor& s : sequences) {
    check(s.dim() >= 1, "pad_sequence: expected sequences of at least 1 dimension, got ", s);
    check(s.dim() == sequences[0].dim() &&
              s.sizes().slice(1, s.sizes().size() - 1) == sequences[0].sizes().slice(1, s.sizes().size() - 1),
          "pad_sequence: sequences may differ only in their first size\n  ", sequences[0], "\n  ", s);
    longest = std::max(longest, s.size(0));
  }
  std::vector<Tensor> padded;
  for (const Tensor& s : sequences) {
    Dims pad(2 * s.sizes().size(), 0);  // the last dimension comes first
    pad[pad.size() - (padding_side == "right" ? 1 : 2)] = longest - s.size(0);
    padded.push_back(s.size(0) == longest ? s : constant_pad_nd(s, pad, padding_value));
  }
  return stack(padded, batch_first ? 0 : 1);
}

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first) {
  constexpr const char* kName = "pack_padded_sequence";
  check(input.numel() > 0, "Cannot pack empty tensors: ", kName, " got ", input);
  check(input.dim() >= 2, kName, ": expected a padded batch of at least 2 dimensions, got ", input);
  const std::vector<int64_t> l = values_of(kName, "lengths", lengths);
  const Tensor x = batch_first ? input.transpose(0, 1) : input;
  const int64_t steps = x.size(0), batch = x.size(1);
  check(static_cast<int64_t>(l.size()) == batch, kName, ": expected ", batch, " lengths, got ", lengths, "\n  input ",
        input);
  for (std::size_t i = 0; i < l.size(); ++i) {
    check(l[i] > 0 && l[i] <= steps, kName, ": lengths must be from 1 to ", steps, ", got ", l);
    check(i == 0 || l[i] <= l[i - 1],
          "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
          "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sort them; got ",
          l);
  }
  std::vector<int64_t> rows, sizes;
  for (int64_t t = 0, b = batch; t < l[0]; ++t) {
    while (l[static_cast<std::size_t>(b - 1)] <= t) --b;
    sizes.push_back(b);
    for (int64_t i = 0; i < b; ++i) rows.push_back(t * batch + i);
  }
  return {index_select(merged(x), 0, int64_tensor(rows).to(input.device())), int64_tensor(sizes)};
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes, bool batch_first,
                                                const Scalar& padding_value, int64_t total_length) {
  constexpr const char* kName = "pad_packed_sequence";
  check(data.dim() >= 1, kName, ": expected data of at least 1 dimension, got ", data);
  const std::vector<int64_t> sizes = autograd::checked_batch_sizes(kName, data, batch_sizes);
  const int64_t batch = sizes[0], longest = static_cast<int64_t>(sizes.size()), steps = std::max(total_length, longest),
                n = data.size(0);
  std::vector<int64_t> rows(checked_numel({steps, batch}), n), lengths(static_cast<std::size_t>(batch), 0);
  for (int64_t t = 0, at = 0; t < longest; ++t)
    for (int64_t b = 0; b < sizes[static_cast<std::size_t>(t)]; ++b, ++at) {
      rows[static_cast<std::size_t>(t * batch + b)] = at;
      ++lengths[static_cast<std::size_t>(b)];
    }
  Dims row = data.sizes();
  row[0] = 1;
  const Tensor all = cat({data, full(row, padding_value, data.options())});
  const Tensor x = index_select(all, 0, int64_tensor(rows).to(data.device())).unflatten(0, {steps, batch});
  return {batch_first ? x.transpose(0, 1) : x, int64_tensor(lengths)};
}

}  // namespace tandem
