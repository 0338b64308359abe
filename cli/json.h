// Entries of a JSON object, checked.
#pragma once
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "tandem/core/error.h"

namespace tandem::cli {

/// Throws Error when the entry is missing or of another type.
template <class T>
T get_entry(const nlohmann::ordered_json& json, const char* key) {
  const auto it = json.find(key);
  check(it != json.end(), "no entry \"", key, "\"");
  // JSON has no NaN: it is written as null.
  if constexpr (std::is_same_v<T, double>)
    if (it->is_null()) return std::numeric_limits<double>::quiet_NaN();
  try {
    return it->template get<T>();
  } catch (const nlohmann::json::exception& error) {
    fail("entry \"", key, "\": ", error.what());
  }
}

}  // namespace tandem::cli
