#include "tandem/cli/launch/keeper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

struct Message {
  int slot;
  pid_t pid;
};

// Descriptors of the launcher must not stay open in the keeper: their readers would wait for it.
void close_all_but(int kept) {
  rlimit limit{};
  const int last =
      getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536)) : 1024;
  for (int fd = 0; fd < last; ++fd)
    if (fd != kept) ::close(fd);
}

// Runs in a copy of the launcher: calls only async-signal-safe functions. The stop signals are blocked, and a
// new session keeps the terminal's away.
[[noreturn]] void keep(int fd) {
  static pid_t groups[Keeper::kMaxGroups];
  ::setsid();
  ::prctl(PR_SET_NAME, "tandem-keeper");
  close_all_but(fd);
  Message message{};
  for (;;) {
    const ssize_t got = ::read(fd, &message, sizeof message);  // pipes keep messages of this size whole
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof message)) break;
    groups[message.slot] = message.pid;
  }
  for (const pid_t group : groups)
    if (group > 0) ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

Keeper::Keeper() {
  int ends[2];
  check(::pipe2(ends, O_CLOEXEC) == 0, "cannot open a pipe: ", std::strerror(errno));
  pid_ = ::fork();
  if (pid_ == 0) keep(ends[0]);
  const int error = errno;
  ::close(ends[0]);
  fd_ = tandem::detail::Descriptor(ends[1]);
  check(pid_ > 0, "cannot start a process: ", std::strerror(error));
}

Keeper::~Keeper() {
  fd_ = tandem::detail::Descriptor();  // which ends it
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Keeper::guard(int slot, pid_t pid) {
  const Message message{slot, pid};
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &message, sizeof message);  // fails only if it was killed
}

}  // namespace tandem::cli
