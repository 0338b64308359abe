// The models that the tool knows by name.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/files/archive.h"
#include "tandem/nn/sequential.h"

namespace tandem::cli {

/// Dimensions of a model: images [channels, height, width] and the number of classes.
struct ModelShape {
  int64_t channels = 1, height = 28, width = 28, classes = 10;
};

struct ModelInfo {
  const char* name;
  nn::Sequential (*make)(const ModelShape& shape);
  double (*parameters)(const ModelShape& shape);
};

/// The tool's own models. make_model also makes the published models for images.
const std::vector<ModelInfo>& known_models();
/// The tool's own models and the published ones for images.
std::vector<std::string> image_model_names();
/// Pixels of a side to which image files are resized for a model, unless others are asked for. `model`: a name, or an
/// ONNX file.
int64_t image_size_for(const std::string& model);
/// Whether this is a published model for images.
bool is_published(const std::string& name);
/// A model from [N, channels, height, width], with values from 0 to 1, to [N, classes], initialised from the default
/// generator. A published model is the entry "net" of the sequence, after a normalisation with ImageNet's mean and
/// standard deviation; gray images are repeated for its three channels. The name of an ONNX file stands for the network
/// in it: see open_onnx_network. Throws UsageError on an unknown name (with a suggestion), and on images or classes that
/// the model cannot take.
nn::Sequential make_model(const std::string& name, const ModelShape& shape);
/// Number of parameter values, computed without creating the model. Throws UsageError on an unknown name.
double model_parameters(const std::string& name, const ModelShape& shape);
/// make_model for parameters from a file: throws Error before allocating if their number does not match.
nn::Sequential make_model_for(const std::string& name, const ModelShape& shape, const serialize::InputArchive& stored);
/// Copies published weights into a new model. The layer that scores the classes, the last one, keeps its own if the
/// file has another number of classes; an ONNX file's does not. Throws Error that lists missing and unexpected names and
/// other shapes.
void start_from(const std::string& name, const nn::Sequential& model, const OrderedDict<std::string, Tensor>& given);
int64_t count_not_finite(const OrderedDict<std::string, Tensor>& state);
/// "3 of 61,706 weights are not finite, the first in conv1.weight", or "" if all are.
std::string not_finite(const OrderedDict<std::string, Tensor>& state);
/// Says so on standard error, of `what`.
void warn_if_not_finite(const std::string& what, const OrderedDict<std::string, Tensor>& state);
/// The network in a model: without the normalisation of a published one, or of an ONNX file's.
std::shared_ptr<nn::Module> network(const std::string& name, const nn::Sequential& model);
/// What to save of a model for other programs: of a published model, the names of its state dict in Python; of an ONNX
/// file, its own.
OrderedDict<std::string, Tensor> exported(const std::string& name, const nn::Sequential& model);

}  // namespace tandem::cli
