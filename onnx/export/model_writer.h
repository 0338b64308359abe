// Writes a graph as an ONNX file.
#pragma once
#include "tandem/onnx/export/graph.h"

namespace tandem::onnx::exporter {

struct FileOptions {
  std::vector<std::string> input_names, output_names;  ///< one each
  std::vector<std::pair<std::string, std::string>> metadata;
  int64_t batch = 0;  ///< that was recorded; 0: the sizes are fixed
  int64_t max_embedded_bytes = 0;
};

/// Throws Error if the file cannot be written; an older one is then still there.
void write_model(const Graph& graph, const std::string& path, const FileOptions& options);

}  // namespace tandem::onnx::exporter
