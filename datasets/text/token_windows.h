// TokenWindows: a data set for language models: windows of a long text's tokens, with the next token of each as target.
#pragma once
#include "tandem/datasets/dataset.h"
#include "tandem/datasets/text/tokenizer.h"

namespace tandem::text {

/// Example i has the tokens from i * stride on: data int64 [length], target int64 [length], one token further.
class TokenWindows : public data::datasets::Dataset<TokenWindows> {
 public:
  /// `tokens`: integers [count] on the CPU, at least length + 1 of them; not copied. `stride` 0: length, so that
  /// windows do not overlap. Tokens at the end that do not fill a window are left out.
  /// Throws Error on other tensors and numbers.
  explicit TokenWindows(Tensor tokens, int64_t length, int64_t stride = 0);
  data::Example<> get(size_t index) override;
  optional<size_t> size() const override { return static_cast<size_t>(windows_); }
  const Tensor& tokens() const { return tokens_; }

 private:
  Tensor tokens_;
  int64_t length_, stride_, windows_;
};

/// The windows of a file.
TokenWindows read_windows(const std::string& path, const Tokenizer& tokenizer, int64_t length, int64_t stride = 0);

}  // namespace tandem::text
