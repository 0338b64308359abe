// A build without protobuf and ONNX's messages knows no ONNX models.
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

[[noreturn]] void missing(const std::string& path) {
  fail(path,
       ": this program was built without libprotobuf and libonnx, which ONNX files need; install libprotobuf-dev and "
       "libonnx-dev and build it again");
}

}  // namespace

void inspect_onnx(const std::string& path) { missing(path); }
void summarize_onnx(const std::string& path, const std::vector<int64_t>&, std::optional<int64_t>) { missing(path); }
OrderedDict<std::string, Tensor> read_onnx_state(const std::string& path) { missing(path); }
OnnxNetwork open_onnx_network(const std::string& path, const std::vector<int64_t>&) { missing(path); }
void check_trainable_onnx(const std::string& path) { missing(path); }
void save_onnx(nn::Sequential, const std::vector<int64_t>&, const std::vector<std::string>&, const std::string& path) {
  missing(path);
}
std::vector<std::string> onnx_head(const nn::Module&) { return {}; }

}  // namespace tandem::cli
