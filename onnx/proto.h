// ONNX's messages, as Debian's libonnx-dev and the ONNX project's packages declare them.
#pragma once
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include "tandem/core/dtype.h"

namespace tandem::onnx {

namespace proto = ::onnx;

/// The dtype of a TensorProto.DataType, or Undefined if Tandem lacks it.
ScalarType dtype_of(int data_type);
/// "float32", "string", "float8e4m3fn", … for a TensorProto.DataType.
std::string type_name(int data_type);
/// The TensorProto.DataType of a dtype.
int data_type_of(ScalarType dtype);

}  // namespace tandem::onnx
