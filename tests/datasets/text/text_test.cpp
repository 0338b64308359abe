// Tokenizers and windows of tokens.
#include <doctest/doctest.h>

#include <map>

#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/datasets/data.h"
#include "tandem/datasets/text/byte_pair.h"
#include "tandem/datasets/text/text_pieces.h"
#include "tandem/datasets/text/token_windows.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::text;
using doctest::Contains;

namespace {

using Words = std::vector<std::string>;
Words words_of(std::string_view text) {
  Words out;
  for (const std::string_view word : split_words(text)) out.emplace_back(word);
  return out;
}

std::string utf8(uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  const auto part = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), part(0)};
  return {static_cast<char>(0xE0 | code >> 12), part(6), part(0)};
}

// A vocabulary of all bytes and a few merges, as GPT-2's two files.
struct Files {
  TempFolder folder;
  Words merges{"l o", "lo w", "e r", "\u0120 low", "low er", "h e", "he r", "\u0120low er"};
  std::string json = "{", extra = R"(, "<|endoftext|>": 264})";
  Files() {
    uint32_t others = 0x100;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
      const std::string character = utf8(printable ? b : others++);
      json += (b == 0 ? "\"" : ", \"") + (character == "\"" || character == "\\" ? "\\" + character : character) +
              "\": " + std::to_string(b);
    }
    for (std::size_t i = 0; i < merges.size(); ++i) {
      std::string token = merges[i];
      token.erase(token.find(' '), 1);
      json += ", \"" + token + "\": " + std::to_string(256 + i);
    }
  }
  BytePairTokenizer read() const {
    write_file(folder / "vocab.json", json + extra);
    std::string lines = "#version: 0.2\n";
    for (const std::string& merge : merges) lines += merge + "\n";
    write_file(folder / "merges.txt", lines);
    return BytePairTokenizer::from_files(folder / "vocab.json", folder / "merges.txt");
  }
  std::string refusal() const {
    return error_of([&] { read(); });
  }
};

std::string base64(const std::string& bytes) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) out += i <= bytes.size() - at ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::string tiktoken_lines() {
  std::string out;
  for (int b = 0; b < 256; ++b) out += base64(std::string(1, static_cast<char>(b))) + " " + std::to_string(b) + "\n";
  return out + base64("ab") + " 256\n" + base64("abc") + " 257\n" + base64("xyz") + " 258\n";
}

}  // namespace

TEST_CASE("words are split as by GPT-2") {
  CHECK(words_of("").empty());
  CHECK(words_of("Hello world's end") == Words{"Hello", " world", "'s", " end"});
  CHECK(words_of("I'll they've we're I'm I'd don't 'tis 'S 'r") == Words{"I", "'ll", " they", "'ve", " we", "'re", " I",
                                                                         "'m", " I", "'d", " don", "'t", " '", "tis",
                                                                         " '", "S", " '", "r"});
  CHECK(words_of("abc123 4.5e6!?") == Words{"abc", "123", " 4", ".", "5", "e", "6", "!?"});
  CHECK(words_of("a  b   c ") == Words{"a", " ", " b", "  ", " c", " "});
  CHECK(words_of("a\n\n b\t\tc\n") == Words{"a", "\n\n", " b", "\t", "\t", "c", "\n"});
  CHECK(words_of("  ") == Words{"  "});
  CHECK(words_of("na\u00efve \u00e9t\u00e9 \u4f60\u597d \u0663\u2167\u00bd\u2014") ==
        Words{"na\u00efve", " \u00e9t\u00e9", " \u4f60\u597d", " \u0663\u2167\u00bd", "\u2014"});
  CHECK(words_of("a\u3000\u00a0b") == Words{"a", "\u3000", "\u00a0", "b"});
  CHECK(words_of("a\xff\xc3 \xe2\x82"
                 "b") == Words{"a", "\xff\xc3", " \xe2\x82", "b"});
}

