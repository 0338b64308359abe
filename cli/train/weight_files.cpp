// .pt files through tandem_pt.
#include "tandem/cli/train/weight_files.h"

#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/files/pt/weights.h"

namespace tandem::cli {

IValue read_pt(const std::string& path) { return serialize::load_pt(path); }

OrderedDict<std::string, Tensor> read_state(const std::string& path, const std::string& key) {
  check(key.empty() || !is_onnx(path), path, ": is not a .pt file: there is nothing under the key ", key);
  return is_onnx(path) ? read_onnx_state(path) : serialize::read_weights(path, serialize::WeightsOptions{.key = key});
}

void write_pt(const std::string& path, const OrderedDict<std::string, Tensor>& state) {
  serialize::save_pt(path, state);
}

}  // namespace tandem::cli
