// Processes that are ended together with everything that they have started.
//
// Each child leads its own session and process group. This process adopts what the children leave
// behind (PR_SET_CHILD_SUBREAPER), so it can end that, too, and knows when nothing is left. If it is killed
// itself (kill -9), the kernel kills the children, and the keeper their groups: then only what has started its
// own session (setsid) escapes.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "tandem/cli/launch/keeper.h"
#include "tandem/core/error.h"

namespace tandem::cli {

/// A program could not be started; `number` is the errno.
class StartError : public Error {
 public:
  StartError(const std::string& message, int number_) : Error(message), number(number_) {}
  int number;
};

/// How a process has ended.
struct ProcessEnd {
  pid_t pid = 0;
  int code = 0;    ///< exit code, if signal is 0
  int signal = 0;  ///< that killed it; 0: it has exited
};

struct ChildProgram {
  std::string path;                      ///< resolved
  std::vector<std::string> arguments;    ///< the first is the program's name
  std::vector<std::string> environment;  ///< NAME=VALUE, all of it
  int in = -1, out = -1, err = -1;       ///< descriptors that become the standard streams
};

class ChildProcesses {
 public:
  /// Call this before the process has other threads, and start children from the same thread.
  ChildProcesses();
  /// Kills what is left.
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  /// Starts child number `slot` (see Keeper). Returns once the program runs. Throws StartError.
  pid_t start(int slot, const ChildProgram& program);
  /// The children that have ended since the last call. Those that were adopted are not reported.
  std::vector<ProcessEnd> reap();
  /// Whether a child runs, or something that a child has started.
  bool any_left();
  /// Sends the signal to all of them.
  void signal_all(int signal);

 private:
  struct Child {
    pid_t pid = 0;
    bool running = false;
  };
  std::vector<pid_t> adopted() const;
  std::vector<Child> children_;  // by slot
  std::vector<pid_t> others_;    // children that this process had before: a shell's that became tandem by exec
  Keeper keeper_;
};

/// Where execvp would find the program: itself if it contains a slash, else in PATH. Throws StartError.
std::string find_program(const std::string& name);

}  // namespace tandem::cli
