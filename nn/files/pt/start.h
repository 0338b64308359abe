// How .pt files start. The tool includes it without libtandem_pt, too.
#pragma once
#include <string_view>

namespace tandem::serialize::pt {

/// The start of files before PyTorch 1.6: the pickle of a magic number.
inline constexpr std::string_view kLegacyStart = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8P\x19.";

/// Whether the first kStartSize bytes of a file are those of a zip archive's first entry or of an old file.
inline constexpr std::size_t kStartSize = 5;
inline bool starts_as_pt(std::string_view start) {
  return start.starts_with("PK\x03\x04") || start == kLegacyStart.substr(0, kStartSize);
}

}  // namespace tandem::serialize::pt
