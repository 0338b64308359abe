#include "tandem/cli/train/hash_chain.h"

#include "tandem/cli/data/sha256.h"
#include "tandem/cli/json.h"

namespace tandem::cli {
namespace {

std::string sha256(const std::string& text) {
  Sha256 sum;
  sum.update(text.data(), text.size());
  return sum.hex_digest();
}

// Without what a resumed run may change, and without what follows from the data.
std::string start_of(const RunConfig& c) {
  Json json = to_json(c);
  for (const char* key : {"data", "data_folder", "classes", "devices", "root"}) json.erase(key);
  if (c.recipe.schedule == "constant" && c.recipe.warmup == 0) json.erase("epochs");
  return sha256(json_text(json));
}

std::string link(const std::string& before, Json line) {
  line.erase("chain");
  return sha256(before + json_text(line));
}

}  // namespace

void extend_chain(const RunConfig& config, std::vector<Json>& history) {
  const std::size_t before = history.size() - 1;
  std::string chain = before > 0 ? text_or_empty(history[before - 1], "chain") : "";
  if (chain.empty()) {
    chain = start_of(config);
    for (std::size_t i = 0; i < before; ++i) chain = link(chain, history[i]);
  }
  history.back()["chain"] = link(chain, history.back());
}

std::size_t first_broken_link(const RunConfig& config, const std::vector<Json>& history) {
  std::string chain = start_of(config);
  bool any = false;
  for (std::size_t i = 0; i < history.size(); ++i) {
    chain = link(chain, history[i]);
    if (history[i].contains("chain") || any) {
      any = true;
      if (text_or_empty(history[i], "chain") != chain) return i + 1;
    }
  }
  return 0;
}

bool has_hashes(const Json& line) {
  return text_or_empty(line, "state_sha256").size() == 64 && !text_or_empty(line, "tensor_hashes").empty();
}

}  // namespace tandem::cli
