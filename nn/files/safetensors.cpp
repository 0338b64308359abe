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
#include "tandem/nn/files/safetensors_writer.h"

namespace tandem::serialize {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;  // unit of writing and checksumming

// Places the elements in order of decreasing item size, which aligns each of them. Returns that order.
std::vector<std::size_t> place_elements(Header& header) {
  for (const auto& item : header.metadata)
    check(is_utf8(item.key()) && is_utf8(item.value()), "safetensors: metadata '", item.key(), "' is not UTF-8");
  check(!header.metadata.contains(kSumsKey), "safetensors: metadata '", kSumsKey, "' is reserved for checksums");
  std::vector<std::size_t> order;
  for (const TensorEntry& entry : header.tensors) {
    check(entry.name != "__metadata__" && is_utf8(entry.name), "safetensors: invalid tensor name '", entry.name, "'");
    order.push_back(order.size());
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return item_size(header.tensors[a].dtype) > item_size(header.tensors[b].dtype);
  });
  uint64_t at = 0;
  for (const std::size_t i : order) {
    TensorEntry& entry = header.tensors[i];
    uint64_t bytes = item_size(entry.dtype);
    for (const int64_t size : entry.sizes) bytes *= static_cast<uint64_t>(size);
    entry.begin = at;
    at += bytes;
    entry.end = at;
  }
  return order;
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

template <class File>
void write_header(File& file, const std::string& text) {
  check(text.size() <= kMaxHeaderBytes, "safetensors: the header has ", text.size(), " bytes, more than the limit of ",
        kMaxHeaderBytes);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text.data(), text.size());
}

// Writes the header twice, since the checksums are known only at the end.
template <class File>
void emit(File& file, const OrderedDict<std::string, Tensor>& tensors,
          const OrderedDict<std::string, std::string>& metadata) {
  NoGradGuard no_grad;
  Header header;
  header.metadata = metadata;
  for (const auto& item : tensors) {
    check(item.value().defined(), "safetensors: tensor '", item.key(), "' is undefined");
    header.tensors.push_back({item.key(), item.value().dtype(), Dims(item.value().sizes())});
  }
  const std::vector<std::size_t> order = place_elements(header);
  std::vector<uint32_t> sums(order.size());
  const std::string text = text_with_sums(header, sums);
  write_header(file, text);
  Writer<File> writer(file);
  for (const std::size_t i : order) {
    const Tensor t = tensors[i].value().detach().to(Device(kCPU)).contiguous();
    const uint32_t kind = crc_of_kind(header.tensors[i]);
    sums[i] = t.numel() == 0 ? kind : writer.put(t.data_ptr(), t.nbytes(), kind);
  }
  writer.flush();
  file.overwrite(8, text_with_sums(header, sums).data(), text.size());
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
    const std::string file = shard_name(stem, files.size() + 1, shards.size());
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

// ---- one tensor after another

SafeTensorsWriter::SafeTensorsWriter(const std::string& path, std::vector<TensorEntry> entries,
                                     const OrderedDict<std::string, std::string>& metadata)
    : path_(path), file_(path), sums_(entries.size()), written_(entries.size()) {
  check(file_.is_atomic(), path_, ": is not a regular file");
  header_.tensors = std::move(entries);
  header_.metadata = metadata;
  place_elements(header_);
  const std::string text = text_with_sums(header_, sums_);
  write_header(file_, text);
  start_ = 8 + text.size();
}

void SafeTensorsWriter::write(std::size_t i, const Tensor& tensor) {
  NoGradGuard no_grad;
  const TensorEntry& entry = header_.tensors.at(i);
  check(tensor.dtype() == entry.dtype && tensor.sizes() == IntArrayRef(entry.sizes), path_, ": tensor '", entry.name,
        "' was announced as ", kind_text(entry), ", but is ", tensor);
  const Tensor t = tensor.detach().to(Device(kCPU)).contiguous();
  sums_[i] = crc_of_kind(entry);
  if (t.numel() > 0) {
    sums_[i] = crc32(t.data_ptr(), t.nbytes(), sums_[i]);
    file_.overwrite(start_ + entry.begin, t.data_ptr(), t.nbytes());
  }
  written_[i] = 1;
}

void SafeTensorsWriter::commit() {
  for (std::size_t i = 0; i < written_.size(); ++i)
    check(written_[i], path_, ": tensor '", header_.tensors[i].name, "' has not been written");
  const std::string text = text_with_sums(header_, sums_);
  file_.overwrite(8, text.data(), text.size());
  file_.commit();
}

}  // namespace tandem::serialize
