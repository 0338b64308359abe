// Pickles and archives for tests of .pt files, written by hand.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/files/pt/zip_archive.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::test {

inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  serialize::pt::ZipBytes bytes;
  serialize::pt::ZipWriter zip(bytes);
  for (const auto& [name, content] : entries) zip.add(name, content.data(), content.size());
  zip.finish();
  return bytes.text;
}

// A file of this pickle and one storage "0" of eight bytes.
inline std::string archive(const std::string& pickle, const std::string& storage = std::string(8, '\0')) {
  return zip_of({{"x/data.pkl", pickle}, {"x/data/0", storage}});
}
inline std::string text(const std::string& s) {
  const auto size = static_cast<uint32_t>(s.size());
  return "X" + std::string(reinterpret_cast<const char*>(&size), 4) + s;
}
inline std::string number(int64_t n) { return "\x8a\x08" + std::string(reinterpret_cast<const char*>(&n), 8); }
inline std::string tuple(const std::vector<int64_t>& numbers) {
  std::string out = "(";
  for (const int64_t n : numbers) out += number(n);
  return out + "t";
}
// A tensor of float32 in storage "0" with this number of elements.
inline std::string window(int64_t numel, int64_t offset, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides, const std::string& type = "FloatStorage") {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + type + "\n" + text("0") +
         text("cpu") + number(numel) + "tQ" + number(offset) + tuple(sizes) + tuple(strides) + "\x89}tR";
}

}  // namespace tandem::test
