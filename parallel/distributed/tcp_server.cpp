#include "tandem/parallel/distributed/tcp_server.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store_service.h"

namespace tandem::distributed::detail {
namespace {

using Clock = Deadline::Clock;
// Connections beyond the limit that get a message before they are closed.
constexpr std::size_t kRefusedAtATime = 64;

// Registers a descriptor for events, which come with the pointer `of`. `operation` as for epoll_ctl.
void watch(int poller, int operation, int fd, uint32_t events, void* of) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = of;
  if (::epoll_ctl(poller, operation, fd, &event) != 0)
    throw DistributedError("TCPStore: epoll_ctl: " + std::generic_category().message(errno));
}

class Connection;

/// What all connections of a server share.
struct Connections {
  int poller = -1;                  ///< the epoll instance that reports their events
  std::size_t max_received = 0;     ///< bound of `received`
  std::size_t received = 0;         ///< bytes of all unfinished requests
  std::vector<Connection*> broken;  ///< to be closed at the end of the round
};

class Connection final : public StoreClient {
 public:
  Connection(Descriptor socket, Connections& all) : socket_(std::move(socket)), all_(all) {
    set_options(socket_.get());
    watch(all_.poller, EPOLL_CTL_ADD, socket_.get(), EPOLLIN | EPOLLRDHUP, this);
  }
  ~Connection() override { all_.received -= in_.size(); }

  enum class Phase : uint8_t {
    kHandshake,
    kReady,   ///< for the next request
    kBusy,    ///< a request has not been answered completely
    kRefused  ///< will be closed once it knows why
  };
  Phase phase() const { return phase_; }
  bool broken() const { return broken_; }
  /// Will be closed at the end of the round.
  void fail() {
    if (broken_) return;
    broken_ = true;
    all_.broken.push_back(this);
  }
  /// Reads what has come. False, after fail(), if the other side has closed, or sent bytes at the wrong time.
  bool receive() {
    std::array<char, 1 << 16> block;
    const bool is_hello = phase_ == Phase::kHandshake;
    const std::size_t most = is_hello ? kMaxHello + 1 - std::min(in_.size(), kMaxHello) : block.size();
    const ssize_t got = ::recv(socket_.get(), block.data(), most, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
    const bool expected = is_hello || phase_ == Phase::kReady;
    if (got <= 0 || !expected || all_.received + static_cast<std::size_t>(got) > all_.max_received) {
      fail();
      return false;
    }
    in_.append(block.data(), static_cast<std::size_t>(got));
    all_.received += static_cast<std::size_t>(got);
    return true;
  }
  /// What has been received since the last reply.
  Bytes received() const { return bytes_of(in_); }
  void begin_request() { phase_ = Phase::kBusy; }
  void welcome(Verdict verdict) {
    phase_ = verdict == Verdict::kAccepted ? Phase::kBusy : Phase::kRefused;
    head_ = encode(Welcome{kProtocolVersion, verdict});
    flush();
  }
  void reply(Status status, int64_t number, Value text) override {
    try {
      head_ = encode_reply_header(status, number, text == nullptr ? 0 : text->size());
      text_ = std::move(text);
      flush();
    } catch (const std::exception&) {  // out of memory
      fail();
    }
  }
  /// Goes on sending.
  void flush() {
    while (sending() && !broken_) {
      const std::ptrdiff_t now = send_rest();
      if (now < 0 && errno == EINTR) continue;
      if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return poll_output(true);
      if (now < 0) return fail();
      sent_ += static_cast<std::size_t>(now);
      if (sent_ == head_.size() + (text_ == nullptr ? 0 : text_->size())) finish();
    }
  }

  Deadline::Clock::time_point greet_until;

 private:
  bool sending() const { return !head_.empty(); }
  std::ptrdiff_t send_rest() {
    const std::string_view whole[] = {head_, text_ == nullptr ? std::string_view() : std::string_view(*text_)};
    std::array<iovec, 2> parts{};
    msghdr message{};
    message.msg_iov = parts.data();
    std::size_t skip = sent_;
    for (const std::string_view part : whole) {
      const std::size_t skipped = std::min(skip, part.size());
      skip -= skipped;
      if (skipped == part.size()) continue;
      parts[message.msg_iovlen++] = {const_cast<char*>(part.data()) + skipped, part.size() - skipped};
    }
    return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  }
  // Everything has been sent: the next request may come.
  void finish() {
    head_.clear();
    text_ = nullptr;
    sent_ = 0;
    all_.received -= in_.size();
    std::string().swap(in_);
    if (phase_ == Phase::kRefused) return fail();
    phase_ = Phase::kReady;
    poll_output(false);
  }
  void poll_output(bool on) {
    if (on == polls_output_) return;
    polls_output_ = on;
    watch(all_.poller, EPOLL_CTL_MOD, socket_.get(), EPOLLIN | EPOLLRDHUP | (on ? EPOLLOUT : 0u), this);
  }
  Descriptor socket_;
  Connections& all_;
  Phase phase_ = Phase::kHandshake;
  bool broken_ = false, polls_output_ = false;
  std::string in_, head_;
  Value text_;            // follows head_
  std::size_t sent_ = 0;  // of both
};

Descriptor checked(int fd, const char* what) {
  if (fd < 0) throw DistributedError(concat("TCPStore: ", what, ": ", std::generic_category().message(errno)));
  return Descriptor(fd);
}

}  // namespace

struct TCPServer::Impl {
  Impl(Descriptor listening, std::string key, const ServerLimits& most)
      : listener(std::move(listening)),
        poller(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create")),
        stop(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
        job_key(std::move(key)),
        limits(most),
        service(most.stored) {
    shared.poller = poller.get();
    shared.max_received = limits.received;
    watch(poller.get(), EPOLL_CTL_ADD, listener.get(), EPOLLIN, &listener);
    watch(poller.get(), EPOLL_CTL_ADD, stop.get(), EPOLLIN, &stop);
  }

  void start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's own threads handle its signals
    std::error_code error;
    try {
      thread = std::thread([this] { run(); });
    } catch (const std::system_error& e) {
      error = e.code();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error) throw DistributedError("TCPStore: cannot start the server's thread: " + error.message());
  }

  void run() {
    for (bool going = true; going;) {
      try {
        going = round();
      } catch (const std::exception&) {
        // Out of memory. Events that were not handled come again.
      }
    }
  }

  // Handles one batch of events; false once the server is to end.
  bool round() {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(poller.get(), events.data(), events.size(), poll_milliseconds());
    for (int i = 0; i < count; ++i) {
      void* of = events[static_cast<std::size_t>(i)].data.ptr;
      if (of == &stop) return false;
      if (of == &listener)
        accept_some();
      else
        on_event(*static_cast<Connection*>(of), events[static_cast<std::size_t>(i)].events);
    }
    service.expire();
    expire_handshakes();
    if (Clock::now() >= accept_again) {
      accept_again = Clock::time_point::max();
      watch(poller.get(), EPOLL_CTL_MOD, listener.get(), EPOLLIN, &listener);
    }
    close_broken();
    return true;
  }

  int poll_milliseconds() const {
    Clock::time_point next = std::min(service.next(), accept_again);
    if (!handshakes.empty()) next = std::min(next, handshakes.begin()->first);
    if (next == Clock::time_point::max()) return -1;
    return Deadline(std::chrono::ceil<Milliseconds>(next - Clock::now())).poll_milliseconds();
  }

  void accept_some() {
    for (int i = 0; i < 64; ++i) {
      Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        // Descriptors have run out: waiting for a free one must not keep a core busy.
        watch(poller.get(), EPOLL_CTL_MOD, listener.get(), 0, &listener);
        accept_again = Clock::now() + Milliseconds(100);
      }
      if (!socket) return;
      if (connections.size() >= limits.clients + kRefusedAtATime) continue;
      auto added = std::make_unique<Connection>(std::move(socket), shared);
      Connection* connection = added.get();
      connections.emplace(connection, std::move(added));
      connection->greet_until = Clock::now() + limits.handshake;
      handshakes.emplace(connection->greet_until, connection);
    }
  }

