// tandem eval: scores a trained run.
#include <cstdio>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/data/load_data.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/json.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/train/batches.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/models.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/nn/quantize.h"

namespace tandem::cli {
namespace {

void print_score(const EvalOptions& o, const LoadedData& loaded, const ImageSet& test, const Score& score,
                 Device device) {
  if (o.json)
    std::printf(
        "%s\n",
        json_text(
            {{"images", test.count()}, {"loss", score.loss}, {"accuracy", score.accuracy}, {"device", name_of(device)}})
            .c_str());
  else
    std::printf("%s test images of %s on %s: loss %s, accuracy %s\n", with_commas(test.count()).c_str(),
                printable(loaded.name).c_str(), name_of(device).c_str(), fixed(score.loss, 4).c_str(),
                fixed(score.accuracy, 4).c_str());
}

int64_t batch_of(const EvalOptions& o, const ImageSet& test) {
  return o.batch_size > 0 ? o.batch_size : evaluation_batch(test);
}

int evaluate_onnx(const EvalOptions& o, Device device) try {
  require(!o.data.empty(), o.folder, ": name the images with --data");
  require(o.heads == 0 && o.weights_bits == 0, "--heads and --weights-bits: not for an ONNX file");
  const OnnxNetwork file = open_onnx_network(o.folder);
  const LoadedData loaded = load_data(
      o.data, {.image_size = file.input[1], .train = false, .out = o.json ? stderr : stdout}, detect_terminal());
  const std::vector<int64_t> input = loaded.input();
  nn::Sequential model = make_model(o.folder, {input[0], input[1], input[2], loaded.class_count});
  model->to(device);
  const ImageSet& test = loaded.images.test;
  print_score(o, loaded, test, evaluate(model, placed(test, device), batch_of(o, test)), device);
  return 0;
} catch (const Error& error) {
  throw UsageError(error.what());
}

int eval_command(const EvalOptions& o) {
  use_threads(o.threads);
  const Device device = use_device(o.device);
  if (is_onnx(o.folder)) return evaluate_onnx(o, device);
  std::error_code error;
  if (!o.data.empty() && std::filesystem::exists(o.folder, error) &&
      !std::filesystem::exists(checkpoint_path(o.folder), error))
    return evaluate_text_weights(o, device);
  require(o.heads == 0, "--heads: not for a run, which has its own");
  Checkpoint checkpoint = run_of(o.folder);
  if (checkpoint.config.text) return evaluate_text(o, checkpoint, device);
  const Terminal terminal = detect_terminal();
  const LoadedData loaded = load_data(o.data.empty() ? checkpoint.config.data : o.data,
                                      {.image_size = checkpoint.config.input[1],
                                       .train = false,
                                       .skip_broken = checkpoint.config.skip_broken,
                                       .out = o.json ? stderr : stdout},
                                      terminal);
  print_skipped(loaded);
  const ImageSet test = test_images(loaded, checkpoint.config);
  nn::Sequential model = model_of_run(checkpoint, device);
  choose_layout(*model, checkpoint.config.recipe, device);
  require(o.weights_bits == 0 || !nn::quantize_weights(model, {.bits = o.weights_bits}).converted.empty(),
          "--weights-bits: ", o.folder, " has no linear layer whose weights can be stored in 8 bits");
  const auto mixed = in_precision(checkpoint.config.recipe, device);
  print_score(o, loaded, test, evaluate(model, placed(test, device), batch_of(o, test)), device);
  return 0;
}

}  // namespace

Command add_eval(CLI::App& app) {
  static EvalOptions o;
  CLI::App* c = app.add_subcommand("eval",
                                   "print the loss and accuracy of a trained run on its test images, or the loss and "
                                   "perplexity on the end of its text");
  c->add_option(
       "DIR", o.folder,
       "folder of the run; with images as --data also an ONNX file; with a text as --data also a GPT-2's file of "
       "weights, or its folder with a tokenizer")
      ->required();
  add_text(c, "--data", o.data, kDataType, "data set, or text, to use instead of the run's");
  add_device(c, o.device);
  add_number(c, "--batch-size", o.batch_size, kBatchSizes,
             "images per step; default: 1000 of up to 32 x 32 pixels, fewer of larger ones");
  add_weights_bits(c, o.weights_bits);
  add_number<int64_t>(c, "--heads", o.heads, {1, 1 << 20},
                      "attention heads of a GPT-2 that is no run; default: n_head of a config.json beside the weights, "
                      "else the width / 64");
  add_known(c, "--threads", o.threads, kThreads, "CPU threads; 0: all cores");
  c->add_flag("--json", o.json, "print one line of JSON");
  c->footer(
      "Examples:\n"
      "  tandem eval runs/first\n"
      "  tandem eval runs/first --data mnist --json");
  return [](const CommandLine&) { return eval_command(o); };
}

}  // namespace tandem::cli
