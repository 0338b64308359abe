// Reads the words of torch_table.h.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {

Words split_words(const std::string& text, char separator) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

ScalarType dtype_named(const std::string& text) {
  for (int i = 0; i < static_cast<int>(ScalarType::Undefined); ++i)
    if (text == name(static_cast<ScalarType>(i))) return static_cast<ScalarType>(i);
  fail("unknown dtype: ", text);
}

Reduction reduction_named(const std::string& text) {
  if (text == "none") return kNone;
  if (text == "mean") return kMean;
  if (text == "sum") return kSum;
  check(text == "batchmean", "unknown reduction: ", text);
  return kBatchMean;
}

Indices indices_of(const std::string& text, const Tensors& tensors) {
  Indices list;
  for (const std::string& word : split_words(text, ',')) {
    const std::string rest = word.substr(1);
    if (word[0] == 't') list.emplace_back(tensors.at(std::stoul(rest)));
    if (word[0] == 'i') list.emplace_back(std::stoll(rest));
    if (word[0] == 'b') list.emplace_back(rest == "1");
    if (word[0] == 'n') list.emplace_back(nullopt);
    if (word[0] == 'e') list.emplace_back(indexing::Ellipsis);
    if (word[0] != 's') continue;
    const std::size_t first = rest.find(':'), second = rest.find(':', first + 1);
    const auto bound = [](const std::string& s) { return s.empty() ? nullopt : optional(std::stoll(s)); };
    list.emplace_back(indexing::Slice(bound(rest.substr(0, first)),
                                      bound(rest.substr(first + 1, second - first - 1)),
                                      bound(rest.substr(second + 1))));
  }
  return list;
}

}  // namespace tandem::testing
