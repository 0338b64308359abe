// A .npz file is a zip archive with an entry NAME.npy for every array.
#include "tandem/nn/files/pt/npz.h"

#include <deque>

#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/files/npy_header.h"
#include "tandem/nn/files/pt/zip_archive.h"

namespace tandem::serialize {
namespace {

constexpr std::string_view kEnding = ".npy";

Tensor read_entry(pt::ZipReader& zip, const std::string& name, const std::string& file) {
  const std::string where = concat(file, ": ", name);
  pt::ZipReader::Entry entry;
  check(zip.find(name, entry, true), where, ": is not in the archive");
  pt::ZipReader::Parts parts(zip, entry);
  const auto read = [&parts](void* to, std::size_t bytes) { parts.read(to, bytes); };
  const NpyHeader header = read_npy_header(read, entry.bytes, where);
  Tensor tensor = npy_tensor(header);
  parts.read(tensor.data_ptr(), header.bytes);
  parts.finish();
  finish_npy(header, tensor, where);
  return tensor;
}

OrderedDict<std::string, Tensor> load(pt::ZipReader zip, const std::string& file, const optional<Device>& device) {
  NoGradGuard no_grad;
  OrderedDict<std::string, Tensor> out("Array");
  for (const std::string& name : zip.names()) {
    check(name.ends_with(kEnding), file, ": entry ", name, " is no array: its name does not end with .npy");
    const Tensor tensor = read_entry(zip, name, file);
    out.insert(name.substr(0, name.size() - kEnding.size()), device ? tensor.to(*device) : tensor);
  }
  return out;
}

}  // namespace

OrderedDict<std::string, Tensor> load_npz(const std::string& path, const optional<Device>& device) {
  return load(pt::ZipReader::open(path), path, device);
}
OrderedDict<std::string, Tensor> parse_npz(const void* data, std::size_t bytes, const std::string& name) {
  return load(pt::ZipReader::of_memory(data, bytes, name), name, nullopt);
}

void save_npz(const std::string& path, const OrderedDict<std::string, Tensor>& arrays, bool compressed) {
  NoGradGuard no_grad;
  std::deque<std::string> headers;  // and tensors: what the archive is made of until it is written
  std::vector<Tensor> tensors;
  pt::write_zip_file(path, [&](pt::ZipSink& sink) {
    pt::ZipWriter zip(sink);
    for (const auto& item : arrays) {
      check(item.value().defined(), "save_npz: the tensor '", item.key(), "' is undefined");
      headers.push_back(format_npy_header(item.value().dtype(), item.value().sizes()));
      const Tensor& t = tensors.emplace_back(item.value().detach().to(Device(kCPU)).contiguous());
      zip.add(item.key() + std::string(kEnding), {headers.back(), {static_cast<const char*>(t.data_ptr()), t.nbytes()}},
              compressed);
    }
    zip.finish();
  });
}

}  // namespace tandem::serialize
