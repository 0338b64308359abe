#include "tandem/cli/launch/rank_report.h"

#include <algorithm>
#include <csignal>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/launch/signals.h"

namespace tandem::cli {

int exit_code(const ProcessEnd& end) { return end.signal != 0 ? 128 + end.signal : end.code; }

// A program whose peer has gone typically exits with an error, or aborts because nobody catches the exception, or is
// ended by SIGPIPE. Signals that ask a process to end come from outside, often for several ranks at a time.
bool is_conclusive(const RankEnd& end) {
  const int signal = end.process.signal;
  for (const int common : {0, SIGABRT, SIGPIPE, SIGTERM, SIGINT, SIGHUP})
    if (signal == common) return false;
  return true;
}

// A killed rank's connections close before the kernel has released its memory and its devices, so the
// ranks that fail because of it may end before it does: a rank that is killed shortly after the first failure is its cause.
const RankEnd* first_failure(const std::vector<RankEnd>& ends) {
  const auto unasked = [](const RankEnd& end) { return failed(end) && !end.asked; };
  const auto first = std::find_if(ends.begin(), ends.end(), unasked);
  if (first == ends.end()) return nullptr;
  const auto cause = std::find_if(first, ends.end(), [&](const RankEnd& end) {
    return unasked(end) && is_conclusive(end) && end.seconds <= first->seconds + kCauseSeconds;
  });
  return cause == ends.end() ? &*first : &*cause;
}

std::string describe(const RankEnd& end) {
  const std::string who = concat("rank ", end.rank, " (pid ", end.process.pid, ") ");
  const std::string when = " after " + fixed(end.seconds, 1) + " s";
  const int signal = end.process.signal;
  if (signal == 0) return concat(who, "failed with exit code ", end.process.code, when);
  const std::string name = signal_name(signal);
  return concat(who, "was killed by ", name, name.starts_with("SIG") ? "" : concat(" (", signal, ")"), when);
}

std::string names_of_ranks(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last < i + 3) last = i;  // short runs are listed
    out += concat(i == 0 ? "" : ", ", ranks[i]);
    if (last > i) out += concat(" to ", ranks[last]);
    i = last + 1;
  }
  return out;
}

std::string describe_others(const std::vector<RankEnd>& ends, const RankEnd* first) {
  std::vector<int> failed_ranks, ended;
  for (const RankEnd& end : ends) {
    if (&end == first) continue;
    if (end.asked) ended.push_back(end.rank);
    if (!end.asked && failed(end)) failed_ranks.push_back(end.rank);
  }
  std::string out;
  if (!failed_ranks.empty()) out = names_of_ranks(failed_ranks) + " failed, too";
  if (!ended.empty())
    out += (out.empty() ? "" : "; ") + names_of_ranks(ended) + (ended.size() == 1 ? " was ended" : " were ended");
  return out;
}

}  // namespace tandem::cli
