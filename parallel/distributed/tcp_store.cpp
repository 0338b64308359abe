// The client of a TCPStore. Each call that is under way has its own connection, so that a thread that waits does
// not block the others; a few are kept for the next calls.
#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/key_values.h"
#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store.h"
#include "tandem/parallel/distributed/store_protocol.h"
#include "tandem/parallel/distributed/tcp_server.h"

namespace tandem::distributed {

using detail::Deadline;
using detail::Descriptor;
using detail::Operation;
using detail::Status;

namespace {

constexpr std::size_t kMaxIdle = 4;
// How long an answer may take that does not wait for a key; then the server or its machine is taken for dead.
constexpr Milliseconds kGrace{10'000};

struct Answer {
  Status status;
  int64_t number;
  std::string text;
};

std::string seconds(Milliseconds time) { return concat(1e-3 * static_cast<double>(time.count()), " s"); }

void check_verdict(const detail::Welcome& welcome, const std::string& where) {
  using detail::Verdict;
  if (welcome.verdict == Verdict::kAccepted) return;
  throw DistributedError("TCPStore: the server at " + where +
                         (welcome.verdict == Verdict::kWrongJobKey
                              ? " refuses the job key: it belongs to another job, or "
                                "TANDEM_JOB_KEY differs between the processes"
                          : welcome.verdict == Verdict::kWrongVersion
                              ? concat(" speaks version ", welcome.version, " of the protocol, this process speaks ",
                                       detail::kProtocolVersion, "; use one version of Tandem")
                              : std::string(" has as many connections as it can serve")));
}

}  // namespace

struct TCPStore::State {
  State(std::string name, TCPStoreOptions with) : host(std::move(name)), options(std::move(with)) {
    if (options.is_server)
      server = std::make_unique<detail::TCPServer>(options.bind_address, options.port, options.job_key);
    port = server != nullptr ? server->port() : options.port;
  }
  std::string where() const { return detail::endpoint(host, port); }
  Descriptor connect(const Deadline& deadline, bool retry) const;
  void shake_hands(const Descriptor& socket, const Deadline& deadline) const;
  Descriptor take(const Deadline& deadline);
  void give_back(Descriptor socket);
  Answer ask(const detail::Request& request, const Deadline& deadline);
  Answer ask(Operation operation, std::string_view key, const Deadline& deadline, int64_t number = 0,
             std::string_view value = {}, std::string_view expected = {}) {
    return ask({operation, number, {key}, value, expected}, deadline);
  }

  const std::string host;
  const TCPStoreOptions options;
  const uint32_t process = tandem::detail::this_process();
  std::unique_ptr<detail::TCPServer> server;
  uint16_t port = 0;
  std::mutex mutex;
  std::vector<Descriptor> idle;
};

// With `retry`, tries again until the deadline, because the server may start later.
Descriptor TCPStore::State::connect(const Deadline& deadline, bool retry) const {
  const detail::Addresses addresses = detail::resolve(host, port, deadline);
  std::string reason = "no answer in time";
  Milliseconds pause{10};
  while (true) {
    Descriptor socket = detail::try_connect(addresses.get(), deadline, reason);
    if (socket) {
      try {
        shake_hands(socket, deadline);
        return socket;
      } catch (const detail::ConnectionLost& e) {
        reason = e.what();
      }
    }
    if (!retry) throw DistributedError("TCPStore: lost the server at " + where() + ": " + reason);
    if (deadline.over())
      throw DistributedError(
          "TCPStore: no store answers at " + where() + " within " + seconds(options.timeout) + ": " + reason +
          "; rank 0 may not have started, another program may have the port, or a firewall may be in "
          "the way");
    std::this_thread::sleep_until(std::min(deadline.at(), Deadline::Clock::now() + pause));
    pause = std::min(2 * pause, Milliseconds(500));
  }
}

void TCPStore::State::shake_hands(const Descriptor& socket, const Deadline& deadline) const {
  detail::send_all(socket, encode(detail::Hello{detail::kProtocolVersion, options.job_key}), deadline);
  std::string bytes;
  while (bytes.size() < detail::kWelcomeBytes)
    detail::receive_some(socket, detail::kWelcomeBytes - bytes.size(), bytes, deadline);
  detail::Welcome welcome;
  try {
    welcome = detail::parse_welcome(detail::bytes_of(bytes));
  } catch (const Error& e) {
    throw DistributedError("TCPStore: what answers at " + where() + " is not a store of Tandem (" + e.what() +
                           "); choose another port");
  }
  check_verdict(welcome, where());
}

Descriptor TCPStore::State::take(const Deadline& deadline) {
  detail::check_not_forked(process, "TCPStore");
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      Descriptor socket = std::move(idle.back());
      idle.pop_back();
      return socket;
    }
  }
  return connect(deadline, false);
}

void TCPStore::State::give_back(Descriptor socket) {
  const std::lock_guard lock(mutex);
  if (idle.size() < kMaxIdle) idle.push_back(std::move(socket));
}

