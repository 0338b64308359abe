// Tensors in archives, stored under "0", "1", …
#include "tandem/nn/serialize.h"

namespace tandem::serialize {

void write(OutputArchive& archive, const Tensor& tensor) { archive.write("0", tensor); }
void write(OutputArchive& archive, const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
}
void read(InputArchive& archive, Tensor& tensor) {
  tensor.reset();
  archive.read("0", tensor);
}
void read(InputArchive& archive, std::vector<Tensor>& tensors) {
  tensors.clear();
  for (std::size_t i = 0; archive.contains(std::to_string(i)); ++i)
    archive.read(std::to_string(i), tensors.emplace_back());
}

}  // namespace tandem::serialize
