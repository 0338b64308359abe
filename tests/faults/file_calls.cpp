// Calls that open, read, write and close files.
#include <cstdarg>

#include "tandem/tests/faults/next_call.h"

using tandem::faults::fails;
using tandem::faults::fails_with;
using tandem::faults::is_in;
using tandem::faults::Kind;

struct iovec {
  void* data;
  size_t bytes;
};

namespace {

// How many bytes of `bytes` are read or written. Objects that count (eventfd) have 8, and take no less.
size_t some(size_t bytes) { return bytes > 8 && fails(Kind::kShort) ? 1 : bytes; }

}  // namespace

// ---- opening

#define TANDEM_OPEN(name)                                                                   \
  TANDEM_NEXT(int, name, (const char* path, int flags, unsigned mode), (path, flags, mode)) \
  extern "C" int name(const char* path, int flags, ...) {                                   \
    va_list rest;                                                                           \
    va_start(rest, flags);                                                                  \
    const unsigned mode = va_arg(rest, unsigned);                                           \
    va_end(rest);                                                                           \
    return fails_with(Kind::kOpen, EMFILE) ? -1 : next_##name(path, flags, mode);           \
  }
#define TANDEM_OPENAT(name)                                                                             \
  TANDEM_NEXT(int, name, (int at, const char* path, int flags, unsigned mode), (at, path, flags, mode)) \
  extern "C" int name(int at, const char* path, int flags, ...) {                                       \
    va_list rest;                                                                                       \
    va_start(rest, flags);                                                                              \
    const unsigned mode = va_arg(rest, unsigned);                                                       \
    va_end(rest);                                                                                       \
    return fails_with(Kind::kOpen, EMFILE) ? -1 : next_##name(at, path, flags, mode);                   \
  }
TANDEM_OPEN(open)
TANDEM_OPEN(open64)
TANDEM_OPENAT(openat)
TANDEM_OPENAT(openat64)
TANDEM_CALL(kOpen, EMFILE, nullptr, void*, fopen, (const char* path, const char* mode), (path, mode))
TANDEM_CALL(kOpen, EMFILE, nullptr, void*, fopen64, (const char* path, const char* mode), (path, mode))
TANDEM_CALL(kOpen, EMFILE, nullptr, void*, opendir, (const char* path), (path))
TANDEM_CALL(kOpen, EMFILE, -1, int, mkstemp, (char* pattern), (pattern))
TANDEM_CALL(kOpen, EMFILE, -1, int, mkstemp64, (char* pattern), (pattern))

// ---- reading and writing

#define TANDEM_TRANSFER(kind, error, name, Data)                                         \
  TANDEM_NEXT(ssize_t, name, (int fd, Data* data, size_t bytes), (fd, data, bytes))      \
  extern "C" ssize_t name(int fd, Data* data, size_t bytes) {                            \
    if (fails_with(Kind::kind, error) || fails_with(Kind::kInterrupt, EINTR)) return -1; \
    return next_##name(fd, data, some(bytes));                                           \
  }
#define TANDEM_TRANSFER_AT(kind, error, name, Data)                                                      \
  TANDEM_NEXT(ssize_t, name, (int fd, Data* data, size_t bytes, long offset), (fd, data, bytes, offset)) \
  extern "C" ssize_t name(int fd, Data* data, size_t bytes, long offset) {                               \
    if (fails_with(Kind::kind, error) || fails_with(Kind::kInterrupt, EINTR)) return -1;                 \
    return next_##name(fd, data, some(bytes), offset);                                                   \
  }
// Gloo's go to sockets.
#define TANDEM_TRANSFER_PARTS(kind, error, name)                                                \
  TANDEM_NEXT(ssize_t, name, (int fd, const iovec* parts, int count), (fd, parts, count))       \
  extern "C" ssize_t name(int fd, const iovec* parts, int count) {                              \
    const bool sends = is_in("libgloo", __builtin_return_address(0));                           \
    if (sends && fails_with(Kind::kSend, ECONNRESET)) return -1;                                \
    if (!sends && fails_with(Kind::kind, error)) return -1;                                     \
    if (fails_with(Kind::kInterrupt, EINTR)) return -1;                                         \
    if (count == 0 || some(parts->bytes) == parts->bytes) return next_##name(fd, parts, count); \
    const iovec first{parts->data, 1};                                                          \
    return next_##name(fd, &first, 1);                                                          \
  }
TANDEM_TRANSFER(kRead, EIO, read, void)
TANDEM_TRANSFER_AT(kRead, EIO, pread, void)
TANDEM_TRANSFER_AT(kRead, EIO, pread64, void)
TANDEM_TRANSFER_PARTS(kRead, EIO, readv)
TANDEM_TRANSFER(kWrite, ENOSPC, write, const void)
TANDEM_TRANSFER_AT(kWrite, ENOSPC, pwrite, const void)
TANDEM_TRANSFER_AT(kWrite, ENOSPC, pwrite64, const void)
TANDEM_TRANSFER_PARTS(kWrite, ENOSPC, writev)

TANDEM_NEXT(size_t, fread, (void* data, size_t size, size_t count, void* file), (data, size, count, file))
extern "C" size_t fread(void* data, size_t size, size_t count, void* file) {
  constexpr int kErrorSeen = 0x20;  // of the flags, with which the structure begins
  if (!fails_with(Kind::kRead, EIO)) return next_fread(data, size, count, file);
  *static_cast<int*>(file) |= kErrorSeen;
  return 0;
}

// ---- the rest

TANDEM_NEXT(int, close, (int fd), (fd))
extern "C" int close(int fd) {
  const int result = next_close(fd);
  return fails_with(Kind::kClose, EIO) ? -1 : result;
}
TANDEM_NEXT(int, fclose, (void* file), (file))
extern "C" int fclose(void* file) {
  const int result = next_fclose(file);
  return fails_with(Kind::kClose, EIO) ? -1 : result;
}

#define TANDEM_SYNC(name)                                                               \
  TANDEM_NEXT(int, name, (int fd), (fd))                                                \
  extern "C" int name(int fd) {                                                         \
    if (fails_with(Kind::kSync, EIO) || fails_with(Kind::kInterrupt, EINTR)) return -1; \
    return next_##name(fd);                                                             \
  }
TANDEM_SYNC(fsync)
TANDEM_SYNC(fdatasync)
TANDEM_CALL(kRename, EIO, -1, int, rename, (const char* from, const char* to), (from, to))
TANDEM_CALL(kTruncate, ENOSPC, -1, int, ftruncate, (int fd, long bytes), (fd, bytes))
TANDEM_CALL(kTruncate, ENOSPC, -1, int, ftruncate64, (int fd, long bytes), (fd, bytes))
TANDEM_CALL(kTruncate, ENOSPC, -1, int, truncate, (const char* path, long bytes), (path, bytes))
TANDEM_CALL(kTruncate, ENOSPC, -1, int, truncate64, (const char* path, long bytes), (path, bytes))
TANDEM_CALL(kUnlink, EIO, -1, int, unlink, (const char* path), (path))
TANDEM_CALL(kUnlink, EIO, -1, int, unlinkat, (int at, const char* path, int flags), (at, path, flags))
TANDEM_CALL(kUnlink, EIO, -1, int, remove, (const char* path), (path))
TANDEM_CALL(kUnlink, EIO, -1, int, rmdir, (const char* path), (path))
TANDEM_CALL(kFolder, ENOSPC, -1, int, mkdir, (const char* path, mode_t mode), (path, mode))
TANDEM_CALL(kFolder, ENOSPC, nullptr, char*, mkdtemp, (char* pattern), (pattern))
