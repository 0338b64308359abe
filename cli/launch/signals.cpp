#include "tandem/cli/launch/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tandem/core/base/clock.h"
#include "tandem/core/error.h"

namespace tandem::cli {

// One request to stop may arrive several times: `timeout` and terminals signal the process and its group, and
// parents pass on what the terminal has sent to both. So only a later SIGINT counts as another.
constexpr double kSameSeconds = 0.2;

LaunchSignals::LaunchSignals() {
  std::signal(SIGPIPE, SIG_IGN);  // a closed output is a failed write
  std::signal(SIGCHLD, SIG_DFL);  // ignored, it would discard the children's exit codes
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = tandem::detail::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  check(fd() >= 0, "cannot receive signals: ", std::strerror(errno));
}

void LaunchSignals::read() {
  signalfd_siginfo seen{};
  while (::read(fd(), &seen, sizeof seen) == static_cast<ssize_t>(sizeof seen)) {
    const int signal = static_cast<int>(seen.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (stop_ == 0) {
      stop_ = signal;
      first_ = seconds_now();
      stops_ = 1;
    } else if (signal == SIGINT && seconds_now() > first_ + kSameSeconds) {
      ++stops_;
    }
  }
}

void reset_signals_of_child() noexcept {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGCHLD}) sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

const char* signal_name(int signal) {
  static constexpr struct {
    int number;
    const char* name;
  } kNames[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
                {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
                {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
                {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
  for (const auto& known : kNames)
    if (known.number == signal) return known.name;
  return "a signal";
}

}  // namespace tandem::cli