// The last space of several before a word is a part of its own, as \s+(?!\S) leaves it, which no other sign is.
TEST_CASE("the spaces are those of Unicode") {
  for (const uint32_t code : {0x9, 0xA, 0xB, 0xC, 0xD, 0x85, 0xA0, 0x1680, 0x2000, 0x2001, 0x2005, 0x2009, 0x200A,
                              0x2028, 0x2029, 0x202F, 0x205F, 0x3000}) {
    CAPTURE(code);
    const std::string space = utf8(code);
    CHECK(words_of("a" + space + space + "b") == Words{"a", space, space, "b"});
  }
  for (const uint32_t code : {0x8, 0xE, 0x1F, 0x7F, 0x84, 0x86, 0x9F, 0xA1, 0x1FFF, 0x200B, 0x2027, 0x202A, 0x202E,
                              0x2030, 0x205E, 0x2060, 0x3001, 0xFEFF}) {
    CAPTURE(code);
    const std::string other = utf8(code);
    CHECK(words_of("a" + other + other + "b") == Words{"a", other + other, "b"});
  }
}

TEST_CASE("BytePairTokenizer merges by rank") {
  const BytePairTokenizer tokenizer = Files().read();
  CHECK(tokenizer.size() == 265);
  CHECK(tokenizer.encode("low") == std::vector<int64_t>{257});
  CHECK(tokenizer.encode("lower lower") == std::vector<int64_t>{260, 263});
  CHECK(tokenizer.encode("her") == std::vector<int64_t>{'h', 258});  // "e r" comes before "h e"
  CHECK(tokenizer.encode("lololo") == std::vector<int64_t>{256, 256, 256});
  CHECK(tokenizer.find("low") == 257);
  CHECK(tokenizer.find(" low") == 259);
  CHECK(!tokenizer.find("wol"));
  CHECK(tokenizer.decode({260, 263, 33}) == "lower lower!");
  CHECK_THROWS_WITH_AS(tokenizer.decode({265}), Contains("265 is no token"), Error);
  CHECK_THROWS_WITH_AS(tokenizer.decode({-1}), Contains("-1 is no token"), Error);
}

TEST_CASE("BytePairTokenizer: every sequence of bytes comes back") {
  const BytePairTokenizer tokenizer = Files().read();
  uint32_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < round % 70; ++i) {
      state = state * 1664525 + 1013904223;
      text += round % 2 == 0 ? static_cast<char>(state >> 24) : "lowerh \n'\xc3\xa9"[state >> 24 & 7];
    }
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
  // A long word takes no time that grows with its square.
  const std::string long_word(2'000'000, 'l');
  CHECK(tokenizer.encode(long_word).size() == long_word.size());
  std::string lows;
  for (int i = 0; i < 100000; ++i) lows += "low";
  CHECK(tokenizer.encode(lows) == std::vector<int64_t>(100000, 257));
}

TEST_CASE("BytePairTokenizer: special tokens") {
  Files files;
  files.extra = R"(, "<|endoftext|>": 264, "<|end": 265, "\u2028": 266})";
  const BytePairTokenizer tokenizer = files.read();
  CHECK(tokenizer.special_tokens() ==
        BytePairTokenizer::SpecialTokens{{"<|endoftext|>", 264}, {"<|end", 265}, {"\u2028", 266}});
  CHECK(tokenizer.find("<|endoftext|>") == 264);
  CHECK(tokenizer.encode("<|endoftext|>").size() == 13);
  CHECK(tokenizer.encode_with_special("low<|endoftext|><|endlow<|en") ==
        std::vector<int64_t>{257, 264, 265, 257, '<', '|', 'e', 'n'});
  CHECK(tokenizer.decode({257, 264}) == "low<|endoftext|>");
  CHECK(tokenizer.encode_with_special("").empty());
}

