// The functions of the domain "tandem": operations for which ONNX has no operator. A file that calls one has its
// definition in ONNX's operators, so any program can run it; Tandem calls its own operation instead, for the same bits.
#pragma once
#include <set>
#include <string>

#include "tandem/onnx/proto.h"

namespace tandem::onnx::exporter {

inline constexpr int64_t kDomainVersion = 1, kOpset = 20;

/// Adds the functions of these names.
void add_functions(proto::ModelProto& model, const std::set<std::string>& names);

}  // namespace tandem::onnx::exporter
