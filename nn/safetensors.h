// The safetensors format: named tensors in one file (https://github.com/huggingface/safetensors).
//
//   8 bytes   length N of the header, unsigned, little-endian, at most 100 MB
//   N bytes   JSON, beginning with '{', padded by spaces:
//             {"__metadata__": {"key": "text", …}, "name": {"dtype": "F32", "shape": [2, 3],
//              "data_offsets": [begin, end]}, …}
//   the rest  the elements, little-endian, row-major, without holes or overlaps
//
// Files are written with a sum of each tensor and entry (nn/safetensors_sums.h), which is checked when they
// are read. What has no sum is read as it is: other programs' files, and what they have added to ours. A
// program that changes or drops something and keeps __metadata__ makes the sums wrong: remove the entry
// "tandem.crc32" there, or load with Checksums::kIgnore or TANDEM_IGNORE_CHECKSUMS=1.
#pragma once
#include <string>

#include "tandem/core/tensor.h"
#include "tandem/nn/ordered_dict.h"

namespace tandem::serialize {

/// The environment variable that makes every load ignore sums, unless it is empty or 0.
inline constexpr const char* kIgnoreSums = "TANDEM_IGNORE_CHECKSUMS";
enum class Checksums { kVerify, kIgnore };

struct SafeTensors {
  OrderedDict<std::string, Tensor> tensors{"Tensor"};  ///< in the order of the header
  OrderedDict<std::string, std::string> metadata{"Entry"};
};

/// Throws Error, naming `path` and the rule, on a file that is missing, cut short, longer than its header
/// says or breaks a rule of the format; on a dtype that Tandem has not, more than 12 dimensions and a bool
/// that is neither 0 nor 1; and on a wrong sum, with the name of what is damaged. Memory is taken only once
/// the sizes have been checked against the file's.
SafeTensors load_safetensors(const std::string& path, const optional<Device>& device = nullopt,
                             Checksums checksums = Checksums::kVerify);
/// The same from memory; `name` stands for the path.
SafeTensors parse_safetensors(const void* data, std::size_t bytes, const std::string& name,
                              Checksums checksums = Checksums::kVerify);

/// The file appears whole or not at all. Elements are aligned to their size. Throws Error. A tensor that
/// another thread changes meanwhile is saved in some state between, with the sum of that.
void save_safetensors(
    const std::string& path, const OrderedDict<std::string, Tensor>& tensors,
    const OrderedDict<std::string, std::string>& metadata = OrderedDict<std::string, std::string>());
/// The bytes of such a file.
std::string safetensors_bytes(
    const OrderedDict<std::string, Tensor>& tensors,
    const OrderedDict<std::string, std::string>& metadata = OrderedDict<std::string, std::string>());

}  // namespace tandem::serialize
