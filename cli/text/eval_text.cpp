// tandem eval for a run on a text, or for the weights of a GPT-2.
#include <cmath>
#include <cstdio>

#include "tandem/autograd/ops.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/json.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/text/text_report.h"
#include "tandem/cli/text/train_text.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/nn/quantize.h"

namespace tandem::cli {
namespace {

// The part of the run's text that it does not train on, or all of another text.
TokenWindows text_of(const EvalOptions& o, RunConfig& c, const TextCodec& codec) try {
  if (o.data.empty()) return load_text(c, codec).windows.test;
  return read_whole_text(o.data, codec, *c.text);
} catch (const Error& error) {
  throw UsageError(error.what());
}

void print_score(const EvalOptions& o, nn::Sequential& model, const ImageSet& windows, const std::string& name,
                 const Device& device) {
  const Score score = evaluate(model, windows, o.batch_size > 0 ? o.batch_size : evaluation_batch(windows));
  if (o.json)
    std::printf("%s\n", json_text({{"tokens", windows.labels.numel()},
                                   {"loss", score.loss},
                                   {"perplexity", std::exp(score.loss)},
                                   {"accuracy", score.accuracy},
                                   {"device", name_of(device)}})
                            .c_str());
  else
    std::printf("%s tokens of %s on %s: loss %s nats per token, perplexity %s\n",
                with_commas(windows.labels.numel()).c_str(), printable(name).c_str(), name_of(device).c_str(),
                fixed(score.loss, 4).c_str(), perplexity_text(score.loss).c_str());
}

}  // namespace

int evaluate_text(const EvalOptions& o, Checkpoint& checkpoint, Device device) {
  RunConfig& c = checkpoint.config;
  const ImageSet windows{text_of(o, c, tokenizer_of_run(o.folder, *c.text))};
  nn::Sequential model = model_of_run(checkpoint, device);
  if (o.weights_bits != 0) nn::quantize_weights(model, {.bits = o.weights_bits});
  const auto mixed = in_precision(c.recipe, device);
  print_score(o, model, windows, o.data.empty() ? data_label(c) : o.data, device);
  return 0;
}

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

}  // namespace tandem::cli
