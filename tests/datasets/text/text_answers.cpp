// Answers tiktoken_test.py: text_answers tiktoken FILE, or text_answers gpt2 VOCAB_JSON MERGES_TXT. Each line of
// standard input is a text in hexadecimal; the answer is a line with its tokens, "|", and in hexadecimal what they
// decode to.
#include <cstdio>
#include <iostream>

#include "tandem/datasets/text/byte_pair.h"

using namespace tandem::text;

int main(int argc, char** argv) try {
  const std::string kind = argc > 2 ? argv[1] : "";
  if (!(kind == "tiktoken" && argc == 3) && !(kind == "gpt2" && argc == 4)) return 2;
  const BytePairTokenizer tokenizer =
      argc == 3 ? BytePairTokenizer::from_tiktoken(argv[2]) : BytePairTokenizer::from_files(argv[2], argv[3]);
  for (std::string line; std::getline(std::cin, line);) {
    std::string text;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2)
      text += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    const std::vector<int64_t> tokens = tokenizer.encode(text);
    for (const int64_t token : tokens) std::printf("%lld ", static_cast<long long>(token));
    std::printf("|");
    for (const char c : tokenizer.decode(tokens)) std::printf("%02x", static_cast<unsigned char>(c));
    std::printf("\n");
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "text_answers: %s\n", error.what());
  return 1;
}
