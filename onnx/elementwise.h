// Elementwise operations of one tensor and nothing else, for the export and the import. Internal to onnx/.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::onnx {

/// The domain of the functions that stand for operations without an operator in ONNX (export/functions.h).
inline constexpr const char* kDomain = "tandem";

/// The export writes the kernel of this name as `op`, or as a function of kDomain with this name; the import
/// reads both as `operation`.
struct Elementwise {
  const char* name;
  Tensor (*operation)(const Tensor&);
  const char* op;              ///< ONNX's operator; nullptr if there is none
  const char* body = nullptr;  ///< then the function's, from x to y (export/functions.h)
};
const std::vector<Elementwise>& elementwise_operations();

}  // namespace tandem::onnx
