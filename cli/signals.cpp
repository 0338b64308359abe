// Handlers only write variables; the loops of commands read stop_signal.
#include "tandem/cli/signals.h"

#include <unistd.h>

namespace tandem::cli {

volatile std::sig_atomic_t stop_signal = 0;

namespace {

volatile std::sig_atomic_t second_ends_process = 1;

void on_signal(int signal) {
  if (stop_signal != 0 && second_ends_process != 0)
    _exit(128 + signal);  // second request: the files written last remain
  if (stop_signal == 0) stop_signal = signal;
}

}  // namespace

// SIGHUP stays ignored if it was (nohup).
void install_handlers(bool second_ends) {
  second_ends_process = second_ends ? 1 : 0;
  struct sigaction action = {}, before = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace tandem::cli
