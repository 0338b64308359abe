// A build without libzip knows no .pt files.
#include "tandem/cli/train/weight_files.h"

#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/nn/files/pt_plugin.h"
#include "tandem/nn/files/safetensors.h"

namespace tandem::cli {
namespace {

constexpr const char* kMissing =
    ": this program was built without libzip, which .pt files need; install libzip-dev and build it again";

}  // namespace

IValue read_pt(const std::string& path) { fail(path, kMissing); }

OrderedDict<std::string, Tensor> read_state(const std::string& path, const std::string& key) {
  check(!serialize::pt::is_pt_file(path), path, kMissing);
  check(key.empty(), path, ": is not a .pt file: there is nothing under the key ", key);
  return is_onnx(path) ? read_onnx_state(path) : serialize::load_safetensors(path).tensors;
}

void write_pt(const std::string& path, const OrderedDict<std::string, Tensor>&) { fail(path, kMissing); }

}  // namespace tandem::cli
