// tandem eval: scores a trained run, an ONNX file or the weights of a GPT-2.
#include <cmath>
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
#include "tandem/cli/text/text_report.h"
#include "tandem/cli/text/train_text.h"
#include "tandem/cli/train/batches.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/models.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/nn/quantize.h"

namespace tandem::cli {
namespace {

struct EvalOptions {
  std::string folder;
  std::string data;  ///< empty: the run's
  std::string device;
  int64_t batch_size = 0;    ///< 0: as many as train evaluates at a time
  int64_t heads = 0;         ///< of weights instead of a run; 0: from config.json, or the published width of 64
  int64_t weights_bits = 0;  ///< 0: as they are
  int threads = 0;
  bool json = false;
};

// Evaluates the model on images or windows of tokens.
void print_score(const EvalOptions& o, nn::Sequential& model, const ImageSet& data, const std::string& name,
                 Device device) {
  const bool text = is_text(data);
  const Score score = evaluate(model, placed(data, device), o.batch_size > 0 ? o.batch_size : evaluation_batch(data));
  const int64_t count = data.labels.numel();
  if (o.json) {
    Json json{{text ? "tokens" : "images", count}, {"loss", score.loss}};
    if (text) json["perplexity"] = std::exp(score.loss);
    json["accuracy"] = score.accuracy;
    json["device"] = name_of(device);
    std::printf("%s\n", json_text(json).c_str());
    return;
  }
  const std::string rest =
      text ? " nats per token, perplexity " + perplexity_text(score.loss) : ", accuracy " + fixed(score.accuracy, 4);
  std::printf("%s %s of %s on %s: loss %s%s\n", with_commas(count).c_str(), text ? "tokens" : "test images",
              printable(name).c_str(), name_of(device).c_str(), fixed(score.loss, 4).c_str(), rest.c_str());
}

// The part of the run's text that it does not train on, or all of another text.
TokenWindows text_of(const EvalOptions& o, RunConfig& c) try {
  const TextCodec codec = tokenizer_of_run(o.folder, *c.text);
  return o.data.empty() ? load_text(c, codec).windows.test : read_whole_text(o.data, codec, *c.text);
} catch (const Error& error) {
  throw UsageError(error.what());
}

int evaluate_text(const EvalOptions& o, Checkpoint& checkpoint, Device device) {
  RunConfig& c = checkpoint.config;
  const ImageSet windows{text_of(o, c)};
  nn::Sequential model = model_of_run(checkpoint, device);
  if (o.weights_bits != 0) nn::quantize_weights(model, {.bits = o.weights_bits});
  const auto mixed = in_precision(c.recipe, device);
  print_score(o, model, windows, o.data.empty() ? data_label(c) : o.data, device);
  return 0;
}

// On all of the text, with the tokenizer beside the weights.
int evaluate_text_weights(const EvalOptions& o, Device device) try {
  const TextModel weights = text_model_of(o.folder, o.heads, /*key=*/"", device);
  check(weights.codec.encode != nullptr, o.folder, ": there is no tokenizer beside the weights");
  TextConfig config;
  config.model = weights.model->options;
  config.context = config.model.n_positions();
  config.end_of_text = weights.codec.end_of_text;
  const ImageSet windows{read_whole_text(o.data, weights.codec, config)};
  nn::Sequential model;
  model->push_back("net", weights.model);
  model->eval();
  if (o.weights_bits != 0) nn::quantize_weights(model, {.bits = o.weights_bits});
  print_score(o, model, windows, o.data, device);
  return 0;
} catch (const Error& error) {  // the files
  throw UsageError(error.what());
}

int evaluate_onnx(const EvalOptions& o, Device device) try {
  require(!o.data.empty(), o.folder, ": name the images with --data");
  require(o.heads == 0 && o.weights_bits == 0, "--heads and --weights-bits: not for an ONNX file");
  const OnnxNetwork file = open_onnx_network(o.folder);
  const LoadedData loaded =
      load_data(o.data, {.image_size = file.input[1], .train = false, .out = o.json ? stderr : stdout});
  const std::vector<int64_t> input = loaded.input();
  nn::Sequential model = make_model(o.folder, {input[0], input[1], input[2], loaded.class_count});
  model->to(device);
  print_score(o, model, loaded.images.test, loaded.name, device);
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
  const LoadedData loaded =
      load_data(o.data.empty() ? checkpoint.config.data : o.data, {.image_size = checkpoint.config.input[1],
                                                                   .train = false,
                                                                   .skip_broken = checkpoint.config.skip_broken,
                                                                   .out = o.json ? stderr : stdout});
  print_skipped(loaded);
  const ImageSet test = test_images(loaded, checkpoint.config);
  nn::Sequential model = model_of_run(checkpoint, device);
  choose_layout(*model, checkpoint.config.recipe, device);
  require(o.weights_bits == 0 || !nn::quantize_weights(model, {.bits = o.weights_bits}).converted.empty(),
          "--weights-bits: ", o.folder, " has no linear layer whose weights can be stored in 8 bits");
  const auto mixed = in_precision(checkpoint.config.recipe, device);
  print_score(o, model, test, loaded.name, device);
  return 0;
}

}  // namespace

Command add_eval(CLI::App& app) {
  static EvalOptions o;
  CLI::App* c = app.add_subcommand("eval",
                                   "print the loss and accuracy of a trained run on its test images, or the loss and "
                                   "perplexity on the end of its text");
  c->add_option("DIR", o.folder,
                "folder of the run; with images as --data also an ONNX file; with a text as --data also a GPT-2's file "
                "of weights, or its folder with a tokenizer")
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
