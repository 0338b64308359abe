// The vocabulary of characters in tokenizer.json, as the tool reads it from a run's folder.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tandem/cli/text/text_codec.h"
#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"
#include "tandem/tests/fuzz/memory_folder.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  static const test::TempFolder folder = memory_folder();
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  test::write_file(folder / "tokenizer.json", std::string(all));
  try {
    const cli::TextCodec codec = cli::find_codec(folder.path());
    if (codec.size == 0) return false;  // a tokenizer of another kind
    for (int64_t token = -1; token <= codec.size; ++token) {
      const std::string character = codec.decode(token);
      if (token >= 0 && token < codec.size && codec.encode(character) != std::vector<int64_t>{token}) std::abort();
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}
