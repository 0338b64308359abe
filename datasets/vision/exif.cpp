// Reads only the orientation, entry 0x0112 of the first directory.
#include "tandem/datasets/vision/pixels.h"

namespace tandem::vision::detail {
namespace {

// Reads numbers from any offset; beyond the end they are 0.
class Tiff {
 public:
  explicit Tiff(std::string_view bytes) : bytes_(bytes), big_(bytes.starts_with("MM")) {}
  bool is_sound() const { return (big_ || bytes_.starts_with("II")) && number(2, 2) == 42; }
  uint32_t number(std::size_t at, std::size_t bytes) const {
    if (at > bytes_.size() || bytes > bytes_.size() - at) return 0;
    uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value = value << 8 | static_cast<uint8_t>(bytes_[at + (big_ ? i : bytes - 1 - i)]);
    return value;
  }

 private:
  std::string_view bytes_;
  bool big_;
};

}  // namespace

int exif_orientation(std::string_view tiff) {
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  const Tiff file(tiff);
  if (!file.is_sound()) return 1;
  const std::size_t directory = file.number(4, 4);
  const std::size_t entries = file.number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (file.number(entry, 2) != kOrientation) continue;
    const uint32_t value = file.number(entry + 8, 2);
    return file.number(entry + 2, 2) == kShort && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace tandem::vision::detail
