// tandem convert RUN NET.onnx.
#include "tandem/autograd/ops.h"
#include "tandem/cli/json.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/report/run_record.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/onnx/save.h"

namespace tandem::cli {
namespace {

constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 31;  // protobuf's limit

// A field of protobuf's encoding that is a text or a message: its number and type, its length, its bytes.
std::string field(uint8_t number, const std::string& content) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  std::size_t length = content.size();
  for (; length > 127; length >>= 7) out += static_cast<char>((length & 127) | 128);
  return out + static_cast<char>(length) + content;
}

// An entry of ModelProto.metadata_props. Fields may come in any order, so it may follow the others in a file.
std::string metadata_entry(const std::string& key, const std::string& value) {
  constexpr uint8_t kMetadata = 14, kKey = 1, kValue = 2;
  return field(kMetadata, field(kKey, key) + field(kValue, value));
}

}  // namespace

void save_onnx(nn::Sequential model, const std::vector<int64_t>& input, const std::vector<std::string>& classes,
               const std::string& path) {
  const auto forward = [&](const std::vector<Tensor>& images) { return std::vector{model->forward(images[0])}; };
  const Tensor example = zeros({2, input[0], input[1], input[2]});
  onnx::save(*model, forward, {example}, path, onnx::SaveOptions().input_names({"image"}).output_names({"scores"}));
  std::string metadata = metadata_entry(kOnnxRange, "Normalized_0_1");
  if (!classes.empty()) metadata += metadata_entry(kOnnxClasses, json_text(classes));
  write_file_atomically(path, read_text(path, kMaxFileBytes) + metadata);
}

}  // namespace tandem::cli
