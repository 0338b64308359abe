// tandem launch: starts the ranks of a job, serves their store, and ends all of them when one fails.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/launch/launcher.h"
#include "tandem/cli/message.h"
#include "tandem/cli/numbers.h"

namespace tandem::cli {
namespace {

constexpr int kJoinSeconds = 600;  // for the launchers of the other nodes

// A closed standard stream would be replaced by the next descriptor that is opened, and get a rank's output.
void open_standard_streams() {
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) [[maybe_unused]]
      const int opened = ::open("/dev/null", O_RDWR);
}

// Runs `work` in a thread, so that a signal ends the launcher while it waits for other nodes. There is
// nothing to be ended yet but the keeper, which notices.
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

using TCPStorePtr = std::shared_ptr<distributed::TCPStore>;

TCPStorePtr open_store(const LaunchPlace& place) {
  distributed::TCPStoreOptions options;
  options.port = place.port;
  options.is_server = place.node == 0;
  options.job_key = place.job_key;
  options.bind_address = place.host;
  if (place.node != 0) options.timeout = std::chrono::seconds(kJoinSeconds);
  return std::make_shared<distributed::TCPStore>(place.host, options);
}

// A run's store and the other nodes. The ranks' store is new in each run: they must not find what an
// earlier one has left.
struct Meeting {
  TCPStorePtr store;
  std::unique_ptr<LaunchNodes> nodes;  // null on a single node
};

// `launchers` is the store in which the launchers of several nodes meet, made by the first call. The first
// run's ranks use it, too; for a later one node 0 opens a store on another port.
Meeting meet(const LaunchPlace& place, TCPStorePtr& launchers) {
  Meeting out;
  if (place.nodes == 1) {
    out.store = open_store(place);
    return out;
  }
  if (!launchers) launchers = open_store(place);
  const auto mine = std::make_shared<distributed::PrefixStore>(concat("tandem launch/", place.restart), launchers);
  out.nodes = std::make_unique<LaunchNodes>(mine, place, kJoinSeconds);
  out.store = launchers;
  if (place.restart == 0) return out;
  LaunchPlace next = place;
  next.port = 0;
  if (place.node == 0) {
    out.store = open_store(next);
    mine->set("port", concat(out.store->port()));
  } else {
    next.port = static_cast<uint16_t>(
        parse_number("port of the store", mine->get("port", std::chrono::seconds(kJoinSeconds)), Range<int>{1, 65535}));
    out.store = open_store(next);
  }
  return out;
}

LaunchResult run_once(const LaunchOptions& options, LaunchPlace place, TCPStorePtr& launchers, LaunchSignals& signals,
                      ChildProcesses& processes, LaunchOutputs& outputs) {
  Meeting meeting;
  const auto work = [&] { meeting = meet(place, launchers); };
  place.nodes == 1 ? work() : do_interruptibly(signals, work);
  LaunchNodes* nodes = meeting.nodes.get();
  if (nodes != nullptr) nodes->watch();
  place.port = meeting.store->port();
  Launcher launcher(options, place, signals, processes, outputs, nodes);
  try {
    return launcher.run(find_program(options.command.front()));
  } catch (const Error& error) {
    if (nodes != nullptr) {
      nodes->report({1, concat("node ", place.node, ": ", error.what()), true});
      nodes->leave();
      nodes->part();
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

int launch_command(const LaunchOptions& options) try {
  require(!options.command.empty(), "expected a PROGRAM to start (see tandem launch --help)");
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

}  // namespace

int launch(const LaunchOptions& options) {
  LaunchPlace place = read_place(options);
  // On several nodes the others are notified, too.
  if (place.nodes == 1) find_program(options.command.front());
  open_standard_streams();
  LaunchSignals signals;
  ChildProcesses processes;
  LaunchOutputs outputs(place, options);
  TCPStorePtr launchers;
  for (;; ++place.restart) {
    const LaunchResult result = run_once(options, place, launchers, signals, processes, outputs);
    if (result.code == 0 || result.stopped || place.restart == options.max_restarts)
      return check_outputs(outputs, result.code);
    outputs.say(concat("starting the ranks again (restart ", place.restart + 1, " of ", options.max_restarts, ")"));
    outputs.flush(signals);
  }
}

Command add_launch(CLI::App& app) {
  static LaunchOptions o;
  CLI::App* c = app.add_subcommand("launch",
                                   "start a program as several processes (ranks) that compute together; when one "
                                   "fails, end all of them and say which one it was");
  c->add_option("PROGRAM", o.command, "program to start; what follows it is passed on");
  add_known_text(c, "-n,--nproc-per-node", o.ranks, "RANKS",
                 "ranks on this node: a number; cpu: one per usable core; gpu: one per CUDA device; auto: gpu if there "
                 "are any, else cpu");
  add_known(c, "--nnodes", o.nodes, {1, 4096}, "nodes; tandem launch is started on each, with the same -n");
  add_number(c, "--node-rank", o.node_rank, Range<int>{0, 4095}, "number of this node, from 0; default: SLURM_NODEID");
  add_text(c, "--rdzv,--rdzv-endpoint", o.rdzv, "HOST:PORT",
           "where node 0 serves the store: one of its addresses, and a port; default on a single node: 127.0.0.1 and a "
           "free port");
  add_known(c, "--max-restarts", o.max_restarts, {0, 1'000'000},
            "times to start all ranks again after a failure; they continue from their own checkpoints");
  add_known(c, "--grace", o.grace, {0, 1e6}, "seconds between asking ranks to end (SIGTERM) and killing them");
  add_text(c, "--log-dir", o.log_dir, "DIR", "also write each rank's output to DIR/rank_N.out and DIR/rank_N.err");
  c->add_flag_callback(
      "--no-prefix", [] { o.prefix = false; }, "do not print [RANK] before each line");
  c->footer(
      "Examples:\n"
      "  tandem launch -n 4 ./program --its-own-option\n"
      "  tandem launch -n gpu tandem train --model resnet18 --data cifar10\n"
      "\n"
      "The ranks find their place in RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.\n"
      "Several nodes need the same secret TANDEM_JOB_KEY in the environment of each tandem launch.");
  return [](const CommandLine& line) {
    o.command = line.program;
    return launch_command(o);
  };
}

}  // namespace tandem::cli
