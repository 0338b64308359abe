// Reading and writing of safetensors files.
#include "tandem/nn/safetensors.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/core/atomic_file.h"
#include "tandem/nn/json_reader.h"
#include "tandem/nn/safetensors_header.h"

namespace tandem::serialize {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored little-endian");

// Where the bytes come from: a file or memory.
struct Source {
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  /// Bytes [offset, offset + bytes), which are inside.
  virtual void read(void* to, uint64_t offset, std::size_t bytes) = 0;
};

struct MemorySource final : Source {
  MemorySource(const void* d, std::size_t n) : data(static_cast<const char*>(d)), bytes(n) {}
  uint64_t size() const override { return bytes; }
  void read(void* to, uint64_t offset, std::size_t count) override {
    if (count != 0) std::memcpy(to, data + offset, count);
  }
  const char* data;
  std::size_t bytes;
};

struct FileSource final : Source {
  explicit FileSource(const std::string& p) : path(p), file(std::fopen(p.c_str(), "rb")) {
    check(file != nullptr, path, ": cannot be opened: ", std::strerror(errno));
    struct stat info {};
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
      std::fclose(file);
      fail(path, ": is no regular file");
    }
    bytes = static_cast<uint64_t>(info.st_size);
  }
  ~FileSource() override { std::fclose(file); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  uint64_t size() const override { return bytes; }
  void read(void* to, uint64_t offset, std::size_t count) override {
    if (count == 0) return;
    check(fseeko(file, static_cast<off_t>(offset), SEEK_SET) == 0 && std::fread(to, 1, count, file) == count,
          path,
          ": cannot be read: ", std::ferror(file) != 0 ? std::strerror(errno) : "it is shorter than it was");
  }
  const std::string& path;
  std::FILE* file;
  uint64_t bytes = 0;
};

void check_bools(const Tensor& t, const std::string& name, const std::string& file) {
  const auto* bytes = static_cast<const unsigned char*>(t.data_ptr());
  for (int64_t i = 0; i < t.numel(); ++i)
    check(bytes[i] <= 1, file, ": tensor '", name, "' is BOOL, but its element ", i, " is ",
          static_cast<int>(bytes[i]));
}

SafeTensors load(Source& source, const std::string& file, const optional<Device>& device) {
  check(source.size() >= 8, file, ": is no safetensors file: it has ", source.size(), " bytes, fewer than 8");
  uint64_t header_bytes = 0;
  source.read(&header_bytes, 0, 8);
  check(header_bytes <= kMaxHeaderBytes, file, ": is no safetensors file: its header would have ",
        header_bytes, " bytes, allowed are ", kMaxHeaderBytes);
  check(header_bytes <= source.size() - 8, file, ": was cut short: its header has ", header_bytes,
        " bytes, but only ", source.size() - 8, " follow");
  std::string text(header_bytes, '\0');
  source.read(text.data(), 8, text.size());
  const uint64_t start = 8 + header_bytes;
  Header header = parse_header(text, source.size() - start, file);

  NoGradGuard no_grad;
  SafeTensors out;
  out.metadata = std::move(header.metadata);
  for (TensorEntry& entry : header.tensors) {
    Tensor t = empty(entry.sizes, TensorOptions(entry.dtype).device(Device(kCPU)));
    source.read(t.data_ptr(), start + entry.begin, entry.end - entry.begin);
    if (entry.dtype == kBool) check_bools(t, entry.name, file);
    out.tensors.insert(std::move(entry.name), device ? t.to(*device) : t);
  }
  return out;
}

// A header for `tensors`: elements in order of falling item size, so that each is aligned.
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
  out.header.metadata = metadata;
  for (const auto& item : tensors) {
    check(item.value().defined(), "safetensors: tensor '", item.key(), "' is undefined");
    check(item.key() != "__metadata__" && is_utf8(item.key()), "safetensors: no tensor can be named '",
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

// Calls write(data, bytes) for the parts of the file.
template <class Write>
void emit(const OrderedDict<std::string, Tensor>& tensors,
          const OrderedDict<std::string, std::string>& metadata, const Write& write) {
  NoGradGuard no_grad;
  const Layout layout = lay_out(tensors, metadata);
  const std::string text = format_header(layout.header);
  check(text.size() <= kMaxHeaderBytes, "safetensors: the header has ", text.size(), " bytes, allowed are ",
        kMaxHeaderBytes);
  const uint64_t length = text.size();
  write(&length, sizeof length);
  write(text.data(), text.size());
  for (const std::size_t i : layout.order) {
    const Tensor t = tensors[i].value().detach().to(Device(kCPU)).contiguous();
    if (t.numel() != 0) write(t.data_ptr(), t.nbytes());
  }
}

}  // namespace

SafeTensors load_safetensors(const std::string& path, const optional<Device>& device) {
  FileSource source(path);
  return load(source, path, device);
}
SafeTensors parse_safetensors(const void* data, std::size_t bytes, const std::string& name) {
  MemorySource source(data, bytes);
  return load(source, name, nullopt);
}

void save_safetensors(const std::string& path, const OrderedDict<std::string, Tensor>& tensors,
                      const OrderedDict<std::string, std::string>& metadata) {
  AtomicFile file(path);
  emit(tensors, metadata, [&file](const void* data, std::size_t bytes) { file.write(data, bytes); });
  file.commit();
}
std::string safetensors_bytes(const OrderedDict<std::string, Tensor>& tensors,
                              const OrderedDict<std::string, std::string>& metadata) {
  std::string out;
  emit(tensors, metadata,
       [&out](const void* data, std::size_t bytes) { out.append(static_cast<const char*>(data), bytes); });
  return out;
}

}  // namespace tandem::serialize
