// Long-running commands stop at a signal, after they have saved what they have.
#pragma once
#include <csignal>

namespace tandem::cli {

/// The signal that requested a stop, or 0.
extern volatile std::sig_atomic_t stop_signal;
/// SIGINT, SIGTERM and SIGHUP set stop_signal; a second one ends the process if `second_ends`. So does SIGPIPE, a write to
/// a closed output (`| head`), once and for all.
void install_handlers(bool second_ends = true);

}  // namespace tandem::cli
