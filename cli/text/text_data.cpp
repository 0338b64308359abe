// Windows are views of the list of tokens, so a text takes one, two or four bytes of memory per token.
#include "tandem/cli/text/text_data.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/datasets/text/text_pieces.h"

namespace tandem::cli {
namespace {

constexpr int64_t kMaxDefaultValidation = 131072;  // tokens; more would take longer, with little more information

Tensor tokens_in(const std::string& path, const TextCodec& codec, const TextConfig& c) {
  check(codec.size <= c.model.vocab_size(), "the tokenizer has tokens up to ", codec.size - 1, ", the model only ",
        c.model.vocab_size());
  const text::Cut cut = codec.by_words ? text::Cut::kWord : text::Cut::kCharacter;
  try {
    Tensor tokens = text::encode_pieces(path, cut, c.model.vocab_size(), codec.encode);
    check(tokens.numel() > 0, "is empty");
    return tokens;
  } catch (const Error& error) {
    const std::string reason = error.what();
    if (reason.find(path) != std::string::npos) throw;
    fail(path, ": ", reason);
  }
}

TokenWindows cut_windows(const Tensor& tokens, int64_t first, int64_t count, int64_t length, const TextConfig& c) {
  const auto cut = [&](int64_t from) { return tokens.narrow(0, from, count * length).view({count, length}); };
  return {cut(first), cut(first + 1), c.model.vocab_size()};
}

// Windows that fit into `tokens` with the token behind the last one.
int64_t fitting(int64_t tokens, int64_t length) { return tokens > 0 ? (tokens - 1) / length : 0; }

std::string sum_of(const Tensor& tokens) {
  const uLong sum =
      ::crc32_z(::crc32(0, nullptr, 0), static_cast<const Bytef*>(tokens.const_data_ptr()), tokens.nbytes());
  char text[16];
  std::snprintf(text, sizeof text, "%08lx", static_cast<unsigned long>(sum));
  return concat(tokens.numel(), "-", text);
}

}  // namespace

TextData read_text(const std::string& path, const TextCodec& codec, const TextConfig& c) {
  const Tensor tokens = tokens_in(path, codec, c);
  const int64_t count = tokens.numel(), length = c.context;
  const double share = c.validation > 0 ? c.validation : 0.1;
  int64_t validation = static_cast<int64_t>(static_cast<double>(count) * share);
  if (c.validation == 0) validation = std::min(validation, kMaxDefaultValidation);
  const int64_t train = count - validation;
  int64_t train_windows = fitting(train, length);
  const int64_t test_windows = fitting(validation, length);
  if (train_windows < 1 || test_windows < 1)
    fail(path, ": ", count, " tokens are too few: ", train, " to train and ", validation,
         " to validate, and an example has ", length,
         " and the next one; choose a smaller --context or a larger --validation");
  if (train_windows > 1) --train_windows;  // leaves room to begin elsewhere in each epoch
  return {.windows = {cut_windows(tokens, 0, train_windows, length, c),
                      cut_windows(tokens, train, test_windows, length, c)},
          .train_tokens = train,
          .validation_tokens = validation,
          .sum = sum_of(tokens)};
}

TokenWindows read_whole_text(const std::string& path, const TextCodec& codec, const TextConfig& c) {
  const Tensor tokens = tokens_in(path, codec, c);
  const int64_t count = fitting(tokens.numel(), c.context);
  check(count > 0, path, ": ", tokens.numel(), " tokens are too few for an example of ", c.context,
        " and the next one");
  return cut_windows(tokens, 0, count, c.context, c);
}

TokenWindows windows_of_epoch(const TokenWindows& windows, uint64_t seed, int64_t epoch) {
  const int64_t length = windows.images.size(1);
  if (windows.images.size(0) == 1) return windows;
  Generator generator(seed);
  generator.set_offset(static_cast<uint64_t>(4 * epoch));
  const GeneratorGuard guard{generator};
  const int64_t shift = randint(0, length, {1}, TensorOptions(kLong)).item<int64_t>();
  const auto moved = [&](const Tensor& t) { return t.as_strided(t.sizes(), t.strides(), t.storage_offset() + shift); };
  return {moved(windows.images), moved(windows.labels), windows.classes};
}

int64_t batches_of_epoch(const TokenWindows& windows, int64_t batch_size, const TextConfig& c) {
  return std::clamp<int64_t>(windows.images.size(0) / batch_size, 1, c.steps);
}

std::string lasting_text_name(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

}  // namespace tandem::cli
