#include "tandem/parallel/distributed/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

namespace tandem::distributed::detail {
namespace {

std::string text_of(int error_number) { return std::generic_category().message(error_number); }

void set_flag(int fd, int level, int option, int value = 1) {
  ::setsockopt(fd, level, option, &value, sizeof value);  // every option is only an improvement
}

Descriptor open_socket(const addrinfo& address) {
  return Descriptor(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

// Waits until the socket is ready for `events`; false when the time is over.
bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  while (true) {
    const int ready = ::poll(&entry, 1, deadline.poll_milliseconds());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw DistributedError("poll: " + text_of(errno));
    if (deadline.over()) return false;
  }
}

// After a call that has failed: waits until it may succeed, or throws ConnectionLost.
void wait_to_repeat(const Descriptor& socket, short events, const Deadline& deadline) {
  if (errno == EINTR) return;
  if (errno != EAGAIN && errno != EWOULDBLOCK) throw ConnectionLost(text_of(errno));
  if (!wait_for(socket.get(), events, deadline)) throw ConnectionLost("no answer in time");
}

// 0, or the error number of the failure.
int connect_within(int fd, const addrinfo& address, const Deadline& deadline) {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!wait_for(fd, POLLOUT, deadline)) return ETIMEDOUT;
  int error_number = 0;
  socklen_t size = sizeof error_number;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &size);
  return error_number;
}

// While nobody listens at a port of this machine, the system may connect a socket to itself.
bool connected_to_itself(int fd) {
  sockaddr_storage mine{}, theirs{};
  socklen_t my_size = sizeof mine, their_size = sizeof theirs;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&mine), &my_size) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &their_size) == 0 && my_size == their_size &&
         std::memcmp(&mine, &theirs, my_size) == 0;
}

}  // namespace

std::string endpoint(const std::string& host, uint16_t port) {
  const bool brackets = host.find(':') != std::string::npos;
  return concat(brackets ? "[" : "", host, brackets ? "]:" : ":", port);
}

void FreeAddresses::operator()(addrinfo* list) const { ::freeaddrinfo(list); }

Addresses resolve(const std::string& host, uint16_t port, const Deadline& deadline) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  while (true) {
    addrinfo* list = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (error == 0) return Addresses(list);
    if (error != EAI_AGAIN || deadline.over())
      throw DistributedError("TCPStore: the host '" + host +
                             "' is unknown: " + (error == EAI_SYSTEM ? text_of(errno) : ::gai_strerror(error)));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

bool is_loopback(const std::string& host) {
  try {
    const Addresses addresses = resolve(host, 0, Deadline(std::chrono::seconds(0)));
    if (addresses->ai_family == AF_INET)
      return ntohl(reinterpret_cast<const sockaddr_in*>(addresses->ai_addr)->sin_addr.s_addr) >> 24 == 127;
    return addresses->ai_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(addresses->ai_addr)->sin6_addr);
  } catch (const DistributedError&) {
    return false;
  }
}

Descriptor listen_on(const std::string& host, uint16_t port) {
  const Addresses addresses = resolve(host, port, Deadline(std::chrono::seconds(5)));
  int error_number = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Descriptor socket = open_socket(*at);
    if (!socket) {
      error_number = errno;
      continue;
    }
    set_flag(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    if (at->ai_family == AF_INET6) set_flag(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 && ::listen(socket.get(), SOMAXCONN) == 0) return socket;
    error_number = errno;
    if (error_number != EADDRNOTAVAIL && error_number != EAFNOSUPPORT) break;
  }
  throw DistributedError(concat("TCPStore: cannot listen on ", endpoint(host, port), ": ", text_of(error_number),
                                error_number == EADDRINUSE ? "; choose another port, or 0 for any free one"
                                : error_number == EADDRNOTAVAIL
                                    ? "; the server must run on the machine that has this address"
                                    : ""));
}

uint16_t port_of(const Descriptor& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw DistributedError("getsockname: " + text_of(errno));
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Descriptor try_connect(const addrinfo* addresses, const Deadline& deadline, std::string& reason) {
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    Descriptor socket = open_socket(*at);
    if (!socket) {
      if (errno != EAFNOSUPPORT) throw DistributedError("TCPStore: cannot open a socket: " + text_of(errno));
      continue;
    }
    // An address that swallows packets must not use up the time of the others.
    const int error_number = connect_within(socket.get(), *at, deadline.sooner(std::chrono::seconds(5)));
    if (error_number == 0 && !connected_to_itself(socket.get())) {
      set_options(socket.get());
      return socket;
    }
    reason = text_of(error_number == 0 ? ECONNREFUSED : error_number);
  }
  return Descriptor();
}

void set_options(int fd) {
  set_flag(fd, IPPROTO_TCP, TCP_NODELAY);
  set_flag(fd, SOL_SOCKET, SO_KEEPALIVE);
  set_flag(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_flag(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
}

void send_all(const Descriptor& socket, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else
      wait_to_repeat(socket, POLLOUT, deadline);
  }
}

void receive_some(const Descriptor& socket, std::size_t bytes, std::string& to, const Deadline& deadline) {
  std::array<char, 1 << 14> block;
  while (true) {
    const ssize_t got = ::recv(socket.get(), block.data(), std::min(bytes, block.size()), 0);
    if (got > 0) {
      to.append(block.data(), static_cast<std::size_t>(got));
      return;
    }
    if (got == 0) throw ConnectionLost("the other side closed the connection");
    wait_to_repeat(socket, POLLIN, deadline);
  }
}

}  // namespace tandem::distributed::detail
