#include "tandem/cli/launch/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "tandem/cli/message.h"
#include "tandem/core/base/clock.h"

namespace tandem::cli {
namespace {

constexpr double kLeftoverSeconds = 1;     // for what outlives its rank, such as a tee that writes the last lines
constexpr double kKillAgainSeconds = 0.1;  // a process may have forked while it was being killed
constexpr double kGiveUpSeconds = 30;      // a process that waits for a broken device cannot be killed

std::string prefix_of(int rank, int size) {
  const std::string last = concat(size - 1), mine = concat(rank);
  return "[" + std::string(last.size() - mine.size(), ' ') + mine + "] ";
}

}  // namespace

LaunchOutputs::LaunchOutputs(const LaunchPlace& place, const LaunchOptions& options) : caller(options.caller) {
  const std::string& folder = options.log_dir;
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "--log-dir ", folder, ": cannot be created: ", error.message());
  for (int i = 0; i < place.local_size; ++i)
    for (const char* kind : {".out", ".err"})
      logs.push_back(std::make_unique<RankLog>(
          (std::filesystem::path(folder) / concat("rank_", place.first_rank() + i, kind)).string()));
}

void LaunchOutputs::say(const std::string& text) { err.add(caller + ": " + printable(one_line(text)) + "\n"); }

void LaunchOutputs::flush(LaunchSignals& signals) {
  const int stops = signals.stops();
  while (!out.empty() || !err.empty()) {
    pollfd waiting[3] = {{signals.fd(), POLLIN, 0},
                         {out.empty() ? -1 : out.fd(), POLLOUT, 0},
                         {err.empty() ? -1 : err.fd(), POLLOUT, 0}};
    ::poll(waiting, 3, 1000);
    out.write_some();
    err.write_some();
    signals.read();
    if (signals.stops() != stops) return;
  }
}

Launcher::Launcher(const LaunchOptions& options, const LaunchPlace& place, LaunchSignals& signals,
                   ChildProcesses& processes, LaunchOutputs& outputs, LaunchNodes* nodes)
    : options_(options),
      place_(place),
      signals_(signals),
      processes_(processes),
      outputs_(outputs),
      nodes_(nodes),
      ranks_(static_cast<std::size_t>(place.local_size)) {}

LaunchResult Launcher::run(const std::string& path) {
  const tandem::detail::Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  check(null.get() >= 0, "cannot open /dev/null: ", std::strerror(errno));
  ChildProgram program{path, options_.command, {}, STDIN_FILENO};
  began_ = seconds_now();
  for (int i = 0; i < place_.local_size; ++i) {
    start_rank(i, program);
    program.in = null.get();  // only rank 0 of a node reads the launcher's input
  }
  while (!gave_up_ && (running_ > 0 || processes_.any_left())) {
    wait();
    look_for_stop();
    for (const ProcessEnd& end : processes_.reap()) note(end);
    look_for_remote_failure();
    look_at_clock();
  }
  conclude();
  return result_;
}

void Launcher::start_rank(int local_rank, ChildProgram& program) {
  const auto i = static_cast<std::size_t>(local_rank);
  Rank& rank = ranks_[i];
  const std::string prefix = options_.prefix ? prefix_of(place_.first_rank() + local_rank, place_.size()) : "";
  const auto log = [&](std::size_t number) { return outputs_.logs.empty() ? nullptr : outputs_.logs[number].get(); };
  program.environment = rank_environment(place_, local_rank);
  program.out = STDOUT_FILENO;
  program.err = STDERR_FILENO;
  if (!options_.as_one_program || local_rank > 0) {
    rank.out = std::make_unique<RankStream>(prefix, outputs_.out, log(2 * i));
    rank.err = std::make_unique<RankStream>(prefix, outputs_.err, log(2 * i + 1));
    program.out = rank.out->write_end();
    program.err = rank.err->write_end();
  }
  rank.pid = processes_.start(local_rank, program);
  rank.running = true;
  ++running_;
  for (RankStream* stream : rank.streams()) stream->close_write_end();
}

