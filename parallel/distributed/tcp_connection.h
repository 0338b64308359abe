// A client of the server of a TCPStore: its socket, the bytes of its unfinished request, and its reply.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store_service.h"

namespace tandem::distributed::detail {

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
  Connection(Descriptor socket, Connections& all);
  ~Connection() override;

  enum class Phase : uint8_t {
    kHandshake,
    kReady,   ///< for the next request
    kBusy,    ///< a request has not been answered completely
    kRefused  ///< will be closed once it knows why
  };
  Phase phase() const { return phase_; }
  bool broken() const { return broken_; }
  /// Will be closed at the end of the round.
  void fail();
  /// Reads what has come. False, after fail(), if the other side has closed, or sent bytes at the wrong time.
  bool receive();
  /// What has been received since the last reply.
  Bytes received() const { return bytes_of(in_); }
  void begin_request() { phase_ = Phase::kBusy; }
  void welcome(Verdict verdict);
  void reply(Status status, int64_t number, Value text) override;
  /// Goes on sending.
  void flush();

  Deadline::Clock::time_point greet_until;

 private:
  bool sending() const { return !head_.empty(); }
  std::ptrdiff_t send_rest();
  void finish();
  void poll_output(bool on);
  Descriptor socket_;
  Connections& all_;
  Phase phase_ = Phase::kHandshake;
  bool broken_ = false, polls_output_ = false;
  std::string in_, head_;
  Value text_;            // follows head_
  std::size_t sent_ = 0;  // of both
};

/// Registers a descriptor for events, which come with the pointer `of`. `operation` as for epoll_ctl.
void watch(int poller, int operation, int fd, uint32_t events, void* of);

}  // namespace tandem::distributed::detail
