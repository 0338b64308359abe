// tandem launch: starts the ranks of a job, serves their store, and ends all of them when one fails.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include "tandem/cli/launcher.h"
#include "tandem/cli/message.h"

namespace tandem::cli {
namespace {

constexpr int kJoinSeconds = 600;  // for the launchers of the other nodes

// A closed standard stream would be replaced by the next descriptor that is opened, and get a rank's output.
void open_standard_streams() {
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) [[maybe_unused]]
      const int opened = ::open("/dev/null", O_RDWR);
}

// Runs `work` in a thread, so that a signal ends the launcher while it waits for other nodes. There is nothing to be
// ended yet but the keeper, which notices.
void do_interruptibly(LaunchSignals& signals, const std::function<void()>& work) {
  std::atomic<bool> done{false};
  std::exception_ptr error;
  std::thread thread([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    done = true;
  });
  while (!done) {
    pollfd waiting{signals.fd(), POLLIN, 0};
    ::poll(&waiting, 1, 50);
    signals.read();
    if (signals.stop() != 0) ::_exit(128 + signals.stop());
  }
  thread.join();
  if (error) std::rethrow_exception(error);
}

std::shared_ptr<distributed::TCPStore> open_store(const LaunchPlace& place) {
  distributed::TCPStoreOptions options;
  options.port = place.port;
  options.is_server = place.node == 0;
  options.job_key = place.job_key;
  options.bind_address = place.host;
  if (place.node != 0) options.timeout = std::chrono::seconds(kJoinSeconds);
  return std::make_shared<distributed::TCPStore>(place.host, options);
}

// One run of all ranks. Each has a store of its own, so that it does not find what an earlier one has left.
LaunchResult run_once(const LaunchOptions& options, LaunchPlace place, LaunchSignals& signals,
                      ChildProcesses& processes, LaunchOutputs& outputs) {
  std::shared_ptr<distributed::TCPStore> store;
  std::unique_ptr<LaunchNodes> nodes;
  if (place.nodes == 1) {
    store = open_store(place);
  } else {
    do_interruptibly(signals, [&] {
      store = open_store(place);
      nodes = std::make_unique<LaunchNodes>(store, place, kJoinSeconds);
    });
    nodes->watch();
  }
  place.port = store->port();
  Launcher launcher(options, place, signals, processes, outputs, nodes.get());
  try {
    return launcher.run(find_program(options.command.front()));
  } catch (const Error& error) {
    if (nodes) {
      nodes->report({1, concat("node ", place.node, ": ", error.what())});
      nodes->leave();
    }
    throw;
  }
}

// Returns `code`, or 1 if some output is missing and nothing else went wrong.
int check_outputs(const LaunchOutputs& outputs, int code) {
  const auto complain = [&code](const std::string& what, int error) {
    if (error == 0) return;
    print_error("tandem launch", concat("cannot write to ", what, ": ", std::strerror(error)));
    if (code == 0) code = 1;
  };
  complain("standard output", outputs.out.error());
  for (const auto& log : outputs.logs) complain(log->path(), log->error());
  return code;
}

int launch(const LaunchOptions& options) {
  LaunchPlace place = read_place(options);
  // On several nodes the others are told, too.
  if (place.nodes == 1) find_program(options.command.front());
  open_standard_streams();
  LaunchSignals signals;
  ChildProcesses processes;
  LaunchOutputs outputs(place, options.log_dir);
  for (;; ++place.restart) {
    const LaunchResult result = run_once(options, place, signals, processes, outputs);
    if (result.code == 0 || result.stopped || place.restart == options.max_restarts)
      return check_outputs(outputs, result.code);
    outputs.say(
        concat("starting the ranks again (restart ", place.restart + 1, " of ", options.max_restarts, ")"));
  }
}

}  // namespace

int launch_command(const LaunchOptions& options) try {
  if (options.command.empty()) throw UsageError("expected a PROGRAM to start (see tandem launch --help)");
  return launch(options);
} catch (const UsageError& error) {
  print_error("tandem launch", error.what());
  return 2;
} catch (const StartError& error) {
  print_error("tandem launch", error.what());
  return error.number == ENOENT ? 127 : 126;  // as a shell
} catch (const Error& error) {
  print_error("tandem launch", error.what());
  return 1;
}

}  // namespace tandem::cli