  void on_event(Connection& connection, uint32_t events) {
    if (connection.broken()) return;
    try {
      if ((events & EPOLLOUT) != 0) connection.flush();
      if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0 && connection.receive()) take(connection);
    } catch (const std::exception&) {  // invalid bytes, or out of memory
      connection.fail();
    }
  }

  // Looks at what has been received. Throws Error if it is invalid.
  void take(Connection& connection) {
    if (connection.phase() == Connection::Phase::kHandshake) return greet(connection);
    const Bytes bytes = connection.received();
    const std::optional<std::size_t> length = parse_length(bytes, kMaxRequest);
    if (!length || bytes.size() < kLengthBytes + *length) return;
    Request request = parse_request(bytes.subspan(kLengthBytes));
    connection.begin_request();
    service.handle(connection, std::move(request));
  }

  void greet(Connection& connection) {
    const std::optional<Hello> hello = parse_hello(connection.received());
    if (!hello) return;
    handshakes.erase({connection.greet_until, &connection});
    connection.welcome(hello->version != kProtocolVersion       ? Verdict::kWrongVersion
                       : !same_job_key(hello->job_key, job_key) ? Verdict::kWrongJobKey
                       : connections.size() > limits.clients    ? Verdict::kFull
                                                                : Verdict::kAccepted);
  }

  void expire_handshakes() {
    for (const auto now = Clock::now(); !handshakes.empty() && handshakes.begin()->first <= now;) {
      handshakes.begin()->second->fail();
      handshakes.erase(handshakes.begin());
    }
  }

  void close_broken() {
    for (Connection* connection : std::exchange(shared.broken, {})) {
      service.forget(*connection);
      handshakes.erase({connection->greet_until, connection});
      connections.erase(connection);
    }
  }

  Descriptor listener, poller, stop;
  const std::string job_key;
  const ServerLimits limits;
  const uint32_t process = tandem::detail::this_process();
  StoreService service;
  Connections shared;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections;
  std::set<std::pair<Clock::time_point, Connection*>> handshakes;  // that are not over
  Clock::time_point accept_again = Clock::time_point::max();
  std::thread thread;
};

TCPServer::TCPServer(const std::string& address, uint16_t port, std::string job_key, const ServerLimits& limits) {
  check(job_key.size() <= kMaxJobKey, "TCPStore: the job key has ", job_key.size(), " bytes, at most ", kMaxJobKey,
        " are possible");
  impl_ = std::make_unique<Impl>(listen_on(address, port), std::move(job_key), limits);
  port_ = port_of(impl_->listener);
  impl_->start();
}

TCPServer::~TCPServer() {
  if (impl_->process != tandem::detail::this_process()) {
    // The thread was changing the rest when the process was forked.
    impl_->listener = Descriptor();
    impl_.release();
    return;
  }
  const uint64_t one = 1;
  while (::write(impl_->stop.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  impl_->thread.join();
}

}  // namespace tandem::distributed::detail
