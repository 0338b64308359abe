// Shared by the long-running commands: stopping at the first signal, and starting threads.
#include <unistd.h>

#include <csignal>

#include "tandem/cli/options.h"
#include "tandem/cli/train/trainer.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/datasets/job_queue.h"

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

void use_threads(int threads) {
  if (threads < 0 || threads > 4096)
    throw UsageError(concat("--threads ", threads, ": expected 1 to 4096, or 0 for all cores"));
  if (threads == 0) return;
  set_num_threads(threads);
  try {
    device_num_threads();  // starts them
  } catch (const Error& error) {
    throw UsageError(concat("--threads ", threads, ": ", error.what()));
  }
}

// Otherwise an epoch's loader would fail only after the folder has been created.
void check_workers(int workers) try { data::detail::JobQueue{workers}; } catch (const Error& error) {
  throw UsageError(concat("--workers ", workers, ": ", error.what()));
}

}  // namespace tandem::cli
