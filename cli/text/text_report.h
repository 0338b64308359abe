// Reports of training on a text.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tandem/cli/message.h"

namespace tandem::cli {

/// exp(loss), as text: "4.71", "812.4", "50,257".
std::string perplexity_text(double loss);
/// "loss 1.5123", "perplexity 4.54", "12,345 tokens/s", "0:07 left".
std::vector<std::string> text_fields(double loss, double tokens_per_second, double seconds_left);
/// Adds perplexities and tokens per second to an epoch's line of metrics.jsonl, and returns what to print of it:
/// " train loss 1.5123  perplexity 4.54 …". A window has `window` tokens.
std::vector<LinePart> complete_text_epoch(nlohmann::ordered_json& line, int64_t window);

}  // namespace tandem::cli
