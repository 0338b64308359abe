// from_file: a tensor on the memory of a mapped file.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/whole_tensor.h"

namespace tandem {
namespace {

class File {
 public:
  File(const std::string& name, int flags) : descriptor_(::open(name.c_str(), flags | O_CLOEXEC, 0666)) {
    check(descriptor_ >= 0, "from_file: cannot open ", name, ": ", std::strerror(errno));
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  int64_t size() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<int64_t>(status.st_size) : -1;
  }

 private:
  int descriptor_;
};

}  // namespace

Tensor from_file(std::string_view filename, optional<bool> shared, optional<int64_t> size,
                 const TensorOptions& options) {
  check(options.resolved_device().is_cpu(), "from_file: expected a CPU tensor, got ", options.device());
  const bool share = shared.value_or(false);
  const int64_t count = size.value_or(0);
  check(count >= 0, "from_file: expected a size >= 0, got ", count);
  const int64_t bytes = checked_numel({count, item_size(options.dtype())});
  if (bytes == 0) return empty({0}, options);
  const std::string name(filename);
  const File file(name, share ? O_RDWR | O_CREAT : O_RDONLY);
  if (share && file.size() < bytes)
    check(::ftruncate(file.get(), bytes) == 0, "from_file: cannot extend ", name, ": ", std::strerror(errno));
  check(file.size() >= bytes, "from_file: ", name, " has ", file.size(), " bytes, but ", count, " elements need ",
        bytes);
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                        share ? MAP_SHARED : MAP_PRIVATE, file.get(), 0);
  check(memory != MAP_FAILED, "from_file: cannot map ", name, ": ", std::strerror(errno));
  return from_blob(
      memory, {count}, [bytes](void* data) { ::munmap(data, static_cast<std::size_t>(bytes)); }, options);
}

}  // namespace tandem
