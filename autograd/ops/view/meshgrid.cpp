// meshgrid: views of the vectors.
#include "tandem/autograd/ops/view/cat.h"

namespace tandem {

std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing) {
  const bool xy = indexing == "xy";
  check(xy || indexing == "ij", "meshgrid: indexing must be \"ij\" or \"xy\", got \"", indexing, "\"");
  const std::size_t n = tensors.size();
  check(n > 0, "meshgrid: expected at least one tensor");
  const auto place = [&](std::size_t i) { return xy && n >= 2 && i < 2 ? 1 - i : i; };
  Dims sizes(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    check(tensors[i].dim() <= 1, "meshgrid: expected vectors, tensor ", i, " is ", tensors[i]);
    sizes[place(i)] = tensors[i].numel();
  }
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < n; ++i) {
    Dims own(n, 1);
    own[place(i)] = tensors[i].numel();
    out.push_back(tensors[i].reshape(own).expand(sizes));
  }
  return out;
}

}  // namespace tandem
