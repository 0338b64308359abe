// tandem eval for a run on a text.
#include <cmath>
#include <cstdio>

#include "tandem/autograd/ops.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/json.h"
#include "tandem/cli/text/text_report.h"
#include "tandem/cli/text/train_text.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/run_model.h"

namespace tandem::cli {
namespace {

// The part of the run's text that it does not train on, or all of another text.
TokenWindows text_of(const EvalOptions& o, RunConfig& c, const TextCodec& codec) try {
  if (o.data.empty()) return load_text(c, codec).windows.test;
  return read_whole_text(o.data, codec, *c.text);
} catch (const UsageError&) {
  throw;
} catch (const Error& error) {
  throw UsageError(error.what());
}

}  // namespace

int evaluate_text(const EvalOptions& o, Checkpoint& checkpoint, Device device) {
  RunConfig& c = checkpoint.config;
  const ImageSet windows{text_of(o, c, tokenizer_of_run(o.folder, *c.text))};
  nn::Sequential model = model_of_run(checkpoint, device);
  const auto mixed = in_precision(c.recipe, device);
  const Score score = evaluate(model, windows, o.batch_size > 0 ? o.batch_size : evaluation_batch(windows));
  const std::string name = o.data.empty() ? data_label(c) : o.data;
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
  return 0;
}

}  // namespace tandem::cli
