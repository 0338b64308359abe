// How .pt files start. The tool includes it without libtandem_pt, too.
#pragma once
#include <algorithm>
#include <string_view>

namespace tandem::serialize::pt {

/// How many bytes show what a file is.
inline constexpr std::size_t kStartSize = 24;

/// The number of bytes of the magic number, a pickle of protocol 2 or above, with which the format before PyTorch 1.6
/// starts; 0 if the file starts otherwise.
inline std::size_t legacy_start(std::string_view file) {
  constexpr std::string_view magic = "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8P\x19.";
  if (file.size() < 3 || file[0] != '\x80' || file[1] < 2 || file[1] > 5) return 0;
  const std::size_t begin =
      file[2] == '\x95' ? std::min<std::size_t>(11, file.size()) : 2;  // since protocol 4 after the length of a frame
  return file.substr(begin).starts_with(magic) ? begin + magic.size() : 0;
}

/// Whether a file that starts with these bytes, at most kStartSize, is a zip archive or an old file. No safetensors
/// file is one: its header would be longer than that format allows.
inline bool starts_as_pt(std::string_view start) { return start.starts_with("PK\x03\x04") || legacy_start(start) != 0; }

}  // namespace tandem::serialize::pt
