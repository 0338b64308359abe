// The definitions of the domain "tandem" as ONNX's messages.
#pragma once
#include <set>
#include <string>

#include "tandem/onnx/export/functions.h"
#include "tandem/onnx/proto.h"

namespace tandem::onnx::exporter {

inline constexpr int64_t kOpset = 20;

/// Adds the functions of these names.
void add_functions(proto::ModelProto& model, const std::set<std::string>& names);

}  // namespace tandem::onnx::exporter
