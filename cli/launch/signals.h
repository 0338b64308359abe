// Signals of the launcher, read from a descriptor: no handler interrupts it.
#pragma once
#include "tandem/core/base/descriptor.h"

namespace tandem::cli {

/// Blocks SIGINT, SIGTERM, SIGHUP (each unless it was ignored: nohup) and SIGCHLD in the calling thread and
/// in those that it starts later, and ignores SIGPIPE. For the rest of the process.
class LaunchSignals {
 public:
  /// Throws Error if the descriptor cannot be opened.
  LaunchSignals();
  /// Readable while signals wait.
  int fd() const { return fd_.get(); }
  /// Takes the signals that wait. Does not block.
  void read();
  /// The first signal that asked the launcher to stop; 0 if none did.
  int stop() const { return stop_; }
  /// 1 after that signal; more if Ctrl-C was pressed afterwards.
  int stops() const { return stops_; }

 private:
  tandem::detail::Descriptor fd_;
  int stop_ = 0, stops_ = 0;
  double first_ = 0;  // time of the first
};

/// For a child between fork and exec: blocks nothing and undoes what the tool ignores. Async-signal-safe.
void reset_signals_of_child() noexcept;

/// "SIGKILL"
const char* signal_name(int signal);

}  // namespace tandem::cli
