// The server of a TCPStore: one thread that serves all clients. A client that sends anything but a valid handshake
// and valid requests, one at a time, loses its connection; the others do not notice.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/parallel/distributed/key_values.h"

namespace tandem::distributed::detail {

struct ServerLimits {
  std::size_t clients = 4096;                     ///< connections; later ones are refused
  std::size_t stored = KeyValues::kMaxBytes;      ///< bytes of all entries
  std::size_t received = std::size_t{256} << 20;  ///< bytes of all unfinished requests
  std::chrono::milliseconds handshake{10'000};    ///< after which a silent connection is closed
};

class TCPServer {
 public:
  /// Listens on `address`, port 0 meaning any free one. Throws DistributedError if that is impossible, Error if the
  /// key is too long.
  TCPServer(const std::string& address, uint16_t port, std::string job_key, const ServerLimits& limits = {});
  /// Closes all connections. In a forked child, which does not have the thread, only the child's copy of the
  /// listening socket is closed.
  ~TCPServer();
  TCPServer(const TCPServer&) = delete;
  TCPServer& operator=(const TCPServer&) = delete;
  uint16_t port() const { return port_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  uint16_t port_ = 0;
};

}  // namespace tandem::distributed::detail