TEST_CASE("BytePairTokenizer: broken files are refused") {
  const auto with_extra = [&](const std::string& extra) {
    Files f;
    f.extra = extra;
    return f.refusal();
  };
  CHECK(with_extra("").find("vocab.json") != std::string::npos);
  CHECK(with_extra(", \"zz\": 3}").find("two tokens have the number 3") != std::string::npos);
  CHECK(with_extra(", \"zz\": 99999999999}").find("token 99999999999, expected at most 4194303") != std::string::npos);
  CHECK(with_extra(", \"zz\": 4194304}").find("token 4194304, expected at most 4194303") != std::string::npos);
  CHECK(with_extra(", \"low\": 700}").find("a token occurs twice") != std::string::npos);
  CHECK(with_extra(", \"\": 700}").find("token 700 is empty") != std::string::npos);
}

TEST_CASE("BytePairTokenizer: broken merges are refused") {
  const auto with_merge = [](const std::string& line) {
    Files f;
    f.merges.push_back(line);
    f.extra = ", \"q\\u0120\": 300}";
    return f.refusal();
  };
  CHECK(with_merge("z z").find("merges.txt:10: \"zz\" is no token of") != std::string::npos);
  CHECK(with_merge("zz").find("merges.txt:10: expected two words") != std::string::npos);
  CHECK(with_merge("z z z").find("expected two words") != std::string::npos);
  CHECK(with_merge(" z").find("expected two words") != std::string::npos);
  CHECK(with_merge("q \u0120") == "");
  Files f;
  f.json = "{\"a\": 1";
  CHECK(f.refusal().find("byte 0 has no token") != std::string::npos);
  CHECK_THROWS_WITH_AS(BytePairTokenizer::from_files(f.folder / "none", f.folder / "none"), Contains("none"), Error);
}

TEST_CASE("BytePairTokenizer: a file of tiktoken") {
  TempFolder folder;
  write_file(folder / "a.bpe", tiktoken_lines());
  const auto tokenizer = BytePairTokenizer::from_tiktoken(folder / "a.bpe", {{"<end>", 300}});
  CHECK(tokenizer.size() == 301);
  CHECK(tokenizer.encode("abcab") == std::vector<int64_t>{257, 256});
  CHECK(tokenizer.encode("xyz") == std::vector<int64_t>{258});  // no merge leads there, but the word is a token
  CHECK(tokenizer.encode("xyza") == std::vector<int64_t>{'x', 'y', 'z', 'a'});
  CHECK(tokenizer.encode_with_special("ab<end>") == std::vector<int64_t>{256, 300});
  CHECK(tokenizer.decode({257, 300}) == "abc<end>");
  CHECK_THROWS_WITH_AS(tokenizer.decode({299}), Contains("299 is no token"), Error);
  const auto refusal = [&](const std::string& line) {
    write_file(folder / "b.bpe", tiktoken_lines() + line);
    return error_of([&] { BytePairTokenizer::from_tiktoken(folder / "b.bpe"); });
  };
  CHECK(refusal("enp6 259\n\n") == "");
  CHECK(refusal("enp6 258\n").find("b.bpe:260: two tokens have the number 258") != std::string::npos);
  CHECK(refusal("YWI= 259\n").find("token 259 occurs twice") != std::string::npos);
  for (const char* broken : {"YWI 259", "Y=I= 259", "==== 259", "Y*I= 259", "Y=== 259"})
    CHECK_MESSAGE(refusal(broken).find("b.bpe:260: invalid base64") != std::string::npos, broken);
  CHECK(refusal("enp6 -1").find("rank \"-1\"") != std::string::npos);
  CHECK(refusal("enp6 99999999999999").find("rank") != std::string::npos);
  CHECK(refusal("enp6 999999999").find("expected at most 4194303") != std::string::npos);
  CHECK(refusal("enp6 4194304").find("expected at most 4194303") != std::string::npos);
  CHECK(refusal("enp6").find("expected two words") != std::string::npos);
  write_file(folder / "c.bpe", "\x1f\x8b\b");
  CHECK_THROWS_WITH_AS(BytePairTokenizer::from_tiktoken(folder / "c.bpe"), Contains("c.bpe: a gzip file; decompress"),
                       Error);
  CHECK_THROWS_WITH_AS(BytePairTokenizer::from_tiktoken(folder / "a.bpe", {{"x", 5}}), Contains("number 5"), Error);
}

