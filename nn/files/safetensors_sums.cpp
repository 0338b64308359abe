// CRC-32 checksums of tensors and metadata entries.
#include "tandem/nn/files/safetensors_sums.h"

#include <cstdlib>
#include <cstring>

#include "tandem/nn/files/crc32.h"
#include "tandem/nn/files/json_reader.h"
#include "tandem/nn/files/safetensors.h"

namespace tandem::serialize {
namespace {

std::string hex(uint32_t value) {
  std::string out(8, '0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
  return out;
}

// The advice for a file that another program has changed.
std::string cure() {
  return concat("; if another program changed the file and kept its entry \"", kSumsKey, "\", set ", kIgnoreSums,
                "=1 to load it anyway");
}

std::unordered_map<std::string, uint32_t> parse_group(JsonReader& in) {
  std::unordered_map<std::string, uint32_t> out;
  in.object("duplicate checksum", [&](std::string key) {
    const std::string text = in.string();
    uint32_t value = 0;
    for (const char c : text) value = value << 4 | static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (hex(value) != text) in.fail_at("expected a checksum of eight hexadecimal digits");
    out.emplace(std::move(key), value);
  });
  return out;
}

void append_sum(std::string& out, const std::string& key, uint32_t sum) {
  out += (out.back() == '{' ? "" : ",") + json_quoted(key) + ":\"" + hex(sum) + "\"";
}

}  // namespace

bool ignores_sums() {
  const char* value = std::getenv(kIgnoreSums);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

uint32_t crc_of_kind(const TensorEntry& entry) {
  const std::string text = kind_text(entry);
  return crc32(text.data(), text.size());
}

std::string format_sums(const Header& header, const std::vector<uint32_t>& tensors) {
  std::string out = R"({"tensors":{)";
  for (std::size_t i = 0; i < tensors.size(); ++i) append_sum(out, header.tensors[i].name, tensors[i]);
  out += R"(},"metadata":{)";
  for (const auto& item : header.metadata)
    if (item.key() != kSumsKey) append_sum(out, item.key(), crc32(item.value().data(), item.value().size()));
  return out + "}}";
}

Sums parse_sums(const std::string& text, const std::string& file) {
  const std::string where = concat(file, ": entry \"", kSumsKey, "\"");
  Sums sums;
  JsonReader in(text, where);
  in.object("duplicate group", [&](const std::string& group) {
    if (group != "tensors" && group != "metadata") in.fail_at("unknown group (expected tensors or metadata)");
    (group == "tensors" ? sums.tensors : sums.metadata) = parse_group(in);
  });
  in.end();
  return sums;
}

void check_header_sums(const Header& header, const Sums& sums, const std::string& file) {
  std::size_t found = 0;
  for (const TensorEntry& entry : header.tensors) found += sums.tensors.count(entry.name);
  if (found != sums.tensors.size()) {
    OrderedDict<std::string, bool> names;
    for (const TensorEntry& entry : header.tensors) names.insert(entry.name, true);
    for (const auto& [name, sum] : sums.tensors)
      check(names.contains(name), file, ": damaged: tensor '", name, "' is missing", cure());
  }
  for (const auto& [key, sum] : sums.metadata) {
    const std::string* text = header.metadata.find(key);
    check(text != nullptr, file, ": damaged: metadata '", key, "' is missing", cure());
    const uint32_t actual = crc32(text->data(), text->size());
    check(actual == sum, file, ": damaged: metadata '", key, "' has CRC-32 ", hex(actual), " instead of ", hex(sum),
          cure());
  }
}

void check_tensor_sum(const TensorEntry& entry, uint32_t actual, const Sums& sums, const std::string& file) {
  const auto found = sums.tensors.find(entry.name);
  check(found == sums.tensors.end() || found->second == actual, file, ": damaged: tensor '", entry.name,
        "' has CRC-32 ", hex(actual), " instead of ", found == sums.tensors.end() ? "" : hex(found->second), cure());
}

}  // namespace tandem::serialize
