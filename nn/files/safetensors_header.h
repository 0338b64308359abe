// The header of a safetensors file: parsing, validation and formatting.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/dims.h"
#include "tandem/core/dtype.h"

namespace tandem::serialize {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct TensorEntry {
  std::string name;
  ScalarType dtype = kFloat;
  Dims sizes;
  uint64_t begin = 0, end = 0;  ///< byte offsets after the header
};

struct Header {
  std::vector<TensorEntry> tensors;
  OrderedDict<std::string, std::string> metadata{"Entry"};
};

/// Its dtype and shape, such as F32[2,3].
std::string kind_text(const TensorEntry& entry);

/// Throws Error naming `file` unless `text` is a valid header that describes exactly `data_bytes` bytes.
Header parse_header(std::string_view text, uint64_t data_bytes, const std::string& file);
/// The JSON, padded to align the elements to 8 bytes.
std::string format_header(const Header& header);

}  // namespace tandem::serialize
