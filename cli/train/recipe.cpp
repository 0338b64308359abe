#include "tandem/cli/train/recipe.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "tandem/autograd/grad_mode.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/json.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/cli/train/models.h"
#include "tandem/core/base/number_text.h"
#include "tandem/core/base/suggest.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module.h"
#include "tandem/nn/optim/optim.h"

namespace tandem::cli {
namespace {

// The only list of a recipe's entries: calls f(name, recipe's value, option's value) for each.
template <class R, class O, class F>
void each_entry(R& r, O&& o, F&& f) {
  f("optimizer", r.optimizer, o.optimizer);
  f("schedule", r.schedule, o.schedule);
  f("init", r.init, o.init);
  f("augment", r.augment, o.augment);
  f("batch-size", r.batch_size, o.batch_size);
  f("lr", r.lr, o.lr);
  f("momentum", r.momentum, o.momentum);
  f("weight-decay", r.weight_decay, o.weight_decay);
  f("label-smoothing", r.label_smoothing, o.label_smoothing);
  f("accumulate", r.accumulate, o.accumulate);
  f("clip", r.clip, o.clip);
  f("ema", r.ema, o.ema);
  f("freeze", r.freeze, o.freeze);
  f("patience", r.patience, o.patience);
  f("keep", r.keep, o.keep);
  f("warmup", r.warmup, o.warmup);
  f("decay", r.decay, o.decay);
  f("precision", r.precision, o.precision);
}

void one_of(const char* option, const std::string& value) {
  std::vector<std::string> known = recipe_values(option);
  if (std::ranges::count(known, value) > 0) return;
  const std::string near = did_you_mean(value, known), last = known.back();
  known.pop_back();
  fail("--", option, " ", value, ": expected ", join(known, ", "), " or ", last, near);
}

// A recipe without what depends on the optimizer.
Recipe named(const std::string& name) {
  one_of("recipe", name);
  Recipe r{.name = name};
  if (name == "source") return r;
  r.schedule = "cosine";
  r.init = "default";
  if (name == "best") {
    r.optimizer = "adamw";
    r.batch_size = 64;
    r.label_smoothing = 0.05;
  } else if (name == "images") {
    r.augment = "crop";
    r.batch_size = 128;
  } else {  // text
    r.optimizer = "adamw";
    r.batch_size = 32;
    r.clip = 1;
    r.warmup = 0.05;
    r.decay = "matrices";
  }
  return r;
}

// Sets what goes with the optimizer, for the recipe's batch size. Decoupled from the gradient, as in AdamW, a decay
// acts only by lr * weight_decay, so that it is larger.
void set_rates(Recipe& r, const Trained& t) {
  const bool sgd = r.optimizer == "sgd";
  r.lr = sgd ? 0.02 : 0.001;
  r.momentum = sgd ? 0.9 : 0;
  r.weight_decay = sgd ? 5e-4 : 0.05;
  if (r.name == "source" && sgd) {
    r.lr = 0.2;
    r.momentum = r.weight_decay = 0;
  }
  if (r.name == "best") r.lr = sgd ? 0.05 : 0.003;
  if (r.name == "text") {
    r.lr = sgd ? 0.1 : 0.001;
    r.weight_decay = sgd ? 0 : 0.1;
  }
  // The wide layers at the end of VGG, and ViT, diverge at the rate of ResNets.
  if (!sgd && (t.model.starts_with("vgg") || t.model.starts_with("vit"))) r.lr = 1e-4;
  // Keeps what the weights have learned. Exporters fold batch normalisations away, which allow a larger rate.
  if (r.name == "text" && t.weights) {
    r.lr = sgd ? 0.01 : 5e-5;
    r.batch_size = 8;
  }
  if (r.name != "images") return;
  if (t.weights) r.lr = sgd ? 0.01 : 1e-4;
  if (is_onnx(t.model)) r.lr = sgd ? 0.001 : 1e-4;
}

// The default rate with other batches than the recipe's: in proportion (Goyal et al. 2017), or for Adam to the root
// (Malladi et al. 2022). Larger batches keep the rate: a larger one would need a longer warm-up. The recipe source
// has the published programs' rate, whatever the batch.
double scaled_rate(const Recipe& r, int64_t usual_batch) {
  const double share =
      static_cast<double>(r.batch_size) * static_cast<double>(r.accumulate) / static_cast<double>(usual_batch);
  if (share >= 1 || r.name == "source") return r.lr;
  // Three digits, so that the rate can be typed.
  const std::string text = number_text(r.lr * (r.optimizer == "sgd" ? share : std::sqrt(share)), 'g', 3);
  double rate = r.lr;
  std::from_chars(text.data(), text.data() + text.size(), rate);
  return rate;
}

// One group of all parameters, or a second one of those that do not decay.
template <class Options>
std::vector<optim::OptimizerParamGroup> groups_of(const Recipe& r, const std::vector<Tensor>& parameters,
                                                  Options options) {
  if (r.decay == "all") return {optim::OptimizerParamGroup(parameters, options.clone())};
  std::vector<Tensor> matrices, others;
  for (const Tensor& p : parameters) (p.dim() >= 2 ? matrices : others).push_back(p);
  std::vector<optim::OptimizerParamGroup> out;
  if (!matrices.empty()) out.emplace_back(matrices, options.clone());
  if (!others.empty()) out.emplace_back(others, options.weight_decay(0).clone());
  return out;
}

}  // namespace

std::vector<std::string> recipe_values(const std::string& option) {
  if (option == "recipe") return {"best", "source", "images", "text"};
  if (option == "optimizer") return {"sgd", "adamw"};
  if (option == "schedule") return {"constant", "cosine"};
  if (option == "init") return {"normal", "default"};
  if (option == "augment") return {"none", "flip", "crop", "resized-crop", "randaugment"};
  if (option == "keep") return {"last", "best", "all"};
  if (option == "decay") return {"all", "matrices"};
  if (option == "precision") return {"fp32", "tf32", "bf16", "fp16"};
  return {};
}

void check_recipe(const Recipe& r) {
  each_entry(r, RecipeOptions(), [](const char* name, const auto& value, const auto&) {
    if constexpr (std::is_same_v<decltype(value), const std::string&>)
      if (!recipe_values(name).empty()) one_of(name, value);
  });
  check(r.batch_size >= 1 && r.batch_size <= 1'000'000'000, "--batch-size ", r.batch_size,
        ": expected 1 to 1000000000");
  check(r.lr > 0 && r.lr <= 1e6, "--lr ", r.lr, ": expected a number above 0, at most 1000000");
  check(r.momentum >= 0 && r.momentum < 1, "--momentum ", r.momentum, ": expected a number from 0 to below 1");
  check(r.momentum == 0 || r.optimizer == "sgd", "--momentum ", r.momentum, ": only valid with --optimizer sgd");
  check(r.weight_decay >= 0 && r.weight_decay <= 1e6, "--weight-decay ", r.weight_decay, ": expected 0 or more");
  check(r.label_smoothing >= 0 && r.label_smoothing < 1, "--label-smoothing ", r.label_smoothing,
        ": expected a number from 0 to below 1");
  check(r.accumulate >= 1 && r.accumulate <= kMaxAccumulated, "--accumulate ", r.accumulate, ": expected 1 to ",
        kMaxAccumulated);
  check(r.clip >= 0 && r.clip <= 1e9, "--clip ", r.clip, ": expected 0 or more");
  check(r.ema >= 0 && r.ema < 1, "--ema ", r.ema, ": expected a number from 0 to below 1");
  check(r.patience >= 0 && r.patience <= kMaxEpochs, "--patience ", r.patience, ": expected 0 or more");
  check(r.warmup >= 0 && r.warmup < 1, "--warmup ", r.warmup, ": expected a share of all steps, from 0 to below 1");
}

Recipe make_recipe(const Trained& trained, RecipeOptions options, const std::string& usual) try {
  const std::string& model = trained.model;
  check(!is_onnx(model) || !options.init, "--init: the network in ", model, " starts from the values in the file");
  if (options.name.empty())
    options.name = is_text_model(model) ? "text" : is_published(model) || is_onnx(model) ? "images" : usual;
  if (options.momentum && !options.optimizer) options.optimizer = "sgd";  // no other one has it
  if (options.name == "images" && trained.image_files && !options.augment)
    options.augment = "resized-crop";
  else if (options.name == "images" && is_onnx(model) && !options.augment)
    options.augment = "none";  // of any images
  Recipe r = named(options.name);
  r.optimizer = options.optimizer.value_or(r.optimizer);
  set_rates(r, trained);
  const int64_t usual_batch = r.batch_size;
  each_entry(r, options, [](const char*, auto& value, const auto& option) { value = option.value_or(value); });
  if (!options.lr) r.lr = scaled_rate(r, usual_batch);
  r.ema_warmup = r.ema > 0;
  check(!options.decay || r.weight_decay > 0, "--decay ", r.decay,
        ": nothing decays, because the weight decay is 0; give --weight-decay, or leave it out");
  check_recipe(r);
  return r;
} catch (const Error& error) {
  throw UsageError(error.what());
}

void check_precision(const RecipeOptions& options, bool only_cpus) {
  require(options.precision != "tf32" || !only_cpus,
          "--precision tf32: a CPU computes in float32; leave it out, or name a GPU with --devices");
}

void check_same(const RecipeOptions& options, const Recipe& recipe) {
  each_entry(recipe, options, [](const char* name, const auto& value, const auto& option) {
    if (!option.has_value() || *option == value) return;
    std::string was = concat(value);
    if (was.empty()) was = "none";
    refuse("--", name, " ", *option, ": the resumed run was started with ", was, "; leave it out");
  });
}

void write_recipe(Json& json, const Recipe& recipe) {
  each_entry(recipe, RecipeOptions(), [&](std::string name, const auto& value, const auto&) {
    std::replace(name.begin(), name.end(), '-', '_');
    json[name] = value;
  });
  if (!recipe.name.empty()) json["recipe"] = recipe.name;
  if (recipe.ema_warmup) json["ema_warmup"] = true;
}

Recipe recipe_from_json(const Json& json) {
  Recipe r;
  each_entry(r, RecipeOptions(), [&]<class T>(std::string name, T& value, const auto&) {
    std::replace(name.begin(), name.end(), '-', '_');
    value = get_entry<T>(json, name.c_str());
  });
  if (json.contains("recipe")) one_of("recipe", r.name = get_entry<std::string>(json, "recipe"));
  r.ema_warmup = json.contains("ema_warmup");
  check(!r.ema_warmup || (json["ema_warmup"] == true && r.ema > 0), "invalid \"ema_warmup\"");
  check_recipe(r);
  return r;
}

std::string describe(const Recipe& r) {
  std::string text = concat(r.name.empty() ? "" : concat("recipe ", r.name, ": "), r.optimizer, ", batch ",
                            r.batch_size, ", learning rate ", r.lr);
  if (r.schedule != "constant") text += ", " + r.schedule;
  if (r.warmup != 0) text += concat(", warm-up ", r.warmup);
  if (r.momentum != 0) text += concat(", momentum ", r.momentum);
  if (r.weight_decay != 0)
    text += concat(", weight decay ", r.weight_decay, r.decay == "matrices" ? " of matrices" : "");
  if (r.label_smoothing != 0) text += concat(", label smoothing ", r.label_smoothing);
  if (r.augment != "none") text += ", augmentation " + r.augment;
  if (r.accumulate > 1) text += concat(", ", r.accumulate, " batches per step");
  if (r.clip > 0) text += concat(", gradient norm at most ", r.clip);
  if (r.ema > 0) text += concat(", moving average ", r.ema);
  if (r.precision != "fp32") text += ", precision " + r.precision;
  if (!r.freeze.empty()) text += concat(", frozen ", r.freeze);
  if (r.patience > 0) text += ", patience " + counted(r.patience, "epoch", "epochs");
  if (r.keep != "last") text += ", keeps " + r.keep;
  return text;
}

void initialise(nn::Module& model, const Recipe& recipe) {
  if (recipe.init == "default") return;
  NoGradGuard guard;
  for (auto& parameter : model.named_parameters()) {
    if (parameter.key().ends_with("weight"))
      nn::init::normal_(parameter.value(), 0, 0.01);
    else
      nn::init::zeros_(parameter.value());
  }
}

std::unique_ptr<optim::Optimizer> make_optimizer(const Recipe& r, const std::vector<Tensor>& parameters) {
  if (r.optimizer == "adamw")
    return std::make_unique<optim::AdamW>(
        groups_of(r, parameters, optim::AdamWOptions(r.lr).weight_decay(r.weight_decay)));
  const auto options = optim::SGDOptions(r.lr).momentum(r.momentum).weight_decay(r.weight_decay);
  return std::make_unique<optim::SGD>(groups_of(r, parameters, options), options);
}

double learning_rate(const Recipe& r, int64_t step, int64_t steps) {
  const double warm = r.warmup * static_cast<double>(steps);
  if (static_cast<double>(step + 1) < warm) return r.lr * static_cast<double>(step + 1) / warm;
  if (r.schedule == "constant") return r.lr;
  const double part = (static_cast<double>(step) - warm) / (static_cast<double>(steps) - warm);
  return r.lr * (1 + std::cos(std::numbers::pi * part)) / 2;
}

}  // namespace tandem::cli
