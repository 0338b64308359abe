// Reading and writing the index of sharded checkpoints.
#include "tandem/nn/files/safetensors_index.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tandem/nn/files/json_reader.h"

namespace tandem::serialize {
namespace {

// Anything else could make the reader open files outside the checkpoint's folder.
bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
}

std::string only(std::vector<std::string> found, const std::string& folder) {
  if (found.size() == 1) return found[0];
  std::sort(found.begin(), found.end());
  fail(folder, ": has several checkpoints; name one of them: ", found[0], ", ", found[1],
       found.size() > 2 ? ", …" : "");
}

std::string five_digits(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
}

}  // namespace

OrderedDict<std::string, std::string> parse_index(std::string_view text, const std::string& file) {
  OrderedDict<std::string, std::string> shard_of("Tensor");
  bool found = false;
  JsonReader in(text, file, "index of safetensors");
  in.object("duplicate field", [&](const std::string& field) {
    if (field != "weight_map") return in.skip();
    found = true;
    in.object("duplicate tensor", [&](std::string name) {
      std::string shard = in.string();
      check(is_file_name(shard), file, ": tensor '", name, "' is in the shard ", json_quoted(shard),
            ", which is not the name of a file in the folder of the index");
      shard_of.insert(std::move(name), std::move(shard));
    });
  });
  in.end();
  check(found, file, ": lacks weight_map, as the index of a sharded checkpoint must have it");
  return shard_of;
}

std::string format_index(const OrderedDict<std::string, std::string>& shard_of, uint64_t bytes) {
  std::string out = concat("{\n  \"metadata\": {\n    \"total_size\": ", bytes, "\n  },\n  \"weight_map\": {");
  for (const auto& item : shard_of)
    out += concat(out.back() == '{' ? "\n    " : ",\n    ", json_quoted(item.key()), ": ", json_quoted(item.value()));
  return out + "\n  }\n}\n";
}

std::string shard_name(const std::string& name, std::size_t number, std::size_t count) {
  return concat(name, "-", five_digits(number), "-of-", five_digits(count), ".safetensors");
}

std::string checkpoint_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  std::vector<std::string> indices, files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().string();
    if (name.ends_with(kIndexEnding)) indices.push_back(name);
    if (name.ends_with(".safetensors")) files.push_back(name);
  }
  check(!error, path, ": cannot be read: ", error.message());
  check(!indices.empty() || !files.empty(), path, ": is a folder without *", kIndexEnding, " and *.safetensors");
  return only(indices.empty() ? files : indices, path);
}

}  // namespace tandem::serialize
