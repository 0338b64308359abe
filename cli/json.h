// JSON from untrusted files: checks entries and nesting depth, and makes text valid.
#pragma once
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "tandem/core/error.h"

namespace tandem::cli {

/// nlohmann's message without its number: "[json.exception.parse_error.101] …" -> "…".
std::string reason_of(const nlohmann::json::exception& error);

/// Parses `text`. Throws Error on invalid JSON, with the reason and the place, and on nesting so deep that
/// walking it could exhaust the stack.
nlohmann::ordered_json parse_json(const std::string& text);

/// Serialises `json`; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

/// The text of an entry; "" if it is missing or something else.
std::string text_or_empty(const nlohmann::ordered_json& json, const std::string& key);

/// Returns an entry. Throws Error if it is missing or has another type.
template <class T>
T get_entry(const nlohmann::ordered_json& json, const char* key) {
  const auto it = json.find(key);
  check(it != json.end(), "missing entry \"", key, "\"");
  // JSON has no NaN; it is written as null.
  if constexpr (std::is_same_v<T, double>)
    if (it->is_null()) return std::numeric_limits<double>::quiet_NaN();
  // The library would round, wrap or truncate a number of another kind.
  if constexpr (std::is_unsigned_v<T>)
    check(it->is_number_unsigned(), "entry \"", key, "\": expected a non-negative whole number");
  else if constexpr (std::is_integral_v<T>)
    check(it->is_number_integer() && (!it->is_number_unsigned() || it->template get<uint64_t>() <= INT64_MAX),
          "entry \"", key, "\": expected a whole number");
  try {
    return it->template get<T>();
  } catch (const nlohmann::json::exception& error) {
    fail("entry \"", key, "\": ", reason_of(error));
  }
}

}  // namespace tandem::cli
