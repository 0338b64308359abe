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

// Each later write raises the signal again.
void on_closed_output(int signal) {
  if (stop_signal == 0) stop_signal = signal;
}

void install(int signal, void (*handler)(int), bool also_if_ignored) {
  struct sigaction action = {}, before = {};
  action.sa_handler = handler;
  if (also_if_ignored || (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN))
    sigaction(signal, &action, nullptr);
}

}  // namespace

void install_handlers(bool second_ends) {
  second_ends_process = second_ends ? 1 : 0;
  install(SIGINT, on_signal, true);
  install(SIGTERM, on_signal, true);
  install(SIGHUP, on_signal, false);  // ignored: nohup
  install(SIGPIPE, on_closed_output, false);
}

}  // namespace tandem::cli
