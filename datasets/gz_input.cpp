// GzInput with zlib. Concatenated gzip members are read as one file, as gzip does.
#include "tandem/datasets/gz_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::data {
namespace {
constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr int kGzipOnly = 16 + MAX_WBITS;
}  // namespace

struct GzInput::Inflate {
  z_stream stream{};
  std::vector<unsigned char> buffer = std::vector<unsigned char>(kBufferBytes);
  bool input_ended = false;
  bool finished = false;

  Inflate() {
    const int status = inflateInit2(&stream, kGzipOnly);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    check(status == Z_OK, "zlib: initialisation failed");
  }
  ~Inflate() { inflateEnd(&stream); }
};

GzInput::GzInput(const std::string& path) : name_(path) {
  // O_NONBLOCK: opening a FIFO without a writer would block forever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) file_.reset(::fdopen(fd, "rb"));
  const int error = errno;
  if (fd >= 0 && file_ == nullptr) ::close(fd);
  if (file_ == nullptr && error == ENOMEM) throw std::bad_alloc();
  if (file_ == nullptr) fail("cannot open ", name_, ": ", std::strerror(error));
  struct stat status {};
  const bool regular = ::fstat(fileno(file_.get()), &status) == 0 && S_ISREG(status.st_mode);
  check(regular, "cannot read ", name_, ": not a regular file");
  file_bytes_ = static_cast<uint64_t>(status.st_size);
  detect();
}

GzInput::GzInput(const void* bytes, std::size_t size, std::string name) : name_(std::move(name)), file_bytes_(size) {
  // fmemopen rejects size 0, so an empty input has no FILE.
  if (size != 0) file_.reset(::fmemopen(const_cast<void*>(bytes), size, "rb"));
  check(size == 0 || file_ != nullptr, "cannot read ", name_, ": ", std::strerror(errno));
  detect();
}

GzInput::~GzInput() = default;

void GzInput::check_no_error() const {
  if (std::ferror(file_.get())) fail("cannot read ", name_, ": ", std::strerror(errno));
}

void GzInput::detect() {
  if (file_ == nullptr) return;
  unsigned char magic[2] = {};
  const std::size_t got = std::fread(magic, 1, sizeof magic, file_.get());
  if (got < 2) check_no_error();
  std::rewind(file_.get());
  if (got == 2 && magic[0] == 0x1f && magic[1] == 0x8b) inflate_ = std::make_unique<Inflate>();
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);
}

uint64_t GzInput::max_bytes() const {
  if (!is_gzip()) return file_bytes_;
  constexpr uint64_t kRatio = 1032;
  return file_bytes_ > std::numeric_limits<uint64_t>::max() / kRatio ? std::numeric_limits<uint64_t>::max()
                                                                     : file_bytes_ * kRatio;
}

std::size_t GzInput::read(void* to, std::size_t bytes) {
  return is_gzip() ? read_gzip(to, bytes) : read_raw(to, bytes);
}

std::size_t GzInput::read_raw(void* to, std::size_t bytes) {
  if (file_ == nullptr) return 0;
  const std::size_t got = std::fread(to, 1, bytes, file_.get());
  if (got < bytes) check_no_error();
  return got;
}

void GzInput::refill() {
  Inflate& z = *inflate_;
  if (z.stream.avail_in != 0 || z.input_ended) return;
  const std::size_t got = read_raw(z.buffer.data(), z.buffer.size());
  z.stream.next_in = z.buffer.data();
  z.stream.avail_in = static_cast<uInt>(got);
  z.input_ended = got == 0;
}

// Either the file ends here or another member starts.
void GzInput::end_of_member() {
  Inflate& z = *inflate_;
  refill();
  if (z.stream.avail_in == 0) {
    z.finished = true;
    return;
  }
  check(z.stream.next_in[0] == 0x1f, name_, ": bytes that are not gzip follow the end of the gzip stream");
  check(inflateReset(&z.stream) == Z_OK, "zlib: reset failed");
}

std::size_t GzInput::read_gzip(void* to, std::size_t bytes) {
  Inflate& z = *inflate_;
  std::size_t done = 0;
  while (done < bytes && !z.finished) {
    refill();
    const std::size_t room = std::min<std::size_t>(bytes - done, std::numeric_limits<uInt>::max() / 2);
    z.stream.next_out = static_cast<unsigned char*>(to) + done;
    z.stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&z.stream, Z_NO_FLUSH);
    done += room - z.stream.avail_out;
    if (status == Z_STREAM_END) {
      end_of_member();
    } else if (status == Z_BUF_ERROR || (status == Z_OK && z.input_ended && z.stream.avail_out != 0)) {
      check(!z.input_ended, name_, ": the gzip stream is truncated: the file ends after ", file_bytes_, " bytes");
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status != Z_OK) {
      fail(name_, ": the gzip stream is corrupt: ", z.stream.msg != nullptr ? z.stream.msg : "unknown reason");
    }
  }
  return done;
}

}  // namespace tandem::data
