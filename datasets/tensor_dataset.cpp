// Gathering and checking rows of tensors.
#include "tandem/datasets/tensor_dataset.h"

#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/view/cat.h"

namespace tandem::data::datasets {
namespace detail {

Tensor gather_rows(const Tensor& tensor, ArrayRef<size_t> indices) {
  Tensor at = empty_raw({static_cast<int64_t>(indices.size())}, kLong, Device(kCPU, 0));
  int64_t* to = at.data_ptr<int64_t>();
  for (const size_t i : indices) *to++ = static_cast<int64_t>(i);
  return index_select(tensor, 0, at.to(tensor.device()));
}

Tensor row(const Tensor& tensor, size_t index) {
  check_index(index < static_cast<size_t>(tensor.size(0)), "data set: index ", index, " is out of range for ",
              tensor.size(0), " examples");
  return tensor.select(0, static_cast<int64_t>(index));
}

void check_rows(ArrayRef<Tensor> tensors) {
  check(!tensors.empty(), "data set: no tensors");
  for (const Tensor& t : tensors) {
    check(t.dim() > 0, "data set: a zero-dimensional tensor has no rows");
    check(t.size(0) == tensors[0].size(0), "data set: tensors have different lengths: ", tensors[0], " and ", t);
  }
}

}  // namespace detail

TensorDataset::TensorDataset(const std::vector<Tensor>& tensors) : TensorDataset(tandem::stack(tensors)) {}

std::vector<Tensor> TensorsDataset::get(size_t index) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(detail::row(t, index));
  return out;
}

std::vector<Tensor> TensorsDataset::get_stacked(ArrayRef<size_t> indices) const {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(detail::gather_rows(t, indices));
  return out;
}

RandomDataset::RandomDataset(int64_t size, int64_t length, uint64_t seed)
    : data(randn({length, size}, Generator(seed))) {}

}  // namespace tandem::data::datasets
