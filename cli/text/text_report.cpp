// Perplexities are computed from losses; only these are stored in checkpoints.
#include "tandem/cli/text/text_report.h"

#include <cmath>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/json.h"

namespace tandem::cli {

std::string perplexity_text(double loss) {
  const double value = std::exp(loss);
  if (!(value < 1e9)) return fixed(value, 2);
  return value < 1000 ? fixed(value, value < 100 ? 2 : 1) : with_commas(std::llround(value));
}

std::vector<std::string> text_fields(double loss, double tokens_per_second, double seconds_left) {
  const double rate = std::isfinite(tokens_per_second) ? tokens_per_second : 0;
  return {"loss " + fixed(loss, 4), "perplexity " + perplexity_text(loss),
          with_commas(std::llround(rate)) + " tokens/s", clock_time(seconds_left) + " left"};
}

std::vector<LinePart> complete_text_epoch(nlohmann::ordered_json& line, int64_t window) {
  const auto train = get_entry<double>(line, "train_loss"), test = get_entry<double>(line, "test_loss");
  const double rate = get_entry<double>(line, "images_per_second") * static_cast<double>(window);
  line["train_perplexity"] = std::exp(train);
  line["test_perplexity"] = std::exp(test);
  line["tokens_per_second"] = rate;
  std::vector<LinePart> parts{{"  train loss " + fixed(train, 4), 2},
                              {"  perplexity " + perplexity_text(train), 3},
                              {"   validation loss " + fixed(test, 4)}};
  if (const char* own = "test_loss_without_average"; line.contains(own))
    parts.push_back({concat(" (without average ", fixed(get_entry<double>(line, own), 4), ")"), 1});
  parts.push_back({"  perplexity " + perplexity_text(test), 1});
  parts.push_back({concat("   ", fixed(get_entry<double>(line, "seconds"), 2), " s"), 4});
  parts.push_back({concat("  ", with_commas(static_cast<long long>(rate)), " tokens/s"), 5});
  return parts;
}

}  // namespace tandem::cli
