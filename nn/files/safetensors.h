// The safetensors format: named tensors in one file (https://github.com/huggingface/safetensors).
//
//   8 bytes   header length N, unsigned, little-endian, at most 100 MB
//   N bytes   JSON, starting with '{', padded with spaces:
//             {"__metadata__": {"key": "text", …}, "name": {"dtype": "F32", "shape": [2, 3],
//              "data_offsets": [begin, end]}, …}
//   the rest  the elements, little-endian, row-major, without gaps or overlaps
//
// Saved files contain a checksum of each tensor and metadata entry (nn/files/safetensors_sums.h), verified when
// loading. Anything without a checksum loads unverified: other programs' files, and what they have added to
// ours. A program that changes or removes something but keeps __metadata__ invalidates the checksums: remove
// the entry "tandem.crc32" there, or load with Checksums::kIgnore or TANDEM_IGNORE_CHECKSUMS=1.
#pragma once
#include <string>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize {

/// The environment variable that makes every load ignore checksums, unless it is empty or 0.
inline constexpr const char* kIgnoreSums = "TANDEM_IGNORE_CHECKSUMS";
enum class Checksums { kVerify, kIgnore };

struct SafeTensors {
  OrderedDict<std::string, Tensor> tensors{"Tensor"};  ///< in header order
  OrderedDict<std::string, std::string> metadata{"Entry"};
};

/// The tensors and metadata of a checkpoint: a file, the index of one that is split over several files
/// (*.safetensors.index.json), or a folder with an index or one such file. The tensors of a shard must be those that
/// the index lists for it; where the metadata of shards differ, the first shard's counts. Memory: that of the tensors.
/// load_safetensors of nn/weights.h reads into a module.
///
/// Throws Error, naming `path` and the violated rule, when the file is missing, truncated, longer than its
/// header says or violates the format; on a dtype that Tandem lacks, more than 12 dimensions or a bool that
/// is neither 0 nor 1; and on a wrong checksum, naming what is damaged. Memory is allocated only after the
/// sizes have been checked against the file size.
SafeTensors load_safetensors(const std::string& path, const optional<Device>& device = nullopt,
                             Checksums checksums = Checksums::kVerify);
/// Parses a file in memory; `name` replaces the path in messages.
SafeTensors parse_safetensors(const void* data, std::size_t bytes, const std::string& name,
                              Checksums checksums = Checksums::kVerify);

/// Writes the file atomically: it appears complete or not at all. Elements are aligned to their size. Throws
/// Error on failure. If another thread modifies a tensor meanwhile, an intermediate state is saved, with a
/// checksum that matches it.
void save_safetensors(const std::string& path, const OrderedDict<std::string, Tensor>& tensors,
                      const OrderedDict<std::string, std::string>& metadata = OrderedDict<std::string, std::string>());
/// Writes a checkpoint in several files of at most `shard_bytes` bytes of elements each; a larger tensor gets a file of
/// its own. For "FOLDER/NAME.safetensors" these are FOLDER/NAME-00001-of-00003.safetensors and so on, each with the
/// metadata, and the index NAME.safetensors.index.json, which can be loaded. Returns their number. All are complete on
/// the disk before the first of them replaces an older one. Throws Error on failure, and if `path` does not end with
/// .safetensors or `shard_bytes` is 0.
std::size_t save_sharded_safetensors(
    const std::string& path, const OrderedDict<std::string, Tensor>& tensors, uint64_t shard_bytes,
    const OrderedDict<std::string, std::string>& metadata = OrderedDict<std::string, std::string>());
/// The contents of a file of save_safetensors.
std::string safetensors_bytes(
    const OrderedDict<std::string, Tensor>& tensors,
    const OrderedDict<std::string, std::string>& metadata = OrderedDict<std::string, std::string>());

}  // namespace tandem::serialize
