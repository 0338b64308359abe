// The index of a checkpoint that is split over several safetensors files ("shards"),
// as Hugging Face's libraries write it:
//
//   {"metadata": {"total_size": 1234, …}, "weight_map": {"NAME": "model-00001-of-00002.safetensors", …}}
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/base/ordered_dict.h"

namespace tandem::serialize {

inline constexpr std::string_view kIndexEnding = ".safetensors.index.json";

/// The shard of each tensor, in the index's order. A shard is a file in the folder of the index: names that would lead
/// elsewhere are refused. Throws Error naming `file` on this and on invalid JSON.
OrderedDict<std::string, std::string> parse_index(std::string_view text, const std::string& file);
/// The text of an index; `bytes` is the size of all elements.
std::string format_index(const OrderedDict<std::string, std::string>& shard_of, uint64_t bytes);

/// The name of shard `number`, from 1, of a checkpoint NAME: NAME-00001-of-00003.safetensors.
std::string shard_name(const std::string& name, std::size_t number, std::size_t count);

/// The file that holds a checkpoint: `path` itself, or in a folder its index or, without one, its only safetensors
/// file. Throws Error if the folder has none or several.
std::string checkpoint_file(const std::string& path);

}  // namespace tandem::serialize
