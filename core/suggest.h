// "Did you mean …?": the nearest of some known words.
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/array_ref.h"

namespace tandem {

/// Least number of letters inserted, deleted, replaced or swapped with their neighbour that turns `a` into
/// `b`, no letter touched twice (optimal string alignment). Case does not count.
int edit_distance(std::string_view a, std::string_view b);

/// The known word nearest to `word` when it is near enough to be a slip (at most a third of the letters, at
/// least one), or of which `word` is the beginning (three letters or more); else "". The first wins a tie.
std::string nearest(std::string_view word, ArrayRef<std::string> known);

/// "; did you mean fashion-mnist?" or "".
std::string did_you_mean(std::string_view word, ArrayRef<std::string> known);

}  // namespace tandem
