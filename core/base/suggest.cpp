// Three rows of the distance table are enough, because a swap refers two rows back.
#include "tandem/core/base/suggest.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tandem {
namespace {
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::array<std::vector<int>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<int>& row = rows[i % 3];
    const std::vector<int>&above = rows[(i - 1) % 3], &two_above = rows[(i + 1) % 3];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = lower(a[i - 1]), y = lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)});
      if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string nearest(std::string_view word, ArrayRef<std::string> known) {
  const std::string* best = nullptr;
  int best_distance = 0;
  for (const std::string& candidate : known) {
    const std::size_t letters = std::max(word.size(), candidate.size());
    const bool begins = word.size() >= 3 && std::string_view(candidate).starts_with(word);
    const int distance = begins ? 0 : edit_distance(word, candidate);
    const int allowed = std::max(1, static_cast<int>(letters / 3));
    if (distance > allowed || distance >= static_cast<int>(letters)) continue;
    if (best == nullptr || distance < best_distance) best = &candidate, best_distance = distance;
  }
  return best == nullptr ? "" : *best;
}

std::string did_you_mean(std::string_view word, ArrayRef<std::string> known) {
  const std::string word_near = nearest(word, known);
  return word_near.empty() ? "" : "; did you mean " + word_near + "?";
}

}  // namespace tandem
