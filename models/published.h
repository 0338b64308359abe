// The models by name, as torchvision and Hugging Face name them.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/any_module.h"

namespace tandem::models {

struct PublishedModel {
  const char* name;
  /// Of one input: [3, H, W] of an image, or [T] of tokens.
  std::vector<int64_t> input;
  /// 0: the model has no classes, and make() ignores the argument.
  int64_t num_classes;
  /// Number of parameter values with these classes.
  int64_t num_parameters;
  /// Inputs of the layer that scores the classes, which is the last entry of the state dict.
  int64_t head_inputs;
  /// Takes Tensor, returns Tensor.
  nn::AnyModule (*make)(int64_t num_classes);

  /// The same for another number of classes.
  double parameters(int64_t classes) const {
    return static_cast<double>(num_parameters) +
           static_cast<double>(head_inputs + 1) * static_cast<double>(classes - num_classes);
  }
};

const std::vector<PublishedModel>& published_models();
/// nullptr if there is no such model.
const PublishedModel* find_published(const std::string& name);

}  // namespace tandem::models
