// The models that the tool knows by name.
#pragma once
#include <string>
#include <vector>

#include "tandem/tandem.h"

namespace tandem::cli {

/// What a model is made for: pictures [channels, height, width] and a number of classes.
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
/// Takes [N, channels, height, width], gives [N, classes]. Parameters come from the default generator.
/// Throws UsageError on an unknown name (with a suggestion) and on pictures too small for the model.
nn::Sequential make_model(const std::string& name, const ModelShape& shape);
/// How many values its parameters have, without making it. Throws UsageError on an unknown name.
double model_parameters(const std::string& name, const ModelShape& shape);
/// make_model, for parameters from a file: throws Error before anything is allocated when their number is
/// another.
nn::Sequential make_model_for(const std::string& name, const ModelShape& shape,
                              const serialize::InputArchive& stored);

}  // namespace tandem::cli