// Waits until something happens, and moves bytes from the ranks to the outputs. A rank waits while the output does.
void Launcher::wait() {
  const double now = seconds_now();
  const double next = std::min({choose_at_, ask_at_, kill_at_, give_up_at_, now + 1});
  std::vector<pollfd> waiting{{signals_.fd(), POLLIN, 0}};
  if (nodes_ != nullptr && !asked_) waiting.push_back({nodes_->fd(), POLLIN, 0});
  for (OutputQueue* queue : {&outputs_.out, &outputs_.err})
    if (!queue->empty()) waiting.push_back({queue->fd(), POLLOUT, 0});
  const std::size_t first = waiting.size();
  std::vector<RankStream*> streams;
  for (const Rank& rank : ranks_)
    for (RankStream* stream : rank.streams()) {
      if (stream->read_end() < 0 || stream->queue().full()) continue;
      waiting.push_back({stream->read_end(), POLLIN, 0});
      streams.push_back(stream);
    }
  const int milliseconds = static_cast<int>(std::ceil(1000 * std::clamp(next - now, 0.0, 1.0)));
  if (::poll(waiting.data(), waiting.size(), milliseconds) <= 0) return;
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (waiting[first + i].revents != 0) streams[i]->read();
  outputs_.out.write_some();
  outputs_.err.write_some();
}

void Launcher::look_for_stop() {
  signals_.read();
  if (outputs_.out.error() == EPIPE && !result_.stopped) {
    result_ = {128 + SIGPIPE, true};
    outputs_.say("nobody reads the standard output");
    if (!asked_) ask();
  }
  if (signals_.stops() == stops_) return;
  stops_ = signals_.stops();
  if (stops_ > 1) return kill();
  result_ = {128 + signals_.stop(), true};
  if (options_.as_one_program) {  // it decides how long it takes to end; another Ctrl-C kills it
    asked_ = true;
    return processes_.signal_all(signals_.stop());
  }
  const std::string name = signal_name(signals_.stop());
  outputs_.say(concat(name, ": ending the ranks (Ctrl-C kills them at once)"));
  if (!asked_) ask();
  if (nodes_ != nullptr) nodes_->report({result_.code, concat("node ", place_.node, " was stopped by ", name), true});
}

void Launcher::note(const ProcessEnd& end) {
  const auto rank =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.running && r.pid == end.pid; });
  if (rank == ranks_.end()) return;
  rank->running = false;
  const double now = seconds_now();
  const int number = place_.first_rank() + static_cast<int>(rank - ranks_.begin());
  ends_.push_back({number, end, now - began_, asked_});
  if (failed(ends_.back()) && !asked_)
    choose_at_ = std::min(choose_at_, is_conclusive(ends_.back()) ? now : now + kCauseSeconds);
  if (--running_ == 0) ask_at_ = std::min(ask_at_, now + kLeftoverSeconds);
}

void Launcher::look_for_remote_failure() {
  if (nodes_ == nullptr || asked_) return;
  const JobFailure failure = nodes_->failure();
  if (failure.code == 0) return;
  failure_chosen_ = true;
  take_over(failure);
  ask();
}

void Launcher::take_over(const JobFailure& failure) {
  result_ = {failure.code, failure.final};
  outputs_.say(failure.text);
}

void Launcher::look_at_clock() {
  const double now = seconds_now();
  const bool failure = choose_at_ < kNever && !failure_chosen_ && !asked_;
  if (failure && (now >= choose_at_ || running_ == 0)) choose_failure();
  if (!asked_ && now >= ask_at_) ask();
  if (now >= kill_at_) kill();
  if (now >= give_up_at_) gave_up_ = true;
}

