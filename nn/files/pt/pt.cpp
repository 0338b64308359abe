// The parts of a .pt file: a pickle, and the storages that it names.
//
//   NAME/data.pkl    the pickle; NAME is any folder
//   NAME/byteorder   "little", if there is one
//   NAME/data/KEY    the elements of a storage
//   NAME/version     the format's version
#include "tandem/nn/files/pt/pt.h"

#include <fstream>
#include <map>
#include <sstream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/pt/legacy.h"
#include "tandem/nn/files/pt/pickle.h"
#include "tandem/nn/files/pt/zip_archive.h"
#include "tandem/nn/files/pt_plugin.h"

namespace tandem::serialize {
namespace {

// Where the pickle is: "NAME/".
std::string root_of(const pt::ZipReader& zip, const std::string& file) {
  const std::string pickle = "data.pkl";
  std::string root;
  int found = 0;
  for (const std::string& name : zip.names()) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos || name.substr(slash + 1) != pickle) continue;
    root = name.substr(0, slash + 1);
    ++found;
  }
  check(found == 1, file, ": is not a file of torch.save: it has ", found, " entries NAME/data.pkl");
  return root;
}

// Reads every storage once; as bytes, because tensors of several dtypes may share it.
class Storages {
 public:
  Storages(pt::ZipReader& zip, std::string folder, const std::string& file, const optional<Device>& device)
      : zip_(zip), folder_(std::move(folder)), file_(file), device_(device) {}

  Tensor read(const pt::StorageInfo& info) {
    const auto key = std::make_pair(info.key, info.dtype);
    Tensor& elements = elements_[key];
    if (!elements.defined()) elements = typed(info);
    check(elements.numel() == info.numel, file_, ": storage ", info.key, " has ", elements.numel(),
          " elements, and elsewhere ", info.numel);
    return elements;
  }

 private:
  Tensor typed(const pt::StorageInfo& info) {
    NoGradGuard no_grad;
    int64_t needed = 0;
    check(!__builtin_mul_overflow(info.numel, item_size(info.dtype), &needed), file_, ": storage ", info.key,
          " would have ", info.numel, " elements");
    const Tensor bytes = bytes_of(info.key);
    check(bytes.numel() == needed, file_, ": storage ", info.key, " has ", bytes.numel(), " bytes, expected ", needed);
    Tensor out = from_blob(
        bytes.data_ptr(), {info.numel}, [bytes](void*) {}, TensorOptions(info.dtype));
    pt::check_bools(out, info.key, file_);
    return device_ ? out.to(*device_) : out;
  }
  Tensor bytes_of(const std::string& key) {
    Tensor& bytes = bytes_[key];
    if (bytes.defined()) return bytes;
    pt::ZipReader::Entry entry;
    check(zip_.find(folder_ + key, entry), file_, ": lacks the storage ", key);
    Tensor all = empty({static_cast<int64_t>(entry.bytes)}, TensorOptions(kByte).device(Device(kCPU)));
    zip_.read(entry, all.data_ptr());
    return bytes = all;
  }

  pt::ZipReader& zip_;
  std::string folder_;
  const std::string& file_;
  const optional<Device>& device_;
  std::map<std::string, Tensor> bytes_;
  std::map<std::pair<std::string, ScalarType>, Tensor> elements_;
};

IValue load(pt::ZipReader zip, const std::string& file, const optional<Device>& device) {
  const std::string root = root_of(zip, file);
  pt::ZipReader::Entry entry;
  if (zip.find(root + "byteorder", entry))
    check(zip.text(entry) == "little", file, ": its elements are not little-endian");
  check(zip.find(root + "data.pkl", entry), file, ": lacks data.pkl");
  check(entry.bytes <= pt::kMaxPickleBytes, file, ": the pickle has ", entry.bytes, " bytes, more than the limit of ",
        pt::kMaxPickleBytes);
  const std::string pickle = zip.text(entry);
  Storages storages(zip, root + "data/", file, device);
  const pt::StorageReader reader = [&](const pt::StorageInfo& info) { return storages.read(info); };
  pt::PickleMachine machine(pickle, file, reader);
  const IValue value = pt::value_of(machine.run(), file);
  machine.resolve();
  return value;
}

void write_archive(const IValue& value, pt::ZipSink& sink) {
  std::vector<Tensor> storages;
  const std::string pickle = pt::pickle(value, storages);
  pt::ZipWriter zip(sink);
  const std::string order = "little", version = "3\n";
  zip.add("archive/data.pkl", pickle.data(), pickle.size());
  zip.add("archive/byteorder", order.data(), order.size());
  for (std::size_t i = 0; i < storages.size(); ++i)
    zip.add("archive/data/" + std::to_string(i), storages[i].data_ptr(), storages[i].nbytes());
  zip.add("archive/version", version.data(), version.size());
  zip.finish();
}

}  // namespace

IValue load_pt(const std::string& path, const optional<Device>& device) {
  if (pt::legacy_start(pt::start_of(path)) != 0) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    const std::string bytes = std::move(all).str();
    check(in.good() && pt::legacy_start(bytes) != 0, path, ": cannot be read");
    return pt::parse_legacy(bytes, path, device);
  }
  return load(pt::ZipReader::open(path), path, device);
}
IValue parse_pt(const void* data, std::size_t bytes, const std::string& name, const optional<Device>& device) {
  const std::string_view all(static_cast<const char*>(data), bytes);
  if (pt::legacy_start(all) != 0) return pt::parse_legacy(all, name, device);
  return load(pt::ZipReader::of_memory(data, bytes, name), name, device);
}

std::string pt_bytes(const IValue& value) {
  pt::ZipBytes bytes;
  write_archive(value, bytes);
  return std::move(bytes.text);
}

void save_pt(const std::string& path, const IValue& value) {
  pt::write_zip_file(path, [&value](pt::ZipSink& sink) { write_archive(value, sink); });
}
void save_pt(const std::string& path, const OrderedDict<std::string, Tensor>& state) {
  GenericDict dict;
  for (const auto& item : state) dict.insert(item.key(), item.value());
  save_pt(path, IValue(dict));
}

}  // namespace tandem::serialize

namespace tandem {

std::vector<char> pickle_save(const IValue& value) {
  const std::string bytes = serialize::pt_bytes(value);
  return {bytes.begin(), bytes.end()};
}
IValue pickle_load(const std::vector<char>& data) {
  return serialize::parse_pt(data.data(), data.size(), "pickle_load");
}

}  // namespace tandem
