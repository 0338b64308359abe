#include "tandem/parallel/distributed/tcp_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tandem::distributed::detail {

void watch(int poller, int operation, int fd, uint32_t events, void* of) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = of;
  if (::epoll_ctl(poller, operation, fd, &event) != 0)
    throw DistributedError("TCPStore: epoll_ctl: " + std::generic_category().message(errno));
}

Connection::Connection(Descriptor socket, Connections& all) : socket_(std::move(socket)), all_(all) {
  set_options(socket_.get());
  watch(all_.poller, EPOLL_CTL_ADD, socket_.get(), EPOLLIN | EPOLLRDHUP, this);
}

Connection::~Connection() { all_.received -= in_.size(); }

void Connection::fail() {
  if (broken_) return;
  broken_ = true;
  all_.broken.push_back(this);
}

bool Connection::receive() {
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

void Connection::welcome(Verdict verdict) {
  phase_ = verdict == Verdict::kAccepted ? Phase::kBusy : Phase::kRefused;
  head_ = encode(Welcome{kProtocolVersion, verdict});
  flush();
}

void Connection::reply(Status status, int64_t number, Value text) {
  try {
    head_ = encode_reply_header(status, number, text == nullptr ? 0 : text->size());
    text_ = std::move(text);
    flush();
  } catch (const std::exception&) {  // out of memory
    fail();
  }
}

void Connection::flush() {
  while (sending() && !broken_) {
    const std::ptrdiff_t now = send_rest();
    if (now < 0 && errno == EINTR) continue;
    if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return poll_output(true);
    if (now < 0) return fail();
    sent_ += static_cast<std::size_t>(now);
    if (sent_ == head_.size() + (text_ == nullptr ? 0 : text_->size())) finish();
  }
}

std::ptrdiff_t Connection::send_rest() {
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
void Connection::finish() {
  head_.clear();
  text_ = nullptr;
  sent_ = 0;
  all_.received -= in_.size();
  std::string().swap(in_);
  if (phase_ == Phase::kRefused) return fail();
  phase_ = Phase::kReady;
  poll_output(false);
}

void Connection::poll_output(bool on) {
  if (on == polls_output_) return;
  polls_output_ = on;
  watch(all_.poller, EPOLL_CTL_MOD, socket_.get(), EPOLLIN | EPOLLRDHUP | (on ? EPOLLOUT : 0u), this);
}

}  // namespace tandem::distributed::detail
