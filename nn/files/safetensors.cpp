// Reading and writing safetensors files.
#include "tandem/nn/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/nn/files/crc32.h"
#include "tandem/nn/files/json_reader.h"
#include "tandem/nn/files/safetensors_index.h"
#include "tandem/nn/files/safetensors_reader.h"

namespace tandem::serialize {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;  // unit of writing and checksumming

// A header for `tensors`, with elements in order of decreasing item size, which aligns each of them.
struct Layout {
  Header header;
  std::vector<std::size_t> order;
};
Layout lay_out(const OrderedDict<std::string, Tensor>& tensors, const OrderedDict<std::string, std::string>& metadata) {
  Layout out;
  for (const auto& item : metadata)
    check(is_utf8(item.key()) && is_utf8(item.value()), "safetensors: metadata '", item.key(), "' is not UTF-8");
  check(!metadata.contains(kSumsKey), "safetensors: metadata '", kSumsKey, "' is reserved for checksums");
  out.header.metadata = metadata;
  for (const auto& item : tensors) {
    check(item.value().defined(), "safetensors: tensor '", item.key(), "' is undefined");
    check(item.key() != "__metadata__" && is_utf8(item.key()), "safetensors: invalid tensor name '", item.key(), "'");
    TensorEntry entry;
    entry.name = item.key();
    entry.dtype = item.value().dtype();
    entry.sizes = item.value().sizes();
    out.order.push_back(out.header.tensors.size());
    out.header.tensors.push_back(std::move(entry));
  }
  std::stable_sort(out.order.begin(), out.order.end(), [&](std::size_t a, std::size_t b) {
    return item_size(out.header.tensors[a].dtype) > item_size(out.header.tensors[b].dtype);
  });
  uint64_t at = 0;
  for (const std::size_t i : out.order) {
    out.header.tensors[i].begin = at;
    at += tensors[i].value().nbytes();
    out.header.tensors[i].end = at;
  }
  return out;
}

// Stores the checksums in the header and returns its text.
std::string text_with_sums(Header& header, const std::vector<uint32_t>& sums) {
  const std::string text = format_sums(header, sums);
  if (std::string* entry = header.metadata.find(kSumsKey))
    *entry = text;
  else
    header.metadata.insert(kSumsKey, text);
  return format_header(header);
}

// Writes through a buffer, so a checksum covers exactly the bytes written, and small tensors share a write.
template <class File>
class Writer {
 public:
  explicit Writer(File& file) : file_(file), buffer_(kChunk) {}
  /// Returns the CRC `before` extended by these bytes.
  uint32_t put(const void* data, std::size_t bytes, uint32_t before) {
    const char* from = static_cast<const char*>(data);
    while (bytes != 0) {
      const std::size_t size = std::min(bytes, buffer_.size() - used_);
      std::memcpy(buffer_.data() + used_, from, size);
      before = crc32(buffer_.data() + used_, size, before);
      used_ += size;
      from += size;
      bytes -= size;
      if (used_ == buffer_.size()) flush();
    }
    return before;
  }
  void flush() {
    file_.write(buffer_.data(), used_);
    used_ = 0;
  }

 private:
  File& file_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
};

// Writes the header twice, since the checksums are known only at the end.
template <class File>
void emit(File& file, const OrderedDict<std::string, Tensor>& tensors,
          const OrderedDict<std::string, std::string>& metadata) {
  NoGradGuard no_grad;
  Layout layout = lay_out(tensors, metadata);
  std::vector<uint32_t> sums(layout.order.size());
  const std::string text = text_with_sums(layout.header, sums);
  check(text.size() <= kMaxHeaderBytes, "safetensors: the header has ", text.size(), " bytes, more than the limit of ",
        kMaxHeaderBytes);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text.data(), text.size());
  Writer<File> writer(file);
  for (const std::size_t i : layout.order) {
    const Tensor t = tensors[i].value().detach().to(Device(kCPU)).contiguous();
    const uint32_t kind = crc_of_kind(layout.header.tensors[i]);
    sums[i] = t.numel() == 0 ? kind : writer.put(t.data_ptr(), t.nbytes(), kind);
  }
  writer.flush();
  file.overwrite(8, text_with_sums(layout.header, sums).data(), text.size());
}

