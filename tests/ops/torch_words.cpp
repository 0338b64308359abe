// Reads the words of torch_table.h.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {

Tensors Table::call(const std::string& name, const Words& words, const Tensors& tensors) const {
  const auto found = overloads_.find(name);
  if (found != overloads_.end())
    for (const Overload& overload : found->second)
      if (overload.fits(words)) return overload.call(words, tensors);
  throw std::logic_error("no operation " + name + " takes such arguments");
}

Words split_words(const std::string& text, char separator) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

namespace {

/// Splits at the commas that are outside brackets.
Words split_arguments(const std::string& text) {
  Words list;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == ']')) depth += text[i] == '[' ? 1 : -1;
    if (depth > 0 || (i < text.size() && text.compare(i, 2, ", ") != 0)) continue;
    if (i > start) list.push_back(text.substr(start, i - start));
    start = i + 2;
  }
  return list;
}

std::string word_of(const std::string& argument) {
  if (argument == "None") return "n";
  if (argument == "True" || argument == "False") return argument == "True" ? "b1" : "b0";
  if (argument.starts_with("torch.")) return "y" + argument.substr(6);
  const char first = argument[0];
  if (first == 'x') return "t" + argument.substr(1);
  if (first == '\'') return "s" + argument.substr(1, argument.size() - 2);
  if (first != '[') return (argument.find_first_of(".e") == argument.npos ? "i" : "d") + argument;
  std::string list;
  for (const std::string& item : split_arguments(argument.substr(1, argument.size() - 2)))
    list += (list.empty() ? "" : ",") + (item[0] == 'x' ? item.substr(1) : item);
  return (argument[1] == 'x' ? "L" : "l") + list;
}

}  // namespace

Words words_of(const std::string& arguments) {
  Words words;
  for (const std::string& argument : split_arguments(arguments)) words.push_back(word_of(argument));
  return words;
}

ScalarType dtype_named(const std::string& text) {
  for (const ScalarType type : kAllDtypes)
    if (text == name(type)) return type;
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
    if (word[0] == 'i') list.emplace_back(int64_t{std::stoll(rest)});
    if (word[0] == 'b') list.emplace_back(rest == "1");
    if (word[0] == 'n') list.emplace_back(nullopt);
    if (word[0] == 'e') list.emplace_back(indexing::Ellipsis);
    if (word[0] != 's') continue;
    const std::size_t first = rest.find(':'), second = rest.find(':', first + 1);
    const auto bound = [](const std::string& s) { return s.empty() ? nullopt : optional(std::stoll(s)); };
    list.emplace_back(indexing::Slice(bound(rest.substr(0, first)), bound(rest.substr(first + 1, second - first - 1)),
                                      bound(rest.substr(second + 1))));
  }
  return list;
}

}  // namespace tandem::testing
