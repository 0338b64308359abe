// The commands, and what several of them need to declare their options with CLI11.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tandem/cli/message.h"
#include "tandem/cli/numbers.h"
#include "tandem/cli/train/recipe.h"

namespace tandem::cli {

/// Runs a command with the options that CLI11 has parsed, and returns its exit code.
using Command = std::function<int(const CommandLine&)>;

// Each adds a command with its options to the tool (NAME.cpp; inspect and convert: files.cpp).
Command add_compare(CLI::App& app);
Command add_completion(CLI::App& app);
Command add_convert(CLI::App& app);
Command add_devices(CLI::App& app);
Command add_eval(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_launch(CLI::App& app);
Command add_predict(CLI::App& app);
Command add_report(CLI::App& app);
Command add_summary(CLI::App& app);
Command add_train(CLI::App& app);
Command add_verify(CLI::App& app);

/// Adds an option that takes a text or several; `type` is what the help calls its value.
template <class Target>
CLI::Option* add_text(CLI::App* c, const std::string& name, Target& target, const std::string& type,
                      const std::string& what) {
  return c->add_option(name, target, what)->type_name(type);
}

/// The same, with the default shown in the help.
inline void add_known_text(CLI::App* c, const std::string& name, std::string& target, const std::string& type,
                           const std::string& what) {
  add_text(c, name, target, type, what)->capture_default_str();
}

/// Adds an option that takes a number in a range; `target` is a number or an optional number.
template <class T, class Target>
CLI::Option* add_number(CLI::App* c, const std::string& name, Target& target, const Range<T>& range,
                        const std::string& what) {
  return c
      ->add_option_function<std::string>(
          name, [name, &target, range](const std::string& text) { target = parse_number(name, text, range); }, what)
      ->type_name("NUMBER");
}

/// The same, with the default shown in the help.
template <class T>
CLI::Option* add_known(CLI::App* c, const std::string& name, T& target, const Range<T>& range,
                       const std::string& what) {
  return add_number(c, name, target, range, what)->default_str(concat(target));
}

/// Adds an option that takes numbers; `targets` is a vector or a set.
template <class T, class Targets>
CLI::Option* add_numbers(CLI::App* c, const std::string& name, Targets& targets, const Range<T>& range,
                         const std::string& what) {
  const auto read = [name, &targets, range](const std::vector<std::string>& texts) {
    targets.clear();
    for (const std::string& text : texts) targets.insert(targets.end(), parse_number(name, text, range));
  };
  return c->add_option_function<std::vector<std::string>>(name, read, what)->type_name("NUMBER");
}

inline constexpr Range<int64_t> kBatchSizes{1, 1'000'000'000};
inline constexpr Range<int> kThreads{0, 4096};

/// Kinds of values, shown in the help. Shells complete values by it: see completion.cpp.
inline constexpr const char *kModelType = "MODEL", *kDataType = "DATA", *kDeviceType = "DEVICE", *kFileType = "FILE",
                            *kFolderType = "DIR";

inline constexpr const char* kTrainable =
    "model to train: lenet, mlp, linear, a published model for images such as resnet18 (tandem summary "
    "--help lists them), or an ONNX file";
inline constexpr const char* kData =
    "fashion-mnist, mnist, cifar10, cifar100, a folder with the files of one, a folder with a folder of images for "
    "each class, or one with the subfolders train and test, which have such folders";

/// Options added from now on are in this group of the help.
void begin_group(CLI::App* c, const char* title);

/// Adds an option whose value is one of `recipe_values(name)`, without the dashes.
template <class Target>
CLI::Option* add_choice(CLI::App* c, const std::string& name, Target& target, const std::string& what) {
  return add_text(c, "--" + name, target, join(recipe_values(name), "|"), what);
}

/// --key: the state dict in a .pt file that contains more.
void add_key(CLI::App* c, std::string& key);
/// --weights-bits of a command that computes with a model, or writes its weights; `bits` stays 0 without it.
void add_weights_bits(CLI::App* c, int64_t& bits);
/// --device of a command that computes on one.
void add_device(CLI::App* c, std::string& device);
/// --reproducible of a command that computes a run.
void add_reproducible(CLI::App* c, TrainOptions& o);
/// Options that determine how a model is trained, but for --augment. `usual`: what the help says is the recipe without
/// --recipe.
void add_recipe(CLI::App* c, RecipeOptions& r, const std::string& usual);
void add_augment(CLI::App* c, RecipeOptions& r);
/// All options of train.
void add_train_options(CLI::App* c, TrainOptions& o);

}  // namespace tandem::cli
