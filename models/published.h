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
  /// Takes Tensor, returns Tensor.
  nn::AnyModule (*make)(int64_t num_classes);
};

const std::vector<PublishedModel>& published_models();
/// nullptr if there is no such model.
const PublishedModel* find_published(const std::string& name);

}  // namespace tandem::models
