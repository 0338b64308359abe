// Calls that start threads and processes, load libraries and use sockets.
//
// pipe() is left out: the undefined-behaviour sanitizer asks it whether memory can be read.
#include "tandem/tests/faults/next_call.h"

using tandem::faults::fails;
using tandem::faults::fails_with;
using tandem::faults::is_in;
using tandem::faults::Kind;
using tandem::faults::Pause;

struct addrinfo;
struct epoll_event;
struct msghdr;
struct pollfd;
struct sockaddr;

TANDEM_NEXT(int, pthread_create, (unsigned long* made, const void* how, void* (*body)(void*), void* argument),
            (made, how, body, argument))

namespace {

// Whether the thread is a std::thread that Gloo starts: what it runs begins with the address of a table in the library
// that the code is in.
bool is_of_gloo(void* (*body)(void*), void* argument) {
  return is_in("libstdc++", reinterpret_cast<void*>(body)) && is_in("libgloo", *static_cast<void**>(argument));
}

struct Thread {
  void* (*body)(void*);
  void* argument;
};

void* run_uncounted(void* given) {
  const Pause pause;
  const Thread thread = *static_cast<Thread*>(given);
  delete static_cast<Thread*>(given);
  return thread.body(thread.argument);
}

}  // namespace

// Gloo's own threads end the process when a call fails in them, and one that is refused leaves a file of Gloo's open.
extern "C" int pthread_create(unsigned long* made, const void* how, void* (*body)(void*), void* argument) {
  if (is_of_gloo(body, argument)) {
    const Pause pause;
    return next_pthread_create(made, how, run_uncounted, new Thread{body, argument});
  }
  return fails(Kind::kThread) ? EAGAIN : next_pthread_create(made, how, body, argument);
}
TANDEM_CALL(kThread, EAGAIN, -1, int, fork, (), ())

// The C library's message is that of the last failure, so a library that does not exist is opened. A constructor of a
// library's static object that throws ends the process, so these have memory.
TANDEM_NEXT(void*, dlopen, (const char* path, int mode), (path, mode))
extern "C" void* dlopen(const char* path, int mode) {
  const bool refused = fails(Kind::kLibrary);
  const Pause pause;
  return next_dlopen(refused ? "/nowhere/cannot be loaded" : path, mode);
}

TANDEM_CALL(kSocket, EMFILE, -1, int, socket, (int family, int type, int protocol), (family, type, protocol))
TANDEM_CALL(kSocket, EMFILE, -1, int, socketpair, (int family, int type, int protocol, int* ends),
            (family, type, protocol, ends))
TANDEM_CALL(kSocket, EMFILE, -1, int, pipe2, (int* ends, int flags), (ends, flags))
TANDEM_CALL(kSocket, EMFILE, -1, int, eventfd, (unsigned value, int flags), (value, flags))
TANDEM_CALL(kSocket, EMFILE, -1, int, epoll_create, (int size), (size))
TANDEM_CALL(kSocket, EMFILE, -1, int, epoll_create1, (int flags), (flags))
TANDEM_CALL(kSocket, EADDRINUSE, -1, int, bind, (int fd, const sockaddr* address, unsigned bytes), (fd, address, bytes))
TANDEM_CALL(kSocket, EADDRINUSE, -1, int, listen, (int fd, int waiting), (fd, waiting))
TANDEM_CALL(kSocket, ENOMEM, -1, int, setsockopt, (int fd, int level, int name, const void* value, unsigned bytes),
            (fd, level, name, value, bytes))

// Gloo reads the result without asking whether there is one.
TANDEM_NEXT(int, getaddrinfo, (const char* node, const char* service, const addrinfo* hints, addrinfo** found),
            (node, service, hints, found))
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  if (!is_in("libgloo", __builtin_return_address(0))) return next_getaddrinfo(node, service, hints, found);
  const Pause pause;
  return next_getaddrinfo(node, service, hints, found);
}

// Without it, Gloo leaves a file open, or ends the process.
TANDEM_NEXT(int, epoll_ctl, (int poller, int operation, int fd, epoll_event* event), (poller, operation, fd, event))
extern "C" int epoll_ctl(int poller, int operation, int fd, epoll_event* event) {
  if (!is_in("libgloo", __builtin_return_address(0)) && fails_with(Kind::kSocket, ENOSPC)) return -1;
  return next_epoll_ctl(poller, operation, fd, event);
}

// A connection that a signal interrupts is made all the same. Gloo's are not interrupted, because they do not block.
TANDEM_NEXT(int, connect, (int fd, const sockaddr* address, unsigned bytes), (fd, address, bytes))
extern "C" int connect(int fd, const sockaddr* address, unsigned bytes) {
  if (fails_with(Kind::kSocket, ECONNREFUSED)) return -1;
  const int result = next_connect(fd, address, bytes);
  if ((result != 0 && errno != EINPROGRESS) || is_in("libgloo", __builtin_return_address(0))) return result;
  return fails_with(Kind::kInterrupt, EINTR) ? -1 : result;
}

#define TANDEM_INTERRUPTED(kind, error, Result, name, parameters, arguments)             \
  TANDEM_NEXT(Result, name, parameters, arguments)                                       \
  extern "C" Result name parameters {                                                    \
    if (fails_with(Kind::kind, error) || fails_with(Kind::kInterrupt, EINTR)) return -1; \
    return next_##name arguments;                                                        \
  }
TANDEM_INTERRUPTED(kSocket, EMFILE, int, accept, (int fd, sockaddr* address, unsigned* bytes), (fd, address, bytes))
TANDEM_INTERRUPTED(kSocket, EMFILE, int, accept4, (int fd, sockaddr* address, unsigned* bytes, int flags),
                   (fd, address, bytes, flags))
TANDEM_INTERRUPTED(kPoll, ENOMEM, int, poll, (pollfd * entries, unsigned long count, int timeout),
                   (entries, count, timeout))
TANDEM_INTERRUPTED(kSend, ECONNRESET, ssize_t, sendmsg, (int fd, const msghdr* message, int flags),
                   (fd, message, flags))
TANDEM_INTERRUPTED(kReceive, ECONNRESET, ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))

TANDEM_NEXT(int, epoll_wait, (int poller, epoll_event* events, int most, int timeout), (poller, events, most, timeout))
extern "C" int epoll_wait(int poller, epoll_event* events, int most, int timeout) {
  return fails_with(Kind::kInterrupt, EINTR) ? -1 : next_epoll_wait(poller, events, most, timeout);
}

TANDEM_NEXT(ssize_t, send, (int fd, const void* data, size_t bytes, int flags), (fd, data, bytes, flags))
extern "C" ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  if (fails_with(Kind::kSend, ECONNRESET) || fails_with(Kind::kInterrupt, EINTR)) return -1;
  return next_send(fd, data, bytes > 1 && fails(Kind::kShort) ? 1 : bytes, flags);
}
TANDEM_NEXT(ssize_t, recv, (int fd, void* data, size_t bytes, int flags), (fd, data, bytes, flags))
extern "C" ssize_t recv(int fd, void* data, size_t bytes, int flags) {
  if (fails_with(Kind::kReceive, ECONNRESET) || fails_with(Kind::kInterrupt, EINTR)) return -1;
  return next_recv(fd, data, bytes > 1 && fails(Kind::kShort) ? 1 : bytes, flags);
}
