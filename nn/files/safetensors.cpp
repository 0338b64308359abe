// Reading and writing safetensors files.
#include "tandem/nn/files/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/core/atomic_file.h"
#include "tandem/core/parallel_for.h"
#include "tandem/nn/files/crc32.h"
#include "tandem/nn/files/json_reader.h"
#include "tandem/nn/files/safetensors_sums.h"

namespace tandem::serialize {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;  // unit of reading, writing and checksumming
static_assert(std::endian::native == std::endian::little, "elements are stored little-endian");

// A source of bytes: a file or memory.
struct Source {
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  /// Reads bytes [offset, offset + bytes), which must be in range. Thread-safe.
  virtual void read(void* to, uint64_t offset, std::size_t bytes) const = 0;
};

struct MemorySource final : Source {
  MemorySource(const void* d, std::size_t n) : data(static_cast<const char*>(d)), bytes(n) {}
  uint64_t size() const override { return bytes; }
  void read(void* to, uint64_t offset, std::size_t count) const override {
    if (count != 0) std::memcpy(to, data + offset, count);
  }
  const char* data;
  std::size_t bytes;
};

struct FileSource final : Source {
  explicit FileSource(const std::string& p)
      : path(p),
        fd(::open(p.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // O_NONBLOCK: do not wait for a pipe
    check(fd >= 0, path, ": cannot be opened: ", std::strerror(errno));
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd);
      fail(path, ": is not a regular file");
    }
    bytes = static_cast<uint64_t>(info.st_size);
  }
  ~FileSource() override { ::close(fd); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  uint64_t size() const override { return bytes; }
  void read(void* to, uint64_t offset, std::size_t count) const override {
    while (count != 0) {
      const ssize_t got = ::pread(fd, to, count, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      check(got > 0, path, ": cannot be read: ", got < 0 ? std::strerror(errno) : "it has become shorter");
      to = static_cast<char*>(to) + got;
      offset += static_cast<uint64_t>(got);
      count -= static_cast<std::size_t>(got);
    }
  }
  const std::string& path;
  int fd;
  uint64_t bytes = 0;
};

void check_bools(const Tensor& t, const std::string& name, const std::string& file) {
  const auto* bytes = static_cast<const unsigned char*>(t.data_ptr());
  for (int64_t i = 0; i < t.numel(); ++i)
    check(bytes[i] <= 1, file, ": tensor '", name, "' is BOOL, but its element ", i, " is ",
          static_cast<int>(bytes[i]));
}

// Reads in chunks on all threads. If `summed`, returns the CRC-32 `before` extended by the data; otherwise
// the result is unspecified.
uint32_t read_summed(const Source& source, void* to, uint64_t offset, std::size_t bytes, bool summed,
                     uint32_t before) {
  if (bytes <= kChunk) {
    source.read(to, offset, bytes);
    return summed ? crc32(to, bytes, before) : 0;
  }
  const std::size_t chunks = (bytes + kChunk - 1) / kChunk;
  std::vector<uint32_t> sums(chunks);
  const auto size = [&](std::size_t i) { return std::min(kChunk, bytes - i * kChunk); };
  parallel_for(static_cast<int64_t>(chunks), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      char* const chunk = static_cast<char*>(to) + i * kChunk;
      source.read(chunk, offset + i * kChunk, size(i));
      if (summed) sums[i] = crc32(chunk, size(i));
    }
  });
  for (std::size_t i = 0; summed && i < chunks; ++i) before = joined_crc32(before, sums[i], size(i));
  return before;
}

// The header; sets `start` to the offset at which the elements begin.
Header read_header(const Source& source, const std::string& file, uint64_t& start) {
  check(source.size() >= 8, file, ": is not a safetensors file: it has ", source.size(),
        " bytes, fewer than 8");
  uint64_t header_bytes = 0;
  source.read(&header_bytes, 0, 8);
  check(header_bytes <= kMaxHeaderBytes, file, ": is not a safetensors file: its header would have ",
        header_bytes, " bytes, more than the limit of ", kMaxHeaderBytes);
  check(header_bytes <= source.size() - 8, file, ": is truncated: its header has ", header_bytes,
        " bytes, but only ", source.size() - 8, " follow");
  std::string text(header_bytes, '\0');
  source.read(text.data(), 8, text.size());
  start = 8 + header_bytes;
  return parse_header(text, source.size() - start, file);
}

bool ignores_sums() {
  const char* value = std::getenv(kIgnoreSums);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

// Removes the checksums from the metadata and returns them if they are to be verified.
optional<Sums> take_sums(Header& header, Checksums checksums, const std::string& file) {
  const std::string* text = header.metadata.find(kSumsKey);
  if (text == nullptr) return nullopt;
  optional<Sums> sums;
  if (checksums == Checksums::kVerify && !ignores_sums()) {
    sums = parse_sums(*text, file);
    check_header_sums(header, *sums, file);
  }
  header.metadata.erase(kSumsKey);
  return sums;
}

SafeTensors load(const Source& source, const std::string& file, const optional<Device>& device,
                 Checksums checksums) {
  uint64_t start = 0;
  Header header = read_header(source, file, start);
  const optional<Sums> sums = take_sums(header, checksums, file);
  NoGradGuard no_grad;
  SafeTensors out;
  out.metadata = std::move(header.metadata);
  for (TensorEntry& entry : header.tensors) {
    Tensor t = empty(entry.sizes, TensorOptions(entry.dtype).device(Device(kCPU)));
    const uint32_t sum = read_summed(source, t.data_ptr(), start + entry.begin, entry.end - entry.begin,
                                     sums.has_value(), sums ? crc_of_kind(entry) : 0);
    if (sums) check_tensor_sum(entry, sum, *sums, file);
    if (entry.dtype == kBool) check_bools(t, entry.name, file);
    out.tensors.insert(std::move(entry.name), device ? t.to(*device) : t);
  }
  return out;
}

// A header for `tensors`, with elements in order of decreasing item size, which aligns each of them.
struct Layout {
  Header header;
  std::vector<std::size_t> order;
};
Layout lay_out(const OrderedDict<std::string, Tensor>& tensors,
               const OrderedDict<std::string, std::string>& metadata) {
  Layout out;
  for (const auto& item : metadata)
    check(is_utf8(item.key()) && is_utf8(item.value()), "safetensors: metadata '", item.key(),
          "' is not UTF-8");
  check(!metadata.contains(kSumsKey), "safetensors: metadata '", kSumsKey, "' is reserved for checksums");
  out.header.metadata = metadata;
  for (const auto& item : tensors) {
    check(item.value().defined(), "safetensors: tensor '", item.key(), "' is undefined");
    check(item.key() != "__metadata__" && is_utf8(item.key()), "safetensors: invalid tensor name '",
          item.key(), "'");
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
  check(text.size() <= kMaxHeaderBytes, "safetensors: the header has ", text.size(),
        " bytes, more than the limit of ", kMaxHeaderBytes);
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

}  // namespace

SafeTensors load_safetensors(const std::string& path, const optional<Device>& device, Checksums checksums) {
  const FileSource source(path);
  return load(source, path, device, checksums);
}
SafeTensors parse_safetensors(const void* data, std::size_t bytes, const std::string& name,
                              Checksums checksums) {
  const MemorySource source(data, bytes);
  return load(source, name, nullopt, checksums);
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
std::string safetensors_bytes(const OrderedDict<std::string, Tensor>& tensors,
                              const OrderedDict<std::string, std::string>& metadata) {
  Bytes file;
  emit(file, tensors, metadata);
  return std::move(file.text);
}

}  // namespace tandem::serialize
