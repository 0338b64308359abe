// Makes the Nth call of a kind fail, as SQLite's tests do: the calls of the C library that take memory, open, read and
// write files, start threads and use sockets are defined in the test program, which counts them and passes them on.
//
// They are linked into the program, not preloaded, because the loader looks in the program first. There the address
// sanitizer has its own malloc(), which would hide that of a preloaded library; a definition in the program's own
// objects replaces it, and still reaches it as __interceptor_malloc().
//
// The thread that arms decides what is counted: every thread's calls from arm() to disarm(), but not those inside a
// Pause. The C library's own requests for thread-local objects are never refused, because it ends the process then.
#pragma once
#include <cstdint>

namespace tandem::faults {

enum class Kind {
  kMemory,     // malloc, calloc, realloc, aligned allocations, operator new: out of memory
  kMap,        // mmap of memory: out of memory
  kOpen,       // open, fopen, creat, mkstemp, opendir: too many open files
  kRead,       // read, pread, readv, and the first read of a file opened by fopen: input/output error
  kWrite,      // write, pwrite, writev: no space left
  kSync,       // fsync, fdatasync: input/output error
  kRename,     // rename: input/output error
  kClose,      // close, fclose: input/output error; the file is closed
  kTruncate,   // ftruncate: no space left
  kUnlink,     // unlink, remove, rmdir: input/output error
  kFolder,     // mkdir: no space left
  kThread,     // pthread_create: temporarily unavailable
  kLibrary,    // dlopen
  kSocket,     // socket, connect, bind, listen, accept, setsockopt, socketpair, pipe2, eventfd, epoll_create
  kSend,       // send, sendto, sendmsg: connection reset
  kReceive,    // recv, recvfrom, recvmsg: connection reset
  kPoll,       // poll, epoll_wait: out of memory
  kShort,      // reads and writes of one byte: harmless
  kInterrupt,  // reads, writes, sends, receives, accept, connect, poll, fsync: interrupted by a signal, harmless
};
inline constexpr int kKinds = static_cast<int>(Kind::kInterrupt) + 1;
inline constexpr const char* kKindNames[kKinds] = {
    "memory", "map",    "open",    "read",   "write", "sync",    "rename", "close", "truncate", "unlink",
    "folder", "thread", "library", "socket", "send",  "receive", "poll",   "short", "interrupt"};
/// Whether a program must not notice failures of this kind.
inline bool is_harmless(Kind kind) { return kind == Kind::kShort || kind == Kind::kInterrupt; }

/// From now on, the `nth` call of this kind fails; 0: calls are only counted.
void arm(Kind kind, int64_t nth);

struct Outcome {
  int64_t calls;  // counted
  bool fired;
};
Outcome disarm();

/// Whether a call that is armed now does harm when it fails. Otherwise nothing may fail, however busy the machine is.
bool expects_failure();

/// While it lives, this thread's calls are not counted.
class Pause {
 public:
  Pause();
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
};

/// For the definitions of calls: counts one, and says whether it must fail.
bool fails(Kind kind);

}  // namespace tandem::faults