TEST_CASE("CharTokenizer") {
  const CharTokenizer tokenizer("hello w\u00f6rld\n\xff");
  CHECK(tokenizer.characters() == Words{"\n", " ", "d", "e", "h", "l", "o", "r", "w", "\u00f6", "\xff"});
  const std::vector<int64_t> tokens = tokenizer.encode("w\u00f6\xffh");
  CHECK(tokens == std::vector<int64_t>{8, 9, 10, 4});
  CHECK(tokenizer.decode(tokens) == "w\u00f6\xffh");
  CHECK_THROWS_WITH_AS(tokenizer.encode("hex"), Contains("unknown character \"x\" at byte 2"), Error);
  CHECK_THROWS_WITH_AS(tokenizer.decode({11}), Contains("token 11, expected 0 to 10"), Error);
}

TEST_CASE("TokenWindows") {
  TokenWindows set(arange(20, kInt), 5);
  CHECK(set.size() == 3u);
  const auto last = set.get(2);
  CHECK(last.data.equal(arange(10, 15, kLong)));
  CHECK(last.target.equal(arange(11, 16, kLong)));
  CHECK_THROWS_AS(set.get(3), IndexError);
  CHECK(TokenWindows(arange(21, kInt), 5).size() == 4u);
  CHECK(TokenWindows(arange(6, kLong), 5).size() == 1u);
  CHECK(TokenWindows(arange(6, kLong), 1, 1).size() == 5u);
  TokenWindows dense(arange(20, kInt), 5, 1);
  CHECK(dense.size() == 15u);
  CHECK(dense.get(14).target[4].item<int64_t>() == 19);
  CHECK_THROWS_WITH_AS(TokenWindows(arange(5, kLong), 5), Contains("5 tokens"), Error);
  CHECK_THROWS_AS(TokenWindows(arange(5, kLong), 0), Error);
  CHECK_THROWS_AS(TokenWindows(arange(5, kLong), 2, -1), Error);
  CHECK_THROWS_WITH_AS(TokenWindows(zeros({9}), 2), Contains("expected a list of integers"), Error);
}

TEST_CASE("windows of a file in the loaders") {
  TempFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + "\n";
  write_file(folder / "a.txt", text);
  const CharTokenizer tokenizer(text);
  TokenWindows set = read_windows(folder / "a.txt", tokenizer, 16);
  CHECK(set.tokens().size(0) == static_cast<int64_t>(text.size()));
  data::DataLoader loader(set, {.batch_size = 4, .num_workers = 2});
  std::string back;
  for (auto& batch : loader)
    for (int64_t i = 0; i < batch.data.size(0); ++i) {
      const Tensor row = batch.data[i].contiguous();
      back += tokenizer.decode({row.data_ptr<int64_t>(), static_cast<size_t>(row.numel())});
    }
  CHECK(back == text.substr(0, back.size()));
  CHECK(back.size() == (text.size() - 1) / 16 * 16);
  CHECK_THROWS_WITH_AS(read_windows(folder / "none.txt", tokenizer, 16), Contains("none.txt"), Error);
}

namespace {

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Words pieces_of(const std::string& path, Cut cut, std::size_t bytes) {
  Words out;
  TextPieces pieces(path, cut, bytes);
  while (const auto piece = pieces.next()) out.push_back(*piece);
  return out;
}

}  // namespace

