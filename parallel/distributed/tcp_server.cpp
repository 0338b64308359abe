#include "tandem/parallel/distributed/tcp_server.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/tcp_connection.h"

namespace tandem::distributed::detail {
namespace {

using Clock = Deadline::Clock;
// Connections beyond the limit that get a message before they are closed.
constexpr std::size_t kRefusedAtATime = 64;

Descriptor checked(int fd, const char* what) {
  if (fd < 0) throw DistributedError(concat("TCPStore: ", what, ": ", std::generic_category().message(errno)));
  return Descriptor(fd);
}

}  // namespace

struct TCPServer::Impl {
  Impl(Descriptor listening, std::string key, const ServerLimits& most);
  void start();
  void run();
  bool round();
  void accept_some();
  void on_event(Connection& connection, uint32_t events);
  void take(Connection& connection);
  void greet(Connection& connection);
  void expire_handshakes();
  void close_broken();
  int poll_milliseconds() const;

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

TCPServer::Impl::Impl(Descriptor listening, std::string key, const ServerLimits& most)
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

void TCPServer::Impl::start() {
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

void TCPServer::Impl::run() {
  for (bool going = true; going;) {
    try {
      going = round();
    } catch (const std::exception&) {
      // Out of memory. Events that were not handled come again.
    }
  }
}

// Handles one batch of events; false once the server is to end.
bool TCPServer::Impl::round() {
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

int TCPServer::Impl::poll_milliseconds() const {
  Clock::time_point next = std::min(service.next(), accept_again);
  if (!handshakes.empty()) next = std::min(next, handshakes.begin()->first);
  if (next == Clock::time_point::max()) return -1;
  return Deadline(std::chrono::ceil<Milliseconds>(next - Clock::now())).poll_milliseconds();
}

void TCPServer::Impl::accept_some() {
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

void TCPServer::Impl::on_event(Connection& connection, uint32_t events) {
  if (connection.broken()) return;
  try {
    if ((events & EPOLLOUT) != 0) connection.flush();
    if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0 && connection.receive()) take(connection);
  } catch (const std::exception&) {  // invalid bytes, or out of memory
    connection.fail();
  }
}

// Looks at what has been received. Throws Error if it is invalid.
void TCPServer::Impl::take(Connection& connection) {
  if (connection.phase() == Connection::Phase::kHandshake) return greet(connection);
  const Bytes bytes = connection.received();
  const std::optional<std::size_t> length = parse_length(bytes, kMaxRequest);
  if (!length || bytes.size() < kLengthBytes + *length) return;
  Request request = parse_request(bytes.subspan(kLengthBytes));
  connection.begin_request();
  service.handle(connection, std::move(request));
}

void TCPServer::Impl::greet(Connection& connection) {
  const std::optional<Hello> hello = parse_hello(connection.received());
  if (!hello) return;
  handshakes.erase({connection.greet_until, &connection});
  connection.welcome(hello->version != kProtocolVersion       ? Verdict::kWrongVersion
                     : !same_job_key(hello->job_key, job_key) ? Verdict::kWrongJobKey
                     : connections.size() > limits.clients    ? Verdict::kFull
                                                              : Verdict::kAccepted);
}

void TCPServer::Impl::expire_handshakes() {
  for (const auto now = Clock::now(); !handshakes.empty() && handshakes.begin()->first <= now;) {
    handshakes.begin()->second->fail();
    handshakes.erase(handshakes.begin());
  }
}

void TCPServer::Impl::close_broken() {
  for (Connection* connection : std::exchange(shared.broken, {})) {
    service.forget(*connection);
    handshakes.erase({connection->greet_until, connection});
    connections.erase(connection);
  }
}

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
