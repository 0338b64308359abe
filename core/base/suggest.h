// "Did you mean …?": finds the closest of some known words.
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/base/array_ref.h"

namespace tandem {

/// The smallest number of insertions, deletions, replacements and swaps of adjacent letters that turn `a`
/// into `b`, no letter edited twice (optimal string alignment). Ignores case.
int edit_distance(std::string_view a, std::string_view b);

/// The known word closest to `word`, if it is close enough to be a typo (at most a third of the letters, at
/// least one) or starts with `word` (three letters or more); otherwise "". The first one wins a tie.
std::string nearest(std::string_view word, ArrayRef<std::string> known);

/// "; did you mean fashion-mnist?" or "".
std::string did_you_mean(std::string_view word, ArrayRef<std::string> known);

}  // namespace tandem
