// TCP sockets with deadlines. All are non-blocking and close-on-exec, and none raises SIGPIPE. Failures throw
// DistributedError with the system's reason.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tandem/core/base/descriptor.h"
#include "tandem/parallel/distributed/deadline.h"
#include "tandem/parallel/distributed/store.h"

struct addrinfo;

namespace tandem::distributed::detail {

using tandem::detail::Descriptor;

/// "host:port", or "[host]:port" for IPv6 addresses.
std::string endpoint(const std::string& host, uint16_t port);

struct FreeAddresses {
  void operator()(addrinfo* list) const;
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;
/// TCP addresses of a name; asks a name server again until the deadline if it does not answer.
Addresses resolve(const std::string& host, uint16_t port, const Deadline& deadline);
/// Whether the first address of the name is a loopback address. False if it is unknown.
bool is_loopback(const std::string& host);

/// Listens at the first address of `host` that belongs to this machine. Port 0: any free port.
Descriptor listen_on(const std::string& host, uint16_t port);
uint16_t port_of(const Descriptor& listening);

/// One attempt at every address. Returns none, and says why in `reason`, if nothing answers.
Descriptor try_connect(const addrinfo* addresses, const Deadline& deadline, std::string& reason);

/// TCP_NODELAY, and a probe that finds out when the other machine is gone.
void set_options(int fd);

/// The connection broke, or the other side did not answer in time.
class ConnectionLost : public DistributedError {
  using DistributedError::DistributedError;
};

/// Sends everything, or throws ConnectionLost.
void send_all(const Descriptor& socket, std::string_view bytes, const Deadline& deadline);
/// Appends up to `bytes` bytes to `to`; returns once there are some, or throws ConnectionLost.
void receive_some(const Descriptor& socket, std::size_t bytes, std::string& to, const Deadline& deadline);

}  // namespace tandem::distributed::detail
