// Recipes: the options of training that determine the result, apart from model, data and seed.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn {
class Module;
}
namespace tandem::optim {
class Optimizer;
}

namespace tandem::cli {

using Json = nlohmann::ordered_json;
struct RecipeOptions;

struct Recipe {
  std::string name;               ///< of the recipe that options have changed; "": of a version that did not record it
  std::string optimizer = "sgd";  ///< or adamw
  std::string schedule = "constant";  ///< or cosine: from lr to 0 over all steps
  std::string init = "normal";        ///< weights N(0, 0.01²), biases 0; or default: the layers' initialisation
  std::string augment = "none";       ///< see augmentation.h
  int64_t batch_size = 256;
  double lr = 0.2;  ///< for the mean loss; equals the published 0.2 / batch for a summed loss
  double momentum = 0, weight_decay = 0;
  double label_smoothing = 0;  ///< of the training loss, from 0 to below 1
  int64_t accumulate = 1;      ///< batches whose gradients are added before a step
  double clip = 0;             ///< largest norm of all gradients together; 0: any
  double ema = 0;              ///< decay of the moving average of the model, which is evaluated; 0: none
  bool ema_warmup = false;     ///< the decay rises with the steps: older versions began with it
  std::string freeze;          ///< what does not train: see frozen.h
  int64_t patience = 0;  ///< epochs without a better one, see early_stopping.h, after which a run ends; 0: any number
  std::string keep = "last";  ///< the run's model: its last or its best epoch's; or all: a file for each
  double warmup = 0;          ///< share of all steps in which the learning rate rises to lr, before the schedule
  std::string decay = "all";  ///< what weight_decay applies to; or matrices: parameters with at least two dimensions
  std::string precision = "fp32";  ///< of forward passes; or tf32, bf16, fp16: see evaluate.h
  bool half() const { return precision == "bf16" || precision == "fp16"; }
};

/// What is trained, as far as a recipe depends on it.
struct Trained {
  std::string model;
  bool image_files = false;  ///< its images are files
  bool weights = false;      ///< it starts from weights
};
/// The recipe of that name, overridden by the options that are set. Without a name it is text for a text, images for a
/// published model and the network of an ONNX file, else `usual`. Learning rate, momentum and weight decay are those of
/// the optimizer in this recipe for this model. Throws UsageError.
Recipe make_recipe(const Trained& trained, RecipeOptions options, const std::string& usual);
/// Throws UsageError if tf32 was asked for where all devices are CPUs.
void check_precision(const RecipeOptions& options, bool only_cpus);
/// Throws UsageError if an option that was given contradicts the recipe.
void check_same(const RecipeOptions& options, const Recipe& recipe);
/// The values of an option of a recipe, such as "optimizer", and the names of the recipes, under "recipe"; none for an
/// option that takes other values.
std::vector<std::string> recipe_values(const std::string& option);
/// Throws Error on invalid values.
void check_recipe(const Recipe& recipe);

void write_recipe(Json& json, const Recipe& recipe);
Recipe recipe_from_json(const Json& json);
/// "recipe source: sgd, batch 256, learning rate 0.2"
std::string describe(const Recipe& recipe);

/// Initialises the parameters as recipe.init says, from the default generator.
void initialise(nn::Module& model, const Recipe& recipe);
std::unique_ptr<optim::Optimizer> make_optimizer(const Recipe& recipe, const std::vector<Tensor>& parameters);
/// The learning rate at step `step` of `steps`.
double learning_rate(const Recipe& recipe, int64_t step, int64_t steps);

}  // namespace tandem::cli
