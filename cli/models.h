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
  const char* what;
  nn::Sequential (*make)(const ModelShape& shape);
  double (*parameters)(const ModelShape& shape);
};

const std::vector<ModelInfo>& known_models();
/// A model from [N, channels, height, width] to [N, classes], initialised from the default generator. Throws
/// UsageError on an unknown name (with a suggestion) and on images too small for the model.
nn::Sequential make_model(const std::string& name, const ModelShape& shape);
/// Number of parameter values, computed without creating the model. Throws UsageError on an unknown name.
double model_parameters(const std::string& name, const ModelShape& shape);
/// make_model for parameters from a file: throws Error before allocating if their number does not match.
nn::Sequential make_model_for(const std::string& name, const ModelShape& shape,
                              const serialize::InputArchive& stored);

}  // namespace tandem::cli
