// tandem convert RUN NET.onnx.
#include "tandem/autograd/ops.h"
#include "tandem/cli/json.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/onnx/save.h"

namespace tandem::cli {
void save_onnx(nn::Sequential model, const std::vector<int64_t>& input, const std::vector<std::string>& classes,
               const std::string& path) {
  const auto forward = [&](const std::vector<Tensor>& images) { return std::vector{model->forward(images[0])}; };
  const Tensor example = zeros({2, input[0], input[1], input[2]});
  onnx::Metadata metadata{{kOnnxRange, "Normalized_0_1"}};
  if (!classes.empty()) metadata.emplace_back(kOnnxClasses, json_text(classes));
  onnx::save(*model, forward, {example}, path,
             onnx::SaveOptions{.input_names = {"image"}, .output_names = {"scores"}, .metadata = metadata});
}

}  // namespace tandem::cli
