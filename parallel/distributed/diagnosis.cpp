#include "tandem/parallel/distributed/diagnosis.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "tandem/parallel/distributed/deadline.h"

namespace tandem::distributed {

namespace {

// A rank asks the store every 1 to 1.1 s (watchdog.cpp) whether another one has failed, and then publishes its status.
constexpr Milliseconds kForStatuses{1350}, kForFailure{1600}, kForReaders{500}, kPause{20};
constexpr std::size_t kMaxError = 2000;

// Asks again and again until done() or the time is over; returns whether it is done.
template <class Done>
bool wait_for(Milliseconds timeout, const Done& done) {
  for (const detail::Deadline deadline(timeout); !done(); std::this_thread::sleep_for(kPause))
    if (deadline.over()) return false;
  return true;
}

std::string one_decimal(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

// The ranks of a failed group, grouped by what is known about them.
struct Findings {
  std::vector<int> waiting, left, gone, late;
  std::map<std::string, std::vector<int>> calls;  // what the waiting ranks are in
  double seconds = 0;                             // the longest wait
};

// Seen from a rank that waits in `call`: who left after taking part in it is not missing.
Findings sort_ranks(const Statuses& statuses, const CallRecord& call) {
  std::set<int> lost;
  for (const auto& status : statuses)
    if (status) lost.insert(status->lost.begin(), status->lost.end());
  Findings out;
  for (int rank = 0; rank < static_cast<int>(statuses.size()); ++rank) {
    const auto& status = statuses[static_cast<std::size_t>(rank)];
    if (!status) {
      (lost.contains(rank) ? out.gone : out.late).push_back(rank);
    } else if (status->left) {
      if (status->call.sequence <= call.sequence) out.left.push_back(rank);
    } else {
      out.waiting.push_back(rank);
      out.calls[status->call.label() + ": " + status->call.description()].push_back(rank);
      out.seconds = std::max(out.seconds, status->seconds);
    }
  }
  return out;
}

std::string list_calls(const Findings& found) {
  std::string out;
  for (const auto& [call, ranks] : found.calls) out += concat("\n  ", rank_list(ranks), ": ", call);
  return out;
}

std::string absent_ranks(const Findings& found, const std::string& label) {
  std::string out;
  const auto add = [&](const std::vector<int>& ranks, const std::string& what) {
    if (!ranks.empty()) out += concat(out.empty() ? "" : "; ", rank_list(ranks), " ", what);
  };
  add(found.gone, "ended without a word (its connections are closed)");
  add(found.left, "left the group (it destroyed the group or exited) before " + label);
  add(found.late, "did not reach " + label);
  return out;
}

const optional<Status>& status_of(const Statuses& statuses, int rank) {
  static const optional<Status> none;
  return rank >= 0 && rank < static_cast<int>(statuses.size()) ? statuses[static_cast<std::size_t>(rank)] : none;
}

// The ranks on which a message of `rank` waits: its peer, the peer of that rank's message, and so on. The last one is
// in a collective call, or its call is unknown.
std::vector<int> message_chain(const Statuses& statuses, int rank) {
  std::vector<int> out;
  for (int at = rank;;) {
    const auto& status = status_of(statuses, at);
    if (!status || status->left || !status->call.point_to_point()) return out;
    at = status->call.root;
    if (at == rank || std::find(out.begin(), out.end(), at) != out.end()) return out;
    out.push_back(at);
  }
}

std::string explain_message(const Statuses& statuses, int rank) {
  const Status& own = *status_of(statuses, rank);
  std::string out = concat(own.call.label(), ": ", own.call.description());
  for (const int peer : message_chain(statuses, rank)) {
    const auto& status = status_of(statuses, peer);
    const bool lost = std::find(own.lost.begin(), own.lost.end(), peer) != own.lost.end();
    if (status && status->left) {
      out += concat(": rank ", peer, " left the group (it destroyed the group or exited)");
    } else if (status) {
      out += concat(": rank ", peer, " waits in ", status->call.label(), ", ", status->call.description());
      if (status->call.point_to_point()) continue;
      const std::string absent = absent_ranks(sort_ranks(statuses, status->call), status->call.label());
      if (!absent.empty()) out += "; " + absent;
    } else if (lost) {
      out += concat(": rank ", peer, " ended without a word (its connections are closed)");
    } else {
      out += concat(": rank ", peer, " made no matching call within ", one_decimal(own.seconds),
                    "; tag, dtype and number of elements must agree");
      out += own.error.empty() ? kTimeoutCure : "; " + own.error;
    }
  }
  return out;
}

// Whether the statuses show what `rank` waits for.
bool complete(const Statuses& statuses, int rank, const std::vector<int>& lost) {
  const auto known = [&](int other) {
    return status_of(statuses, other) || std::find(lost.begin(), lost.end(), other) != lost.end();
  };
  const std::vector<int> chain = message_chain(statuses, rank);
  const int last = chain.empty() ? rank : chain.back();
  const auto& status = status_of(statuses, last);
  if (!status) return known(last);
  if (status->left || status->call.point_to_point()) return true;
  for (int other = 0; other < static_cast<int>(statuses.size()); ++other)
    if (!known(other)) return false;
  return true;
}

std::vector<int> parse_ranks(const std::string& text) {
  std::istringstream in(text);
  std::vector<int> out;
  for (int rank = 0; in >> rank && out.size() < 100'000;) out.push_back(rank);
  return out;
}

}  // namespace

std::string rank_list(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    out += concat(i == 0 ? "" : ", ", ranks[i]);
    if (last > i) out += concat("-", ranks[last]);
    i = last + 1;
  }
  return out;
}

std::string explain(const Statuses& statuses, int rank) {
  const Status& own = *statuses[static_cast<std::size_t>(rank)];
  if (own.call.point_to_point()) return explain_message(statuses, rank);
  const Findings found = sort_ranks(statuses, own.call);
  const std::string label = own.call.label();
  const std::string absent = absent_ranks(found, label);
  const bool mixed = found.calls.size() > 1;
  if (absent.empty() && mixed) return "ranks wait in different calls" + list_calls(found);
  if (absent.empty()) {
    const std::string after = one_decimal(found.seconds);
    const std::string lost = own.lost.empty() ? "" : concat(" has lost its connection to ", rank_list(own.lost));
    if (!own.error.empty()) return concat(label, " failed after ", after, ": rank ", rank, lost, ": ", own.error);
    return concat(label, " is not done after ", after,
                  " although all ranks take part: the network is too slow for the timeout", kTimeoutCure);
  }
  const bool many = found.waiting.size() > 1;
  const char* cure = "";
  if (!found.left.empty())
    cure = "\n  (ranks with different numbers of batches can train in DistributedDataParallel::join)";
  else if (!found.late.empty())
    cure = kTimeoutCure;
  return concat(absent, "; ", rank_list(found.waiting), many ? " wait" : " waits", mixed ? " in different calls" : "",
                " since ", one_decimal(found.seconds), mixed ? list_calls(found) : "", cure);
}

std::string Status::text() const {
  std::string out = left ? "left" : "waiting";
  for (const int64_t word : call.words()) out += concat(" ", word);
  out += concat("\n", static_cast<int64_t>(seconds * 1000), "\n");
  for (const int other : lost) out += concat(other, " ");
  return out + "\n" + error.substr(0, kMaxError);
}

optional<Status> Status::parse(const std::string& text) {
  std::istringstream in(text);
  Status out;
  std::string kind, line;
  in >> kind;
  CallRecord::Words words{};
  for (int64_t& word : words) in >> word;
  int64_t milliseconds = 0;
  in >> milliseconds;
  if (!in || (kind != "left" && kind != "waiting")) return nullopt;
  std::getline(in, line);
  if (std::getline(in, line)) out.lost = parse_ranks(line);
  std::string error((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  out.error = error.substr(0, kMaxError);
  out.left = kind == "left";
  out.call = CallRecord::from(words);
  out.seconds = 1e-3 * static_cast<double>(milliseconds);
  return out;
}

Board::Board(std::shared_ptr<Store> store, std::string prefix, int rank, int size)
    : store_(std::move(store)), prefix_(std::move(prefix)), rank_(rank), size_(size) {}

bool Board::failure_noticed() { return store_->check({key("trouble")}); }

// Waits until every rank that the failed call needs, except those known to have ended, has published its status.
void Board::collect(const Status& own, Statuses& statuses, Milliseconds timeout) {
  statuses[static_cast<std::size_t>(rank_)] = own;
  wait_for(timeout, [&] {
    for (int rank = 0; rank < size_; ++rank) {
      auto& status = statuses[static_cast<std::size_t>(rank)];
      const std::string status_key = key(concat("status/", rank));
      if (!status && store_->check({status_key})) status = Status::parse(store_->get(status_key, Milliseconds(1000)));
    }
    return complete(statuses, rank_, own.lost);
  });
}

void Board::publish(const Status& own) { store_->set(key(concat("status/", rank_)), own.text()); }

std::string Board::agree(const Status& own) {
  const std::string me = std::to_string(rank_);
  const bool first = store_->compare_set(key("trouble"), "", me) == me;
  const auto has_failed = [&] { return store_->check({key("failure")}); };
  if (!first && wait_for(kForFailure, has_failed)) return store_->get(key("failure"), Milliseconds(1000));
  // If the first rank has ended meanwhile, the others' statuses are there, and the time is nearly over.
  Statuses statuses(static_cast<std::size_t>(size_));
  if (!has_failed()) collect(own, statuses, first ? kForStatuses : Milliseconds(0));
  if (has_failed()) return store_->get(key("failure"), Milliseconds(1000));
  return store_->compare_set(key("failure"), "", explain(statuses, rank_));
}

std::string Board::settle(const Status& own) {
  const std::string message = agree(own);
  arrive("seen");
  return message;
}

void Board::wait_for_readers() {
  std::vector<std::string> readers;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_ && !store_->check({key(concat("end/", rank))})) readers.push_back(key(concat("seen/", rank)));
  wait_for(kForReaders, [&] { return store_->check(readers); });
}

std::string Board::settle(const std::string& message) {
  const std::string valid = store_->compare_set(key("failure"), "", message);
  store_->set(key("trouble"), std::to_string(rank_));
  arrive("seen");
  return valid;
}

void Board::leave(int64_t calls) {
  Status status;
  status.left = true;
  status.call.sequence = calls;
  store_->set(key(concat("status/", rank_)), status.text());
  arrive("end");
  arrive("bye");
}

void Board::arrive(const std::string& place) { store_->set(key(concat(place, "/", rank_)), "1"); }

std::vector<int> Board::missing(const std::string& place, Milliseconds timeout, const std::function<bool()>& stop) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size_; ++rank) keys.push_back(key(concat(place, "/", rank)));
  bool all = false;
  wait_for(timeout, [&] { return (all = store_->check(keys)) || (stop && stop()); });
  std::vector<int> out;
  for (int rank = 0; !all && rank < size_; ++rank)
    if (!store_->check({keys[static_cast<std::size_t>(rank)]})) out.push_back(rank);
  return out;
}

}  // namespace tandem::distributed
