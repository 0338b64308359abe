// The client of a TCPStore. Each call that is under way has its own connection, so that a thread that waits does
// not block the others; a few are kept for the next calls.
#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store_state.h"
#include "tandem/parallel/distributed/tcp_server.h"

namespace tandem::distributed {

using detail::Answer;
using detail::Deadline;
using detail::Descriptor;
using detail::Operation;
using detail::Request;
using detail::Status;

namespace {

constexpr std::size_t kMaxIdle = 4;
// How long an answer may take that does not wait for a key; then the server or its machine is taken for dead.
constexpr Milliseconds kGrace{10'000};

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

// Until when an answer must have come: of a call that waits for keys until `waiting`, and of the others.
Deadline answer_by(Milliseconds waiting) {
  return Deadline(std::clamp(waiting, Milliseconds(0), Deadline::kLongest) + kGrace);
}
Deadline answer_at_once(Milliseconds timeout) { return Deadline(std::max(timeout, kGrace)); }

class TCPState final : public StoreState {
 public:
  TCPState(std::string name_of_host, TCPStoreOptions options)
      : StoreState("TCPStore"), host(std::move(name_of_host)), port(options.port), options_(std::move(options)) {
    check(!host.empty(), "TCPStore: no host given");
    check(options_.is_server || port != 0, "TCPStore: no port given; only the server may choose one");
    if (options_.is_server) {
      server_ = std::make_unique<detail::TCPServer>(options_.bind_address, port, options_.job_key);
      port = server_->port();
    }
    idle_.push_back(connect(Deadline(options_.timeout), true));
  }

  std::string place() const override { return " at " + where(); }

  Answer ask(const Request& request, Milliseconds timeout) override {
    const bool waits = request.operation == Operation::kWait;
    if (request.operation == Operation::kGet) return exchange(request, answer_by(Milliseconds(request.number)));
    if (!waits && request.operation != Operation::kCheck) return exchange(request, answer_at_once(timeout));
    const Deadline end{Milliseconds(request.number)};
    for (std::size_t first = 0; first < request.keys.size(); first += detail::kMaxKeys) {
      Request part{request.operation, 0, {}};
      for (std::size_t k = first; k < std::min(request.keys.size(), first + detail::kMaxKeys); ++k)
        part.keys.push_back(request.keys[k]);
      const auto left = std::chrono::ceil<Milliseconds>(end.at() - Deadline::Clock::now());
      if (waits) part.number = left.count();
      Answer answer = exchange(part, waits ? answer_by(left) : answer_at_once(timeout));
      if (answer.status == Status::kTimeout) answer.number += static_cast<int64_t>(first);
      if (answer.status == Status::kTimeout || (!waits && answer.number == 0)) return answer;
    }
    return {Status::kOk, 1};
  }

  const std::string host;
  uint16_t port;

 private:
  std::string where() const { return detail::endpoint(host, port); }

  // With `retry`, tries again until the deadline, because the server may start later.
  Descriptor connect(const Deadline& deadline, bool retry) const {
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
            "TCPStore: no store answers at " + where() + " within " + seconds(options_.timeout) + ": " + reason +
            "; rank 0 may not have started, another program may have the port, or a firewall may be in the way");
      std::this_thread::sleep_until(std::min(deadline.at(), Deadline::Clock::now() + pause));
      pause = std::min(2 * pause, Milliseconds(500));
    }
  }

  void shake_hands(const Descriptor& socket, const Deadline& deadline) const {
    detail::send_all(socket, encode(detail::Hello{detail::kProtocolVersion, options_.job_key}), deadline);
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

  Descriptor take(const Deadline& deadline) {
    detail::check_not_forked(process_, name);
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Descriptor socket = std::move(idle_.back());
        idle_.pop_back();
        return socket;
      }
    }
    return connect(deadline, false);
  }

  void give_back(Descriptor socket) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(socket));
  }

  Answer exchange(const Request& request, const Deadline& deadline) {
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
    if (reply.status == Status::kTimeout)
      reply.number = static_cast<int64_t>(std::min(static_cast<std::size_t>(reply.number), request.keys.size() - 1));
    return {reply.status, reply.number, std::string(reply.text)};
  }

  const TCPStoreOptions options_;
  const uint32_t process_ = tandem::detail::this_process();
  std::unique_ptr<detail::TCPServer> server_;
  std::mutex mutex_;
  std::vector<Descriptor> idle_;
};

}  // namespace

TCPStore::TCPStore(std::string host, TCPStoreOptions options)
    : BuiltInStore(std::make_unique<TCPState>(std::move(host), options)) {
  set_timeout(options.timeout);
}

uint16_t TCPStore::port() const { return static_cast<const TCPState&>(*state_).port; }
std::string TCPStore::host() const { return static_cast<const TCPState&>(*state_).host; }

}  // namespace tandem::distributed
