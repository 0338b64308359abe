// Tensors in ONNX's files.
#pragma once
#include <string>

#include "tandem/core/tensor.h"
#include "tandem/onnx/proto.h"

namespace tandem::onnx {

/// The tensor on the CPU. Data in other files are read from `folder` ("" if there is none). Memory is allocated only
/// after its size has been compared with that of the data. Throws Error, naming the tensor, on a dtype that Tandem
/// lacks, a negative size, data of another length, or a file outside the folder.
Tensor tensor_of(const proto::TensorProto& from, const std::string& folder);
/// The same for a sparse tensor, as a dense one.
Tensor tensor_of(const proto::SparseTensorProto& from, const std::string& folder);

}  // namespace tandem::onnx
