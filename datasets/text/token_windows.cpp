// Windows are cut when they are asked for.
#include "tandem/datasets/text/token_windows.h"

#include "tandem/core/error.h"

namespace tandem::text {

TokenWindows::TokenWindows(Tensor tokens, int64_t length, int64_t stride)
    : tokens_(std::move(tokens)), length_(length), stride_(stride == 0 ? length : stride) {
  check(tokens_.dim() == 1 && tokens_.is_cpu() &&
            (tokens_.dtype() == kLong || tokens_.dtype() == kInt || tokens_.dtype() == kShort ||
             tokens_.dtype() == kByte),
        "TokenWindows: expected a list of integers on the CPU, got ", tokens_);
  check(length_ >= 1 && stride_ >= 1, "TokenWindows: length ", length, ", stride ", stride,
        "; expected positive numbers");
  check(tokens_.size(0) > length_, "TokenWindows: ", tokens_.size(0), " tokens; a window of ", length_, " needs ",
        length_, " and the next one");
  windows_ = (tokens_.size(0) - 1 - length_) / stride_ + 1;
}

data::Example<> TokenWindows::get(size_t index) {
  check_index(index < static_cast<size_t>(windows_), "TokenWindows: index ", index, " is out of range for ", windows_,
              " windows");
  const int64_t first = static_cast<int64_t>(index) * stride_;
  const Tensor window = tokens_.slice(0, first, first + length_ + 1).to(kLong);
  return {window.slice(0, 0, length_), window.slice(0, 1, length_ + 1)};
}

TokenWindows read_windows(const std::string& path, const Tokenizer& tokenizer, int64_t length, int64_t stride) {
  return TokenWindows(encode_file(path, tokenizer), length, stride);
}

}  // namespace tandem::text
