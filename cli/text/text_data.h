// Texts as examples: windows of tokens, with the next token of each as label.
#pragma once
#include <string>

#include "tandem/cli/text/text_codec.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/datasets/image_data.h"

namespace tandem::cli {

/// Windows of tokens and the next token of each place, [N, context], views of one list. The loader and the steppers
/// take examples of both kinds in one struct, whose field `images` has the tokens.
using TokenWindows = data::ImageData;
using TokenWindowsPair = data::ImageDataPair;

struct TextData {
  TokenWindowsPair windows;  ///< test: the end of the text
  int64_t train_tokens = 0, validation_tokens = 0;
  std::string sum;  ///< a fingerprint of all tokens
};

/// The text in a file, cut into a part for training and one for validation. Throws Error that names the file if it is
/// no text (see text::TextPieces), if it is too short for one window in each part, and on characters that are no
/// tokens.
TextData read_text(const std::string& path, const TextCodec& codec, const TextConfig& config);
/// All of a text, without a part for training.
TokenWindows read_whole_text(const std::string& path, const TextCodec& codec, const TextConfig& config);

/// Whether the examples are windows of tokens, not images.
inline bool is_text(const data::ImageData& data) { return data.images.dim() == 2; }
/// The training windows of an epoch, which begin at other places of the text than in other epochs.
TokenWindows windows_of_epoch(const TokenWindows& windows, uint64_t seed, int64_t epoch);
/// Batches in an epoch. All have batch_size windows, unless there are fewer altogether.
int64_t batches_of_epoch(const TokenWindows& windows, int64_t batch_size, const TextConfig& config);

/// The absolute path of a text.
std::string lasting_text_name(const std::string& path);

}  // namespace tandem::cli
