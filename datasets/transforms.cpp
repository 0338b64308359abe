// Normalising and stacking examples.
#include "tandem/datasets/transforms.h"

#include <algorithm>

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/cat.h"

namespace tandem::data::transforms {

namespace detail {

Tensor channel_values(ArrayRef<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  Tensor out = empty_raw({count, 1, 1}, kFloat, Device(kCPU, 0));
  std::transform(values.begin(), values.end(), out.data_ptr<float>(), [](double v) { return static_cast<float>(v); });
  return out;
}

// Broadcasting would align examples with fewer dimensions than the mean wrongly with the batch dimension, so
// dimensions of size 1 are inserted after it.
Tensor normalize_stacked(const Tensor& data, const Tensor& mean, const Tensor& stddev) {
  std::vector<int64_t> sizes = data.sizes().vec();
  for (int64_t d = data.dim() - 1; d < mean.dim(); ++d) sizes.insert(sizes.begin() + 1, 1);
  const Tensor input = static_cast<int64_t>(sizes.size()) == data.dim() ? data : data.reshape(sizes);
  return input.sub(mean).div(stddev);
}

}  // namespace detail

Example<> Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  std::vector<Tensor> data, targets;
  data.reserve(examples.size());
  targets.reserve(examples.size());
  for (auto& example : examples) {
    data.push_back(std::move(example.data));
    targets.push_back(std::move(example.target));
  }
  return {tandem::stack(data), tandem::stack(targets)};
}

TensorExample Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  std::vector<Tensor> data;
  data.reserve(examples.size());
  for (auto& example : examples) data.push_back(std::move(example.data));
  return tandem::stack(data);
}

std::vector<Tensor> Stack<std::vector<Tensor>>::apply_batch(std::vector<std::vector<Tensor>> examples) {
  check(!examples.empty(), "Stack: no examples");
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < examples[0].size(); ++k) {
    std::vector<Tensor> column;
    column.reserve(examples.size());
    for (auto& example : examples) {
      check(example.size() == examples[0].size(), "Stack: examples with ", examples[0].size(), " and with ",
            example.size(), " tensors");
      column.push_back(std::move(example[k]));
    }
    out.push_back(tandem::stack(column));
  }
  return out;
}

}  // namespace tandem::data::transforms
