// Reading and writing .npy files.
#include "tandem/nn/files/npy.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/nn/files/byte_source.h"
#include "tandem/nn/files/npy_header.h"

namespace tandem::serialize {
namespace {

Tensor load(const ByteSource& source, const std::string& file) {
  NoGradGuard no_grad;
  uint64_t at = 0;
  const auto read = [&](void* to, std::size_t bytes) {
    source.read(to, at, bytes);
    at += bytes;
  };
  const NpyHeader header = read_npy_header(read, source.size(), file);
  Tensor tensor = npy_tensor(header);
  read_with_threads(source, tensor.data_ptr(), header.offset, header.bytes);
  finish_npy(header, tensor, file);
  return tensor;
}

template <class Write>
void emit(const Tensor& tensor, const Write& write) {
  check(tensor.defined(), "save_npy: the tensor is undefined");
  NoGradGuard no_grad;
  const std::string header = format_npy_header(tensor.dtype(), tensor.sizes());
  const Tensor t = tensor.detach().to(Device(kCPU)).contiguous();
  write(header.data(), header.size());
  if (t.numel() != 0) write(t.data_ptr(), t.nbytes());
}

}  // namespace

Tensor load_npy(const std::string& path, const optional<Device>& device) {
  const Tensor tensor = load(*open_file(path), path);
  return device ? tensor.to(*device) : tensor;
}
Tensor parse_npy(const void* data, std::size_t bytes, const std::string& name) {
  return load(*memory_source(data, bytes), name);
}

void save_npy(const std::string& path, const Tensor& tensor) {
  AtomicFile file(path);
  emit(tensor, [&file](const void* data, std::size_t bytes) { file.write(data, bytes); });
  file.commit();
}
std::string npy_bytes(const Tensor& tensor) {
  std::string out;
  emit(tensor, [&out](const void* data, std::size_t bytes) { out.append(static_cast<const char*>(data), bytes); });
  return out;
}

}  // namespace tandem::serialize
