// ONNX models in the tool. A build without libtandem_onnx has onnx_none.cpp, whose functions say what is missing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/sequential.h"

namespace tandem::cli {

/// Whether the name is an ONNX file's.
inline bool is_onnx(const std::string& name) { return name.ends_with(".onnx"); }

/// Metadata of a model for images: the names of its classes, a list in JSON; and the values that it expects, as ONNX
/// defines them: Normalized_0_1, Normalized_1_1 or NominalRange_0_255.
inline constexpr const char *kOnnxClasses = "tandem.classes", *kOnnxRange = "Image.NominalPixelRange";

// All of these throw Error that names the file if it is no ONNX model, or one that Tandem cannot run.

/// tandem inspect.
void inspect_onnx(const std::string& path);
/// tandem summary: runs the model on zeros. Unknown sizes are `batch_size` (none: 1), the first, and then those of
/// `input`. Throws UsageError if `input` does not fit.
void summarize_onnx(const std::string& path, const std::vector<int64_t>& input, std::optional<int64_t> batch_size);
/// Parameters and buffers under their ONNX names.
OrderedDict<std::string, Tensor> read_onnx_state(const std::string& path);

/// A model that scores the classes of images.
struct OnnxNetwork {
  /// From [N, channels, height, width], with values from 0 to 1, to scores [N, classes]. The file's network is the entry
  /// "net", after what it expects of its images: see docs/guide/tool.md.
  nn::Sequential model = nullptr;
  std::vector<int64_t> input;        ///< channels, height, width of its images
  int64_t shorter_side = 0;          ///< to which images of other sizes are resized before they are cropped
  int64_t class_count = 0;           ///< of its scores
  std::vector<std::string> classes;  ///< their names, if the file has them
};
/// `images`: channels, height and width of the images that it is for; empty: what the file says, and 3 x 224 x 224 where
/// it says nothing. Throws Error if the model takes or returns something else.
OnnxNetwork open_onnx_network(const std::string& path, const std::vector<int64_t>& images = {});
/// Throws Error unless the file is a network that can be trained, and all of the network is in this one file.
void check_trainable_onnx(const std::string& path);
/// Writes a model for images, from [N, channels, height, width] with values from 0 to 1 to scores [N, classes], as an
/// ONNX file that says so. Throws Error.
void save_onnx(nn::Sequential model, const std::vector<int64_t>& input, const std::vector<std::string>& classes,
               const std::string& path);
/// The names of the parameters of the last layer, of the entry "net" of an OnnxNetwork.
std::vector<std::string> onnx_head(const nn::Module& net);

}  // namespace tandem::cli
