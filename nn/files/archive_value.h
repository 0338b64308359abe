// IValues in archives: a text for the metadata, and the tensors in it.
#pragma once
#include <string>
#include <vector>

#include "tandem/autograd/ivalue.h"

namespace tandem::serialize {

/// What the text of every value starts with.
inline constexpr const char* kValueMark = "ivalue:";
inline bool is_value(const std::string& text) { return text.starts_with(kValueMark); }

/// The text of a value. Appends its tensors to `tensors`; the text has their positions.
std::string value_text(const IValue& value, std::vector<Tensor>& tensors);
/// The value of a text. Throws Error, naming `key`, on a text that value_text does not write, on a missing tensor,
/// or on more than 100 levels.
IValue parse_value(const std::string& key, const std::string& text, const std::vector<Tensor>& tensors);

}  // namespace tandem::serialize
