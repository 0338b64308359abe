// Parsing and validation of safetensors headers.
#include "tandem/nn/files/safetensors_header.h"

#include <algorithm>
#include <limits>

#include "tandem/nn/files/json_reader.h"

namespace tandem::serialize {
namespace {

struct DtypeName {
  std::string_view name;
  ScalarType type;
};
constexpr DtypeName kDtypes[] = {{"F64", kDouble}, {"F32", kFloat},       {"F16", kHalf},   {"BF16", kBFloat16},
                                 {"I64", kLong},   {"I32", kInt},         {"I16", kShort},  {"I8", kChar},
                                 {"U64", kUInt64}, {"U32", kUInt32},      {"U16", kUInt16}, {"U8", kByte},
                                 {"BOOL", kBool},  {"C64", kComplexFloat}};
constexpr std::string_view kMetadata = "__metadata__";

ScalarType dtype_named(const std::string& text, const std::string& tensor, const std::string& file) {
  for (const DtypeName& known : kDtypes)
    if (known.name == text) return known.type;
  fail(file, ": tensor '", tensor, "' has dtype '", text,
       "'; supported are F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL, C64");
}

std::string_view name_of(ScalarType type) {
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [type](const DtypeName& known) { return known.type == type; });
  check(found != std::end(kDtypes), "safetensors has no dtype for ", type, "; save view_as_real() of the tensor");
  return found->name;
}

// "[2,3]"
std::string shape_text(const TensorEntry& entry) {
  std::string out = "[";
  for (std::size_t d = 0; d < entry.sizes.size(); ++d) out += (d == 0 ? "" : ",") + std::to_string(entry.sizes[d]);
  return out + "]";
}

template <class Element>
void array(JsonReader& in, const Element& element) {
  in.expect('[');
  if (in.take(']')) return;
  do element();
  while (in.take(','));
  in.expect(']');
}

void parse_shape(JsonReader& in, TensorEntry& entry) {
  array(in, [&] {
    const uint64_t size = in.integer();
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) in.fail_at("size too large");
    if (entry.sizes.size() == static_cast<std::size_t>(kMaxDims)) in.fail_at("tensor with more than 12 dimensions");
    entry.sizes.push_back(static_cast<int64_t>(size));
  });
}

TensorEntry parse_tensor(JsonReader& in, std::string name, const std::string& file) {
  TensorEntry entry;
  entry.name = std::move(name);
  bool dtype = false, shape = false, offsets = false;
  in.object("duplicate field in a tensor", [&](const std::string& field) {
    if (field == "dtype") {
      entry.dtype = dtype_named(in.string(), entry.name, file);
      dtype = true;
    } else if (field == "shape") {
      parse_shape(in, entry);
      shape = true;
    } else if (field == "data_offsets") {
      in.expect('[');
      entry.begin = in.integer();
      in.expect(',');
      entry.end = in.integer();
      in.expect(']');
      offsets = true;
    } else {
      in.fail_at("unknown field (expected dtype, shape or data_offsets)");
    }
  });
  check(dtype && shape && offsets, file, ": tensor '", entry.name, "' lacks ",
        !dtype   ? "dtype"
        : !shape ? "shape"
                 : "data_offsets");
  return entry;
}

// Throws Error unless the offsets span as many bytes as the shape and dtype need.
void check_bytes(const TensorEntry& entry, const std::string& file) {
  check(entry.begin <= entry.end, file, ": tensor '", entry.name, "' ends (", entry.end, ") before it begins (",
        entry.begin, ")");
  // A size of 0 counts as 1 here, so it does not hide an overflow of the strides.
  int64_t bytes = item_size(entry.dtype);
  bool overflow = false, none = false;
  for (const int64_t size : entry.sizes) {
    none = none || size == 0;
    overflow = __builtin_mul_overflow(bytes, size == 0 ? 1 : size, &bytes) || overflow;
  }
  check(!overflow, file, ": tensor '", entry.name, "' of shape ", entry.sizes, " is too large");
  if (none) bytes = 0;
  check(static_cast<uint64_t>(bytes) == entry.end - entry.begin, file, ": tensor '", entry.name, "' of shape ",
        entry.sizes, " and dtype ", entry.dtype, " needs ", bytes, " bytes, but its offsets span ",
        entry.end - entry.begin);
}

void check_cover(const std::vector<TensorEntry>& tensors, uint64_t data_bytes, const std::string& file) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  uint64_t at = 0;
  for (const TensorEntry* entry : order) {
    check(entry->begin == at, file, ": tensor '", entry->name, "' begins at byte ", entry->begin, " instead of ", at,
          ": tensors must neither overlap nor leave gaps");
    at = entry->end;
    check(at <= data_bytes, file, ": tensor '", entry->name, "' ends at byte ", at, ", but the file has ", data_bytes,
          " bytes of elements: it is truncated");
  }
  check(at == data_bytes, file, ": the tensors end at byte ", at, ", but the file has ", data_bytes,
        " bytes of elements");
}

}  // namespace

Header parse_header(std::string_view text, uint64_t data_bytes, const std::string& file) {
  check(!text.empty() && text[0] == '{', file, ": the header of a safetensors file must begin with '{'");
  Header header;
  JsonReader in(text, file);
  in.object("duplicate name", [&](std::string name) {
    if (name == kMetadata)
      in.object("duplicate key in __metadata__",
                [&](std::string key) { header.metadata.insert(std::move(key), in.string()); });
    else
      header.tensors.push_back(parse_tensor(in, std::move(name), file));
  });
  in.end();
  for (const TensorEntry& entry : header.tensors) check_bytes(entry, file);
  check_cover(header.tensors, data_bytes, file);
  return header;
}

std::string kind_text(const TensorEntry& entry) { return std::string(name_of(entry.dtype)) + shape_text(entry); }

std::string format_header(const Header& header) {
  std::string out = "{";
  if (!header.metadata.is_empty()) {
    out += json_quoted(kMetadata) + ":{";
    for (const auto& item : header.metadata)
      out += (out.back() == '{' ? "" : ",") + json_quoted(item.key()) + ":" + json_quoted(item.value());
    out += "}";
  }
  for (const TensorEntry& entry : header.tensors) {
    if (out.size() > 1) out += ",";
    out += concat(json_quoted(entry.name), ":{\"dtype\":\"", name_of(entry.dtype), "\",\"shape\":", shape_text(entry),
                  ",\"data_offsets\":[", entry.begin, ",", entry.end, "]}");
  }
  out += "}";
  out.resize((out.size() + 7) / 8 * 8, ' ');
  return out;
}

}  // namespace tandem::serialize