Answer TCPStore::State::ask(const detail::Request& request, const Deadline& deadline) {
  Descriptor socket = take(deadline);
  std::string bytes;
  detail::Reply reply;
  try {
    detail::send_all(socket, encode(request), deadline);
    std::optional<std::size_t> length;
    while (!(length = detail::parse_length(detail::bytes_of(bytes), detail::kMaxReply)))
      detail::receive_some(socket, detail::kLengthBytes - bytes.size(), bytes, deadline);
    while (bytes.size() < detail::kLengthBytes + *length)
      detail::receive_some(socket, detail::kLengthBytes + *length - bytes.size(), bytes, deadline);
    reply = detail::parse_reply(detail::bytes_of(bytes).subspan(detail::kLengthBytes));
  } catch (const Error& e) {
    throw DistributedError("TCPStore: lost the connection to " + where() + ": " + e.what());
  }
  give_back(std::move(socket));
  if (reply.status == Status::kInvalid) fail("TCPStore at ", where(), ": ", reply.text);
  if (reply.status == Status::kFailed) throw DistributedError(concat("TCPStore at ", where(), ": ", reply.text));
  return {reply.status, reply.number, std::string(reply.text)};
}

TCPStore::TCPStore(std::string host, TCPStoreOptions options) {
  tandem::check(!host.empty(), "TCPStore: no host given");
  tandem::check(options.is_server || options.port != 0, "TCPStore: no port given; only the server may choose one");
  set_timeout(options.timeout);
  state_ = std::make_unique<State>(std::move(host), std::move(options));
  state_->idle.push_back(state_->connect(Deadline(timeout()), true));
}
TCPStore::~TCPStore() = default;

uint16_t TCPStore::port() const { return state_->port; }
std::string TCPStore::host() const { return state_->host; }

namespace {
// Of a call that waits for keys until `waiting`.
Deadline answer_by(Milliseconds waiting) {
  return Deadline(std::clamp(waiting, Milliseconds(0), Deadline::kLongest) + kGrace);
}
// Of the others.
Deadline answer_by(const Store& store) { return Deadline(std::max(store.timeout(), kGrace)); }
}  // namespace

void TCPStore::set(const std::string& key, std::string_view value) {
  detail::check_key("TCPStore::set", key);
  detail::check_value("TCPStore::set", value);
  state_->ask(Operation::kSet, key, answer_by(*this), 0, value);
}

std::string TCPStore::get(const std::string& key, Milliseconds timeout) {
  detail::check_key("TCPStore::get", key);
  Answer answer = state_->ask(Operation::kGet, key, answer_by(timeout), timeout.count());
  if (answer.status == Status::kTimeout)
    detail::fail_waiting("TCPStore::get at " + state_->where(), key, timeout.count());
  return std::move(answer.text);
}

void TCPStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  detail::check_keys("TCPStore::wait", keys);
  const Deadline end(timeout);
  for (std::size_t first = 0; first < keys.size(); first += detail::kMaxKeys) {
    const std::size_t last = std::min(keys.size(), first + detail::kMaxKeys);
    const auto left = std::chrono::ceil<Milliseconds>(end.at() - Deadline::Clock::now());
    const Answer answer =
        state_->ask({Operation::kWait, left.count(), {keys.begin() + first, keys.begin() + last}}, answer_by(left));
    if (answer.status == Status::kTimeout)
      detail::fail_waiting("TCPStore::wait at " + state_->where(),
                           keys[std::min(first + static_cast<std::size_t>(answer.number), last - 1)], timeout.count());
  }
}

int64_t TCPStore::add(const std::string& key, int64_t amount) {
  detail::check_key("TCPStore::add", key);
  return state_->ask(Operation::kAdd, key, answer_by(*this), amount).number;
}

bool TCPStore::check(const std::vector<std::string>& keys) {
  detail::check_keys("TCPStore::check", keys);
  for (std::size_t first = 0; first < keys.size(); first += detail::kMaxKeys) {
    const std::size_t last = std::min(keys.size(), first + detail::kMaxKeys);
    if (state_->ask({Operation::kCheck, 0, {keys.begin() + first, keys.begin() + last}}, answer_by(*this)).number == 0)
      return false;
  }
  return true;
}

std::string TCPStore::compare_set(const std::string& key, std::string_view expected, std::string_view desired) {
  detail::check_key("TCPStore::compare_set", key);
  detail::check_value("TCPStore::compare_set", expected);
  detail::check_value("TCPStore::compare_set", desired);
  Answer answer = state_->ask(Operation::kCompareSet, key, answer_by(*this), 0, desired, expected);
  return answer.number != 0 ? std::move(answer.text) : std::string(expected);
}

bool TCPStore::delete_key(const std::string& key) {
  detail::check_key("TCPStore::delete_key", key);
  return state_->ask(Operation::kDelete, key, answer_by(*this)).number != 0;
}

}  // namespace tandem::distributed
