// Recipes: their limits, defaults and descriptions, the learning rate, groups of batches and of parameters.
#include "tandem/cli/train/recipe.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/cli/options.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/models.h"
#include "tandem/cli/train/stepper.h"
#include "tandem/nn/optim/optim.h"
#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using tandem::test::error_of;

namespace {

std::string complaint_about(const std::function<void(Recipe&)>& change) {
  Recipe recipe;
  change(recipe);
  return error_of([&] { check_recipe(recipe); });
}

// Cases: a value, and the message that refuses it, or "".
template <class T>
void check_limits(T Recipe::*field, const std::vector<std::pair<std::type_identity_t<T>, std::string>>& cases) {
  for (const auto& each : cases) CHECK(complaint_about([&](Recipe& r) { r.*field = each.first; }) == each.second);
}

std::string made(const Trained& trained, const RecipeOptions& options = {}) {
  return describe(make_recipe(trained, options, "best"));
}

}  // namespace

TEST_CASE("every number of a recipe has limits, which belong to it") {
  check_limits(&Recipe::batch_size, {{0, "--batch-size 0: expected 1 to 1000000000"},
                                     {1, ""},
                                     {1'000'000'000, ""},
                                     {1'000'000'001, "--batch-size 1000000001: expected 1 to 1000000000"}});
  check_limits(&Recipe::accumulate, {{0, "--accumulate 0: expected 1 to 1000000"},
                                     {1, ""},
                                     {1'000'000, ""},
                                     {1'000'001, "--accumulate 1000001: expected 1 to 1000000"}});
  check_limits(&Recipe::patience, {{-1, "--patience -1: expected 0 or more"},
                                   {0, ""},
                                   {1'000'000'000, ""},
                                   {1'000'000'001, "--patience 1000000001: expected 0 or more"}});
  const std::string rate = ": expected a number above 0, at most 1000000",
                    below = ": expected a number from 0 to below 1";
  check_limits(&Recipe::lr,
               {{0, "--lr 0" + rate}, {-1, "--lr -1" + rate}, {1e-9, ""}, {1e6, ""}, {2e6, "--lr 2000000" + rate}});
  check_limits(&Recipe::momentum, {{-0.5, "--momentum -0.5" + below}, {0, ""}, {0.5, ""}, {1, "--momentum 1" + below}});
  check_limits(&Recipe::weight_decay, {{-1, "--weight-decay -1: expected 0 or more"}, {0, ""}, {1e6, ""}});
  CHECK(!complaint_about([](Recipe& r) { r.weight_decay = 2e6; }).empty());
  check_limits(&Recipe::label_smoothing,
               {{-0.5, "--label-smoothing -0.5" + below}, {0, ""}, {0.5, ""}, {1, "--label-smoothing 1" + below}});
  check_limits(&Recipe::clip, {{-1, "--clip -1: expected 0 or more"}, {0, ""}, {1e9, ""}});
  CHECK(!complaint_about([](Recipe& r) { r.clip = 2e9; }).empty());
  check_limits(&Recipe::ema, {{-0.5, "--ema -0.5" + below}, {0, ""}, {0.5, ""}, {1, "--ema 1" + below}});
  check_limits(&Recipe::warmup, {{-0.5, "--warmup -0.5: expected a share of all steps, from 0 to below 1"},
                                 {0, ""},
                                 {0.5, ""},
                                 {1, "--warmup 1: expected a share of all steps, from 0 to below 1"}});
  CHECK(complaint_about([](Recipe& r) {
          r.optimizer = "adamw";
          r.momentum = 0.9;
        }) == "--momentum 0.9: only valid with --optimizer sgd");
}

TEST_CASE("every text of a recipe is one of a list") {
  const std::vector<std::pair<std::string, std::string Recipe::*>> fields = {
      {"optimizer", &Recipe::optimizer}, {"schedule", &Recipe::schedule}, {"init", &Recipe::init},
      {"augment", &Recipe::augment},     {"keep", &Recipe::keep},         {"decay", &Recipe::decay},
      {"precision", &Recipe::precision}};
  for (const auto& each : fields) {
    const std::string& name = each.first;
    std::string Recipe::*const field = each.second;
    CAPTURE(name);
    for (const std::string& value : recipe_values(name))
      CHECK(complaint_about([&](Recipe& r) { r.*field = value; }) == "");
    CHECK(complaint_about([field](Recipe& r) { r.*field = "mine"; }).find("--" + name + " mine: expected ") == 0);
  }
  CHECK(complaint_about([](Recipe& r) { r.keep = "bst"; }) ==
        "--keep bst: expected last, best or all; did you mean best?");
  CHECK(recipe_values("lr").empty());
}

TEST_CASE("what a recipe is for a model, its images and its weights") {
  const std::string best =
      "recipe best: adamw, batch 64, learning rate 0.003, cosine, weight decay 0.05, label smoothing 0.05";
  CHECK(made({"lenet"}) == best);
  CHECK(made({"lenet", true, true}) == best);
  CHECK(made({"lenet"}, {.optimizer = "sgd"}) ==
        "recipe best: sgd, batch 64, learning rate 0.05, cosine, momentum 0.9, weight decay 0.0005, label smoothing "
        "0.05");
  CHECK(made({"lenet"}, {.momentum = 0.5}).find("sgd, batch 64, learning rate 0.05, cosine, momentum 0.5") !=
        std::string::npos);
  CHECK(made({"lenet"}, {.name = "source"}) == "recipe source: sgd, batch 256, learning rate 0.2");
  CHECK(made({"lenet"}, {.name = "source", .optimizer = "adamw"}) ==
        "recipe source: adamw, batch 256, learning rate 0.001, weight decay 0.05");

  const std::string images = "recipe images: sgd, batch 128, learning rate ",
                    sgd = ", momentum 0.9, weight decay 0.0005";
  CHECK(made({"resnet18"}) == images + "0.02, cosine" + sgd + ", augmentation crop");
  CHECK(made({"resnet18", true}) == images + "0.02, cosine" + sgd + ", augmentation resized-crop");
  CHECK(made({"resnet18", true}, {.augment = "flip"}) == images + "0.02, cosine" + sgd + ", augmentation flip");
  CHECK(made({"resnet18", false, true}) == images + "0.01, cosine" + sgd + ", augmentation crop");
  CHECK(made({"net.onnx"}) == images + "0.001, cosine" + sgd);
  CHECK(made({"net.onnx", true}) == images + "0.001, cosine" + sgd + ", augmentation resized-crop");
  const std::string adamw = "recipe images: adamw, batch 128, learning rate ";
  for (const auto& [model, weights, rate] :
       std::vector<std::tuple<std::string, bool, std::string>>{{"resnet18", false, "0.001"},
                                                               {"resnet18", true, "0.0001"},
                                                               {"vgg11", false, "0.0001"},
                                                               {"vit_b_16", false, "0.0001"},
                                                               {"net.onnx", false, "0.0001"}})
    CHECK(made({model, true, weights}, {.optimizer = "adamw"}).find(adamw + rate + ", cosine") == 0);
  CHECK(made({"vgg11"}).find(images + "0.02,") == 0);

  const std::string text = ", gradient norm at most 1";
  CHECK(made({"gpt2"}) ==
        "recipe text: adamw, batch 32, learning rate 0.001, cosine, warm-up 0.05, weight decay 0.1 of matrices" + text);
  CHECK(made({"gpt2", false, true}) ==
        "recipe text: adamw, batch 8, learning rate 5e-05, cosine, warm-up 0.05, weight decay 0.1 of matrices" + text);
  CHECK(made({"gpt2"}, {.optimizer = "sgd"}) ==
        "recipe text: sgd, batch 32, learning rate 0.1, cosine, warm-up 0.05, momentum 0.9" + text);
  CHECK(made({"gpt2", false, true}, {.optimizer = "sgd"}).find("sgd, batch 8, learning rate 0.01,") !=
        std::string::npos);
}

TEST_CASE("a description has all that differs from nothing") {
  CHECK(
      made({"lenet"}, {.name = "source",
                       .schedule = "cosine",
                       .augment = "flip",
                       .decay = "matrices",
                       .freeze = "conv1",
                       .keep = "best",
                       .precision = "bf16",
                       .accumulate = 2,
                       .patience = 3,
                       .momentum = 0.5,
                       .weight_decay = 0.25,
                       .label_smoothing = 0.125,
                       .warmup = 0.5,
                       .clip = 2,
                       .ema = 0.75}) ==
      "recipe source: sgd, batch 256, learning rate 0.2, cosine, warm-up 0.5, momentum 0.5, weight decay 0.25 of "
      "matrices, label smoothing 0.125, augmentation flip, 2 batches per step, gradient norm at most 2, moving average "
      "0.75, precision bf16, frozen conv1, patience 3 epochs, keeps best");
  Recipe r;
  r.patience = 1;
  CHECK(describe(r) == "sgd, batch 256, learning rate 0.2, patience 1 epoch");
}

TEST_CASE("the default rate of smaller batches") {
  const auto rate = [](RecipeOptions options) { return make_recipe({"lenet"}, std::move(options), "best").lr; };
  CHECK(rate({.batch_size = 32}) == 0.00212);  // 0.003 / sqrt(2)
  CHECK(rate({.batch_size = 16}) == 0.0015);
  CHECK(rate({.batch_size = 128}) == 0.003);
  CHECK(rate({.batch_size = 16, .accumulate = 4}) == 0.003);
  CHECK(rate({.batch_size = 16, .accumulate = 2}) == 0.00212);
  CHECK(rate({.optimizer = "sgd", .batch_size = 16}) == 0.0125);
  CHECK(rate({.name = "source", .batch_size = 16}) == 0.2);
  CHECK(rate({.batch_size = 16, .lr = 0.5}) == 0.5);
}

TEST_CASE("options that contradict each other, or the resumed run") {
  const auto refusal = [](const std::string& model, const RecipeOptions& options) {
    return error_of([&] { make_recipe({model}, options, "best"); });
  };
  CHECK(refusal("net.onnx", {.init = "normal"}) ==
        "--init: the network in net.onnx starts from the values in the file");
  CHECK(refusal("lenet", {.name = "bst"}) == "--recipe bst: expected best, source, images or text; did you mean best?");
  CHECK(refusal("lenet", {.decay = "matrices", .weight_decay = 0.0}) ==
        "--decay matrices: nothing decays, because the weight decay is 0; give --weight-decay, or leave it out");
  CHECK(refusal("lenet", {.optimizer = "adamw", .momentum = 0.5}) == "--momentum 0.5: only valid with --optimizer sgd");
  CHECK(error_of([] { check_precision({.precision = "tf32"}, true); }) ==
        "--precision tf32: a CPU computes in float32; leave it out, or name a GPU with --devices");
  check_precision({.precision = "tf32"}, false);
  check_precision({.precision = "bf16"}, true);
  check_precision({}, true);

  const Recipe run = make_recipe({"lenet"}, {.ema = 0.5}, "best");
  check_same({}, run);
  check_same({.optimizer = "adamw", .batch_size = 64, .lr = 0.003, .ema = 0.5}, run);
  const auto differs = [&](const RecipeOptions& options) { return error_of([&] { check_same(options, run); }); };
  CHECK(differs({.batch_size = 32}) == "--batch-size 32: the resumed run was started with 64; leave it out");
  CHECK(differs({.lr = 0.5}) == "--lr 0.5: the resumed run was started with 0.003; leave it out");
  CHECK(differs({.freeze = "conv1"}) == "--freeze conv1: the resumed run was started with none; leave it out");
  CHECK(differs({.optimizer = "sgd"}) == "--optimizer sgd: the resumed run was started with adamw; leave it out");
}

TEST_CASE("recipes in JSON") {
  const Recipe all = make_recipe({"lenet"},
                                 {.schedule = "constant",
                                  .augment = "crop",
                                  .decay = "matrices",
                                  .freeze = "conv1",
                                  .keep = "all",
                                  .precision = "fp16",
                                  .batch_size = 7,
                                  .accumulate = 2,
                                  .patience = 3,
                                  .lr = 0.5,
                                  .warmup = 0.25,
                                  .clip = 2,
                                  .ema = 0.75},
                                 "best");
  CHECK(all.ema_warmup);
  Json json;
  write_recipe(json, all);
  CHECK(json["batch_size"] == 7);
  CHECK(json["label_smoothing"] == 0.05);
  const Recipe read = recipe_from_json(json);
  CHECK(describe(read) == describe(all));
  CHECK(read.ema_warmup);
  CHECK(read.init == "default");
  Json without = json;
  without.erase("recipe");
  without.erase("ema_warmup");
  CHECK(recipe_from_json(without).name.empty());
  CHECK(!recipe_from_json(without).ema_warmup);
  const auto refusal = [&](const char* key, const Json& value) {
    Json changed = json;
    changed[key] = value;
    return error_of([&] { recipe_from_json(changed); });
  };
  CHECK(refusal("ema_warmup", false) == "invalid \"ema_warmup\"");
  CHECK(refusal("ema", 0.0) == "invalid \"ema_warmup\"");
  CHECK(refusal("lr", -1.0).find("--lr -1") == 0);
  CHECK(refusal("recipe", "else").find("--recipe else: expected") == 0);
  CHECK(!refusal("batch_size", 1.5).empty());
  for (const char* key : {"optimizer", "lr", "label_smoothing", "weight_decay", "freeze", "precision"}) {
    Json missing = json;
    missing.erase(key);
    CHECK(error_of([&] { recipe_from_json(missing); }) == concat("missing entry \"", key, "\""));
  }
  Json plain;
  write_recipe(plain, Recipe());
  CHECK(!plain.contains("recipe"));
  CHECK(!plain.contains("ema_warmup"));
}

TEST_CASE("the learning rate over all steps") {
  Recipe r;
  r.lr = 8;
  for (const int64_t step : {0, 5, 9}) CHECK(learning_rate(r, step, 10) == 8);
  r.schedule = "cosine";
  CHECK(learning_rate(r, 0, 10) == 8);
  CHECK(learning_rate(r, 5, 10) == doctest::Approx(4));
  CHECK(learning_rate(r, 9, 10) == doctest::Approx(8 * (1 + std::cos(0.9 * M_PI)) / 2));
  r.warmup = 0.4;  // four steps
  for (int64_t step = 0; step < 3; ++step)
    CHECK(learning_rate(r, step, 10) == doctest::Approx(2.0 * static_cast<double>(step + 1)));
  CHECK(learning_rate(r, 4, 10) == doctest::Approx(8));
  CHECK(learning_rate(r, 7, 10) == doctest::Approx(4));
  r.schedule = "constant";
  CHECK(learning_rate(r, 1, 10) == doctest::Approx(4));
  CHECK(learning_rate(r, 3, 10) == 8);
  CHECK(learning_rate(r, 9, 10) == 8);
}

TEST_CASE("the parameters that decay, and their rates") {
  const std::vector<Tensor> parameters = {ones({2, 3}).requires_grad_(), ones({3}).requires_grad_(),
                                          ones({2, 2, 2}).requires_grad_()};
  for (const std::string optimizer : {"sgd", "adamw"}) {
    CAPTURE(optimizer);
    Recipe r;
    r.optimizer = optimizer;
    r.lr = 0.5;
    r.momentum = optimizer == "sgd" ? 0.25 : 0;
    r.weight_decay = 0.125;
    const auto decay_of = [&](const optim::OptimizerParamGroup& group) {
      if (optimizer == "sgd") return static_cast<const optim::SGDOptions&>(group.options()).weight_decay();
      return static_cast<const optim::AdamWOptions&>(group.options()).weight_decay();
    };
    const auto all = make_optimizer(r, parameters);
    REQUIRE(all->param_groups().size() == 1);
    CHECK(all->param_groups()[0].params().size() == 3);
    CHECK(all->param_groups()[0].options().get_lr() == 0.5);
    CHECK(decay_of(all->param_groups()[0]) == 0.125);
    if (optimizer == "sgd")
      CHECK(static_cast<const optim::SGDOptions&>(all->param_groups()[0].options()).momentum() == 0.25);
    r.decay = "matrices";
    const auto two = make_optimizer(r, parameters);
    REQUIRE(two->param_groups().size() == 2);
    CHECK(two->param_groups()[0].params().size() == 2);
    CHECK(two->param_groups()[1].params()[0].is_same(parameters[1]));
    CHECK(decay_of(two->param_groups()[0]) == 0.125);
    CHECK(decay_of(two->param_groups()[1]) == 0);
    CHECK(make_optimizer(r, {parameters[0]})->param_groups().size() == 1);
    CHECK(decay_of(make_optimizer(r, {parameters[1]})->param_groups()[0]) == 0);
  }
}

TEST_CASE("initial values") {
  const auto initial = [](const std::string& init) {
    manual_seed(1);
    nn::Sequential model(nn::Linear(200, 100));
    Recipe r;
    r.init = init;
    initialise(*model, r);
    return model->named_parameters();
  };
  const auto normal = initial("normal"), usual = initial("default");
  CHECK(normal["0.weight"].mean().item<double>() == doctest::Approx(0).epsilon(0.001));
  CHECK(normal["0.weight"].std().item<double>() == doctest::Approx(0.01).epsilon(0.05));
  CHECK(normal["0.bias"].abs().sum().item<double>() == 0);
  CHECK(usual["0.bias"].abs().sum().item<double>() > 0);
  CHECK(usual["0.weight"].std().item<double>() > 0.02);
}

TEST_CASE("groups of batches") {
  Recipe r;
  r.batch_size = 4;
  r.accumulate = 3;
  CHECK(steps_in(r, 0) == 0);
  CHECK(steps_in(r, 1) == 1);
  CHECK(steps_in(r, 3) == 1);
  CHECK(steps_in(r, 4) == 2);
  const int64_t images = 18;  // batches of 4, 4, 4; 4, 2
  const double shares[] = {1.0 / 3, 1.0 / 3, 1.0 / 3, 4.0 / 6, 2.0 / 6};
  for (int64_t batch = 0; batch < 5; ++batch) {
    CAPTURE(batch);
    const GroupPlace place = place_in_group(r, batch, images);
    CHECK(place.share == doctest::Approx(shares[batch]));
    CHECK(place.first == (batch == 0 || batch == 3));
    CHECK(place.last == (batch == 2 || batch == 4));
    CHECK(place.images == (batch == 4 ? 2 : 4));
    CHECK(!place.alone());
  }
  r.accumulate = 1;
  const GroupPlace last = place_in_group(r, 4, images);
  CHECK(last.alone());
  CHECK(last.share == 1);
  CHECK(last.images == 2);
}