void Launcher::choose_failure() {
  failure_chosen_ = true;
  const RankEnd* first = first_failure(ends_);
  if (first == nullptr) return;
  JobFailure failure{exit_code(first->process), describe(*first)};
  if (nodes_ != nullptr) {
    failure.text += concat(" on node ", place_.node);
    const JobFailure counts = nodes_->report(failure);
    if (counts.text != failure.text) {
      take_over(counts);
      return ask();
    }
  }
  result_.code = failure.code;
  // One program has reported its own errors.
  if (!options_.as_one_program || is_conclusive(*first) || first->process.signal == SIGABRT) {
    first_rank_ = first->rank;
    report(*first);
  }
  ask();
}

// A descendant of the rank may write on, so the reading is bounded.
void Launcher::report(const RankEnd& first) {
  constexpr int kMaxReads = 64;
  const Rank& rank = ranks_[static_cast<std::size_t>(first.rank - place_.first_rank())];
  for (RankStream* stream : rank.streams())
    for (int i = 0; i < kMaxReads && stream->read(); ++i) {
    }
  const auto lines = rank.err ? rank.err->lines().last_lines() : std::deque<std::string>();
  outputs_.say(describe(first) + (lines.empty() ? "" : "; the last lines of its standard error:"));
  for (const std::string& line : lines) outputs_.err.add("  " + printable(line) + "\n");
}

// SIGCONT lets a stopped process see SIGTERM.
void Launcher::ask() {
  asked_ = true;
  processes_.signal_all(SIGTERM);
  processes_.signal_all(SIGCONT);
  kill_at_ = seconds_now() + options_.grace;
}

void Launcher::kill() {
  asked_ = true;
  processes_.signal_all(SIGKILL);
  const double now = seconds_now();
  kill_at_ = now + kKillAgainSeconds;
  give_up_at_ = std::min(give_up_at_, now + kGiveUpSeconds);
}

// After a stop: a rank may have been ended by the signal, and others may have missed it then.
int Launcher::code_of_program() const {
  int code = 0, rank = place_.size();
  for (const RankEnd& end : ends_) {
    if (exit_code(end.process) == 128 + signals_.stop()) return 128 + signals_.stop();
    if (failed(end) && end.rank < rank) code = exit_code(end.process), rank = end.rank;
  }
  return code;
}

void Launcher::conclude() {
  for (Rank& rank : ranks_)
    for (RankStream* stream : rank.streams()) stream->finish();
  const auto first =
      std::find_if(ends_.begin(), ends_.end(), [&](const RankEnd& end) { return end.rank == first_rank_; });
  const std::string others = describe_others(ends_, first == ends_.end() ? nullptr : &*first);
  if (!others.empty() && (!options_.as_one_program || first != ends_.end())) outputs_.say(others);
  if (options_.as_one_program && result_.stopped && stops_ == 1) result_.code = code_of_program();
  if (gave_up_) {
    std::vector<int> left;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (ranks_[i].running) left.push_back(place_.first_rank() + static_cast<int>(i));
    outputs_.say((left.empty() ? "processes of the ranks" : names_of_ranks(left)) + " could not be killed");
    if (result_.code == 0) result_.code = 1;
  }
  outputs_.flush(signals_);
  if (nodes_ != nullptr) wait_for_other_nodes();
}

// The others need the store of node 0 as long as they run, and a failure there restarts this node's ranks,
// too. After a failure the others end soon, or have gone without a word.
void Launcher::wait_for_other_nodes() {
  constexpr double kMoreSeconds = 15;  // than the others' grace, which is this one's
  nodes_->leave();
  const auto limit = [this] { return result_.code != 0 ? seconds_now() + options_.grace + kMoreSeconds : kNever; };
  double until = limit();
  const int stops = signals_.stops();
  while (!nodes_->all_left() && signals_.stops() == stops && seconds_now() < until) {
    pollfd waiting{signals_.fd(), POLLIN, 0};
    ::poll(&waiting, 1, 100);
    signals_.read();
    const JobFailure failure = nodes_->failure();
    if (failure.code == 0 || result_.code != 0) continue;
    take_over(failure);
    until = limit();
  }
  if (signals_.stops() != stops) result_ = {128 + signals_.stop(), true};
  nodes_->part();
  outputs_.flush(signals_);
}

}  // namespace tandem::cli
