// Vocabularies of tokenizers.
#include "tandem/datasets/text/byte_pair.h"
#include "tandem/tests/faults/scenario.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::faults {
namespace {

const std::string kText = "lower her";

// All bytes, each as the character that GPT-2's files have for it, and a few merges.
void write_vocabulary(const std::string& folder) {
  uint32_t others = 0x100;
  std::string json = "{";
  for (uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
    const uint32_t code = printable ? b : others++;
    std::string text(1, static_cast<char>(code));
    if (code >= 0x80) text = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    if (text == "\"" || text == "\\") text.insert(0, "\\");
    json += (b == 0 ? "\"" : ", \"") + text + "\": " + std::to_string(b);
  }
  test::write_file(folder + "/vocab.json", json + R"(, "lo": 256, "low": 257, "er": 258, "he": 259, "<end>": 260})");
  test::write_file(folder + "/merges.txt", "#version: 0.2\nl o\nlo w\ne r\nh e\n");
}

void write_tiktoken(const std::string& folder) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string lines;
  for (uint32_t b = 0; b < 256; ++b)
    lines += {digits[b >> 2], digits[b << 4 & 63], '=', '=', ' '}, lines += std::to_string(b) + '\n';
  test::write_file(folder + "/a.bpe", lines + "YWI= 256\n");  // "ab"
}

void add_tokens(const text::BytePairTokenizer& tokenizer, Sum& sum) {
  for (const int64_t token : tokenizer.encode(kText)) sum.add(std::to_string(token) + ' ');
}

const AddScenarios added({
    {.name = "load_vocabulary",
     .kinds = kReading,
     .run =
         [](const std::string& folder, Sum& sum) {
           add_tokens(text::BytePairTokenizer::from_files(folder + "/vocab.json", folder + "/merges.txt"), sum);
         },
     .prepare = write_vocabulary},
    {.name = "load_tiktoken",
     .kinds = kReading,
     .run = [](const std::string& folder,
               Sum& sum) { add_tokens(text::BytePairTokenizer::from_tiktoken(folder + "/a.bpe"), sum); },
     .prepare = write_tiktoken},
});

}  // namespace
}  // namespace tandem::faults
