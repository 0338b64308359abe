// Writes a safetensors file whose tensors come one after the other, so that only one of them is in memory.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/files/safetensors_header.h"

namespace tandem::serialize {

class SafeTensorsWriter {
 public:
  /// Announces all tensors; their places are computed here. Throws Error as save_safetensors does.
  SafeTensorsWriter(const std::string& path, std::vector<TensorEntry> entries,
                    const OrderedDict<std::string, std::string>& metadata);
  /// Writes the values of entry `i`, in any order of the entries. Throws Error if it has another dtype or shape.
  void write(std::size_t i, const Tensor& tensor);
  /// Lets the file appear. Throws Error, also if a tensor has not been written.
  void commit();

 private:
  std::string path_;
  AtomicFile file_;
  Header header_;
  std::vector<uint32_t> sums_;
  std::vector<char> written_;
  uint64_t start_ = 0;  // of the elements
};

}  // namespace tandem::serialize
