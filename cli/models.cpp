#include "tandem/cli/models.h"

#include "tandem/cli/options.h"
#include "tandem/core/suggest.h"
#include "tandem/models/lenet.h"
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
         linear_count(static_cast<double>(lenet_features(s)), 128) +
         linear_count(128, static_cast<double>(s.classes));
}

double mlp_count(const ModelShape& s) {
  return linear_count(pixels(s), 256) + linear_count(256, static_cast<double>(s.classes));
}

double softmax_count(const ModelShape& s) { return linear_count(pixels(s), static_cast<double>(s.classes)); }

const ModelInfo& find_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelInfo& model : known_models()) {
    if (name == model.name) return model;
    names.emplace_back(model.name);
  }
  std::string all;
  for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
  throw UsageError("unknown model " + name + did_you_mean(name, names) + " (known: " + all + ")");
}

}  // namespace

const std::vector<ModelInfo>& known_models() {
  static const std::vector<ModelInfo> models{
      {"lenet", "two convolutions and two linear layers, average pooling", lenet, lenet_count},
      {"mlp", "one hidden layer of 256", mlp, mlp_count},
      {"linear", "softmax regression", linear, softmax_count},
  };
  return models;
}

nn::Sequential make_model(const std::string& name, const ModelShape& shape) {
  return find_model(name).make(shape);
}

double model_parameters(const std::string& name, const ModelShape& shape) {
  return find_model(name).parameters(shape);
}

nn::Sequential make_model_for(const std::string& name, const ModelShape& shape,
                              const serialize::InputArchive& stored) {
  double have = 0;
  for (const auto& item : stored.tensors()) have += static_cast<double>(item.value().numel());
  const double need = model_parameters(name, shape);
  check(need == have, "the stored parameters do not fit model ", name, " for ", shape.classes,
        " classes and images of ", shape.channels, " x ", shape.height, " x ", shape.width, ": got ", have,
        " values, expected ", need);
  return make_model(name, shape);
}

}  // namespace tandem::cli
