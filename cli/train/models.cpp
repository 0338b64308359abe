#include "tandem/cli/train/models.h"

#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/train/normalize.h"
#include "tandem/cli/train/weight_files.h"
#include "tandem/core/base/suggest.h"
#include "tandem/models/lenet.h"
#include "tandem/models/published.h"
#include "tandem/nn/files/prefix.h"
#include "tandem/nn/nn.h"

namespace tandem::cli {
namespace {

models::LeNetOptions lenet_options(const ModelShape& s) {
  return models::LeNetOptions(s.classes).channels(s.channels).height(s.height).width(s.width);
}

int64_t lenet_features(const ModelShape& s) try {
  return models::lenet_features(lenet_options(s));
} catch (const Error& error) {
  throw UsageError(error.what());
}

nn::Sequential lenet(const ModelShape& s) {
  lenet_features(s);
  return models::lenet(lenet_options(s));
}

nn::Sequential mlp(const ModelShape& s) {
  nn::Sequential model;
  model->push_back("flatten", nn::Flatten());
  model->push_back("fc1", nn::Linear(s.channels * s.height * s.width, 256));
  model->push_back("relu", nn::ReLU());
  model->push_back("fc2", nn::Linear(256, s.classes));
  return model;
}

nn::Sequential linear(const ModelShape& s) {
  nn::Sequential model;
  model->push_back("flatten", nn::Flatten());
  model->push_back("fc", nn::Linear(s.channels * s.height * s.width, s.classes));
  return model;
}

// In floating point, so no size overflows; every realistic count is exact.
double linear_count(double in, double out) { return in * out + out; }
double pixels(const ModelShape& s) {
  return static_cast<double>(s.channels) * static_cast<double>(s.height) * static_cast<double>(s.width);
}

double lenet_count(const ModelShape& s) {
  return linear_count(static_cast<double>(s.channels) * 9, 20) + linear_count(20 * 25, 50) +
         linear_count(static_cast<double>(lenet_features(s)), 128) + linear_count(128, static_cast<double>(s.classes));
}

double mlp_count(const ModelShape& s) {
  return linear_count(pixels(s), 256) + linear_count(256, static_cast<double>(s.classes));
}

double softmax_count(const ModelShape& s) { return linear_count(pixels(s), static_cast<double>(s.classes)); }

const models::PublishedModel* published_of(const std::string& name) {
  const models::PublishedModel* model = models::find_published(name);
  return model != nullptr && model->input.size() == 3 ? model : nullptr;
}

nn::Sequential published(const models::PublishedModel& model, const ModelShape& s) {
  const std::string name = model.name;
  require(s.channels == 1 || s.channels == 3, name, " takes gray images and images with 3 channels, not ", s.channels);
  require(!name.starts_with("vit") || (s.height == 224 && s.width == 224), name, " takes images of 224 x 224, not ",
          s.height, " x ", s.width);
  require(!name.starts_with("vgg") || (s.height >= 32 && s.width >= 32), name,
          " takes images of at least 32 x 32, not ", s.height, " x ", s.width);
  nn::Sequential all;
  all->push_back("normalize", Normalize());
  all->push_back("net", model.make(s.classes));
  return all;
}

nn::Sequential of_onnx(const std::string& path, const ModelShape& s) try {
  const OnnxNetwork network = open_onnx_network(path, {s.channels, s.height, s.width});
  check(network.class_count == s.classes, path, ": scores ", network.class_count, " classes, but the images have ",
        s.classes, "; export the network with a last layer for them");
  return network.model;
} catch (const Error& error) {
  throw UsageError(error.what());
}

const ModelInfo* own_model(const std::string& name) {
  for (const ModelInfo& model : known_models())
    if (name == model.name) return &model;
  return nullptr;
}

[[noreturn]] void unknown(const std::string& name) {
  require(!is_text_model(name), "model ", name, " is for texts; ", called_as(), " train and ", called_as(),
          " generate take it");
  std::vector<std::string> names = image_model_names();
  names.emplace_back("gpt2");
  refuse("unknown model ", name, did_you_mean(name, names), " (known: ", join(names, ", "), ")");
}

// Of the weight or bias of a last layer.
bool differ_in_classes(const Tensor& a, const Tensor& b) {
  return a.dim() == b.dim() && a.dim() > 0 && a.size(0) != b.size(0) && a.sizes().slice(1) == b.sizes().slice(1);
}

int64_t count_not_finite(const Tensor& t) {
  const NoGradGuard no_grad;
  const bool real = isFloatingType(t.scalar_type()) || t.is_complex();
  return real ? t.numel() - isfinite(t).sum().item<int64_t>() : 0;
}

}  // namespace

const std::vector<ModelInfo>& known_models() {
  static const std::vector<ModelInfo> models{
      {"lenet", lenet, lenet_count}, {"mlp", mlp, mlp_count}, {"linear", linear, softmax_count}};
  return models;
}

std::vector<std::string> image_model_names() {
  std::vector<std::string> names;
  for (const ModelInfo& model : known_models()) names.emplace_back(model.name);
  for (const models::PublishedModel& model : models::published_models())
    if (is_published(model.name)) names.emplace_back(model.name);
  return names;
}

int64_t image_size_for(const std::string& model) {
  if (is_onnx(model)) return open_onnx_network(model).input[1];
  return is_published(model) ? kImageSize : kSmallImageSize;
}

bool is_published(const std::string& name) { return published_of(name) != nullptr; }

nn::Sequential make_model(const std::string& name, const ModelShape& shape) {
  if (const ModelInfo* own = own_model(name)) return own->make(shape);
  if (const auto* model = published_of(name)) return published(*model, shape);
  if (is_onnx(name)) return of_onnx(name, shape);
  unknown(name);
}

double model_parameters(const std::string& name, const ModelShape& shape) {
  if (const ModelInfo* own = own_model(name)) return own->parameters(shape);
  if (const auto* model = published_of(name)) return model->parameters(shape.classes);
  if (is_onnx(name)) return value_count(read_onnx_state(name));
  unknown(name);
}

nn::Sequential make_model_for(const std::string& name, const ModelShape& shape, const serialize::InputArchive& stored) {
  if (is_onnx(name)) return make_model(name, shape);  // from a file that has all values
  const double have = value_count(stored.tensors());
  const double need = model_parameters(name, shape);
  // Published models also have buffers.
  check(is_published(name) ? need <= have : need == have, "the stored parameters do not fit model ", name, " for ",
        shape.classes, " classes and images of ", shape.channels, " x ", shape.height, " x ", shape.width, ": got ",
        have, " values, expected ", need);
  return make_model(name, shape);
}

std::shared_ptr<nn::Module> network(const std::string& name, const nn::Sequential& model) {
  return is_published(name) || is_text_model(name) || is_onnx(name) ? model->named_children()["net"] : model.ptr();
}

void start_from(const std::string& name, const nn::Sequential& model, const OrderedDict<std::string, Tensor>& given) {
  const auto net = network(name, model);
  if (is_onnx(name)) {
    net->load_state_dict(given);
    return;
  }
  const auto weights = serialize::unwrapped(given);
  warn_if_not_finite(name, weights);
  const auto own = net->state_dict();
  std::size_t left = own.size(), taken = 0;
  OrderedDict<std::string, Tensor> state("Tensor");
  for (const auto& item : own) {
    const Tensor* stored = weights.find(item.key());
    const bool in_head = left-- <= 2;
    const bool other_classes = in_head && stored != nullptr && differ_in_classes(*stored, item.value());
    if (stored != nullptr) state.insert(item.key(), other_classes ? item.value() : *stored);
    if (stored != nullptr && !other_classes) ++taken;
  }
  check(taken > 0 || state.size() < own.size(), "nothing in it fits ", name,
        ": its only layer is for another number of classes");
  for (const auto& item : weights)
    if (!own.contains(item.key())) state.insert(item.key(), item.value());  // listed in the error
  net->load_state_dict(state);
}

int64_t count_not_finite(const OrderedDict<std::string, Tensor>& state) {
  int64_t count = 0;
  for (const auto& item : state) count += count_not_finite(item.value());
  return count;
}

std::string not_finite(const OrderedDict<std::string, Tensor>& state) {
  int64_t bad = 0, all = 0;
  const std::string* first = nullptr;
  for (const auto& item : state) {
    all += item.value().numel();
    const int64_t here = count_not_finite(item.value());
    if (here > 0 && first == nullptr) first = &item.key();
    bad += here;
  }
  return first == nullptr
             ? ""
             : concat(with_commas(bad), " of ", with_commas(all), " weights are not finite, the first in ", *first);
}

void warn_if_not_finite(const std::string& what, const OrderedDict<std::string, Tensor>& state) {
  const std::string problem = not_finite(state);
  if (!problem.empty()) print_error("warning", concat(what, ": ", problem));
}

OrderedDict<std::string, Tensor> exported(const std::string& name, const nn::Sequential& model) {
  if (is_text_model(name)) return exported_text(model);
  return network(name, model)->state_dict();
}

}  // namespace tandem::cli