TEST_CASE("a text in pieces is the whole text, whatever their size") {
  const TempFolder folder;
  const std::string path = folder / "text", words = "low lower\n\n lowest \u3000 a\u00e9\U0001F642b 'll\n";
  std::string text;
  for (int i = 0; i < 20; ++i) text += words;
  write_file(path, "\xEF\xBB\xBF" + text);
  const Files files;
  const BytePairTokenizer tokenizer = files.read();
  const std::vector<int64_t> expected = tokenizer.encode(text);
  for (const std::size_t bytes : {16, 17, 23, 100, 5000})
    for (const Cut cut : {Cut::kCharacter, Cut::kWord}) {
      std::string all;
      std::vector<int64_t> tokens;
      for (const std::string& piece : pieces_of(path, cut, bytes)) {
        all += piece;
        const std::vector<int64_t> more = tokenizer.encode(piece);
        tokens.insert(tokens.end(), more.begin(), more.end());
      }
      CHECK_EQ(all, text);
      if (cut == Cut::kWord) CHECK(tokens == expected);
    }
  CHECK(pieces_of(path, Cut::kWord, 16).size() > 10);
  write_file(path, std::string(100, 'x'));  // there is no place to cut
  CHECK_EQ(pieces_of(path, Cut::kWord, 16).size(), 1);
  CHECK(pieces_of(path, Cut::kCharacter, 16).size() > 4);
}

TEST_CASE("line ends of Windows become those of Unix, and what is no text is refused by its line") {
  const TempFolder folder;
  const std::string path = folder / "text";
  for (const std::size_t bytes : {16, 17, 18, 19, 20}) {
    write_file(path, "0123456789abcd\r\ne\r\r\nf\r");
    std::string all;
    for (const std::string& piece : pieces_of(path, Cut::kCharacter, bytes)) all += piece;
    CHECK_EQ(all, "0123456789abcd\ne\r\nf\r");
  }
  write_file(path, "");
  CHECK(pieces_of(path, Cut::kWord, 16).empty());
  const auto refusal = [&](const std::string& content) {
    write_file(path, content);
    return error_of([&] { characters_of_file(path); });
  };
  CHECK(mentions(refusal("a\nb\xE9\n"), "text:2: is not UTF-8"));
  CHECK(mentions(refusal(std::string("a\n\nb\0c", 6)), "text:3: has a NUL byte"));
  CHECK(mentions(refusal("\x1f\x8b\x08"), "text"));
  CHECK(mentions(refusal("cut\xE2\x82"), "text:1: is not UTF-8"));
  CHECK(mentions(error_of([&] { characters_of_file(folder / "none"); }), "cannot open"));
  CHECK(mentions(error_of([&] { characters_of_file(folder / ""); }), "not a regular file"));
}

TEST_CASE("tokens take as few bytes as their number allows") {
  const TempFolder folder;
  const std::string path = folder / "text";
  write_file(path, "abcab");
  const CharTokenizer tokenizer = characters_of_file(path);
  CHECK_EQ(tokenizer.size(), 3);
  const auto encode = [&](const std::string& piece) { return tokenizer.encode(piece); };
  for (const auto& [size, dtype] :
       std::map<int64_t, ScalarType>{{3, kByte}, {256, kByte}, {257, kShort}, {32769, kInt}}) {
    const Tensor tokens = encode_pieces(path, Cut::kCharacter, size, encode);
    CHECK(tokens.dtype() == dtype);
    CHECK(tokens.to(kLong).equal(tensor({0, 1, 2, 0, 1}, kLong)));
  }
  CHECK(mentions(error_of([&] { encode_pieces(path, Cut::kCharacter, 2, encode); }), "token 2"));
  std::string longer;  // than a piece
  while (longer.size() < (std::size_t{4} << 20) + 9) longer += "abc";
  write_file(path, longer);
  const Tensor tokens = encode_pieces(path, Cut::kCharacter, 3, encode);
  CHECK(tokens.equal((arange(static_cast<int64_t>(longer.size())) % 3).to(kByte)));
}