// An in-memory file.
struct Bytes {
  void write(const void* data, std::size_t bytes) { text.append(static_cast<const char*>(data), bytes); }
  void overwrite(uint64_t offset, const void* data, std::size_t bytes) {
    std::memcpy(text.data() + offset, data, bytes);
  }
  std::string text{};
};

// In order, filled one after the other.
std::vector<OrderedDict<std::string, Tensor>> split_state(const OrderedDict<std::string, Tensor>& tensors,
                                                          uint64_t shard_bytes) {
  std::vector<OrderedDict<std::string, Tensor>> shards(1);
  uint64_t used = 0;
  for (const auto& item : tensors) {
    check(item.value().defined(), "safetensors: tensor '", item.key(), "' is undefined");
    const uint64_t bytes = item.value().nbytes();
    if (!shards.back().is_empty() && (bytes > shard_bytes || used > shard_bytes - bytes)) {
      shards.emplace_back();
      used = 0;
    }
    used += bytes;
    shards.back().insert(item.key(), item.value());
  }
  return shards;
}

std::string five_digits(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
}

}  // namespace

SafeTensors load_safetensors(const std::string& path, const optional<Device>& device, Checksums checksums) {
  const SafeTensorsReader reader(path, checksums);
  return {reader.read(device), reader.metadata()};
}
SafeTensors parse_safetensors(const void* data, std::size_t bytes, const std::string& name, Checksums checksums) {
  const SafeTensorsReader reader(memory_source(data, bytes), name, checksums);
  return {reader.read(nullopt), reader.metadata()};
}

void save_safetensors(const std::string& path, const OrderedDict<std::string, Tensor>& tensors,
                      const OrderedDict<std::string, std::string>& metadata) {
  AtomicFile file(path);
  if (file.is_atomic())
    emit(file, tensors, metadata);
  else
    file.write(safetensors_bytes(tensors, metadata));  // a pipe cannot seek back to the header
  file.commit();
}
std::size_t save_sharded_safetensors(const std::string& path, const OrderedDict<std::string, Tensor>& tensors,
                                     uint64_t shard_bytes, const OrderedDict<std::string, std::string>& metadata) {
  constexpr std::string_view kEnding = ".safetensors";
  check(path.ends_with(kEnding), path, ": the name of a sharded checkpoint must end with ", kEnding);
  check(shard_bytes > 0, path, ": a shard must hold at least 1 byte");
  const std::string stem = path.substr(0, path.size() - kEnding.size());
  const std::vector<OrderedDict<std::string, Tensor>> shards = split_state(tensors, shard_bytes);
  OrderedDict<std::string, std::string> shard_of("Tensor");
  std::vector<std::unique_ptr<AtomicFile>> files;
  uint64_t bytes = 0;
  for (const auto& shard : shards) {
    const std::string file =
        concat(stem, "-", five_digits(files.size() + 1), "-of-", five_digits(shards.size()), kEnding);
    files.push_back(std::make_unique<AtomicFile>(file));
    check(files.back()->is_atomic(), file, ": is not a regular file");
    emit(*files.back(), shard, metadata);
    for (const auto& item : shard) {
      shard_of.insert(item.key(), file.substr(file.rfind('/') + 1));
      bytes += item.value().nbytes();
    }
  }
  files.push_back(std::make_unique<AtomicFile>(stem + std::string(kIndexEnding)));
  files.back()->write(format_index(shard_of, bytes));
  for (const auto& file : files) file->commit();
  return shards.size();
}
std::string safetensors_bytes(const OrderedDict<std::string, Tensor>& tensors,
                              const OrderedDict<std::string, std::string>& metadata) {
  Bytes file;
  emit(file, tensors, metadata);
  return std::move(file.text);
}

}  // namespace tandem::serialize
