#include "tandem/cli/train/model_guess.h"

#include "tandem/cli/text/text_model.h"
#include "tandem/cli/train/weight_files.h"
#include "tandem/models/published.h"
#include "tandem/nn/files/prefix.h"
#include "tandem/nn/init.h"

namespace tandem::cli {
namespace {

using State = OrderedDict<std::string, Tensor>;

enum class Fit { kNone, kButHead, kWhole };

Fit fit(const State& file, const State& own) {
  if (file.size() != own.size()) return Fit::kNone;
  Fit out = Fit::kWhole;
  std::size_t left = own.size();  // the last layer has two tensors
  for (const auto& item : own) {
    const bool in_head = left-- <= 2;
    const Tensor* stored = file.find(item.key());
    if (stored == nullptr || stored->dim() != item.value().dim()) return Fit::kNone;
    if (stored->sizes() == item.value().sizes()) continue;
    if (!in_head) return Fit::kNone;
    out = Fit::kButHead;
  }
  return out;
}

bool is_gpt2(const std::string& path, const std::string& key) try {
  const TextWeights text = read_text_weights(path, 0, key);
  return fit(text.state, models::GPT2LMHeadModel(text.sizes)->state_dict()) == Fit::kWhole;
} catch (const Error&) {
  return false;
}

}  // namespace

std::string looks_like(const std::string& path, const std::string& key, const std::string& model,
                       const ModelShape& shape) {
  const nn::init::SkipGuard no_values;
  std::string best;
  try {
    const State file = serialize::unwrapped(read_state(path, key));
    Fit found = Fit::kNone;
    const auto consider = [&](const std::string& name, const State& own) {
      const Fit now = name == model ? Fit::kNone : fit(file, own);
      if (now > found) found = now, best = name;
    };
    for (const models::PublishedModel& each : models::published_models())
      if (each.input.size() == 3) consider(each.name, each.make(each.num_classes).ptr()->state_dict());
    for (const ModelInfo& each : known_models()) consider(each.name, each.make(shape)->state_dict());
  } catch (const Error&) {
    return "";
  }
  if (best.empty() && !is_text_model(model) && is_gpt2(path, key)) best = "gpt2";
  return best.empty() ? "" : concat("; the file looks like ", best, ": --model ", best);
}

}  // namespace tandem::cli
