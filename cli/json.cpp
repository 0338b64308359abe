// Parses and serialises JSON in one place, because nlohmann's parser and serialiser take seconds to compile.
#include "tandem/cli/json.h"

namespace tandem::cli {

std::string reason_of(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const auto end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

nlohmann::ordered_json parse_json(const std::string& text) {
  constexpr int kMaxDepth = 64;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == '[' || c == '{'))
      check(++depth <= kMaxDepth, "JSON nested deeper than ", kMaxDepth);
    else if (!in_string && (c == ']' || c == '}'))
      --depth;
  }
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    fail("invalid JSON: ", reason_of(error));
  }
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string text_or_empty(const nlohmann::ordered_json& json, const std::string& key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace tandem::cli
