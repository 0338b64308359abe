#include "tandem/parallel/distributed/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tandem/core/base/suggest.h"
#include "tandem/core/error.h"

namespace tandem::distributed {

namespace {

bool is_address(const std::string& text) {
  in6_addr parsed;
  return inet_pton(AF_INET, text.c_str(), &parsed) == 1 || inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

void check_interface(const std::string& wanted) {
  ifaddrs* list = nullptr;
  check(getifaddrs(&list) == 0, "process group: the network interfaces cannot be listed");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<std::string> names;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next)
    if (std::find(names.begin(), names.end(), at->ifa_name) == names.end()) names.emplace_back(at->ifa_name);
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return;
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  fail("process group: this machine has no network interface \"", wanted, "\", only ", all,
       did_you_mean(wanted, names));
}

std::string text_of(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = "";
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

// The local address of the route to `host`; empty if there is none. Connecting a UDP socket sends nothing.
std::string route_to(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    const bool good = connect(fd, at->ai_addr, at->ai_addrlen) == 0 &&
                      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0;
    close(fd);
    if (!good) continue;
    std::string address = text_of(reinterpret_cast<const sockaddr*>(&own), length);
    if (!address.empty() && address.find('%') == std::string::npos) return address;
  }
  return "";
}

}  // namespace

std::string choose_interface(const std::string& wanted, const std::string& master) {
  std::string chosen = wanted;
  if (const char* given = std::getenv("TANDEM_INTERFACE"); chosen.empty() && given != nullptr) chosen = given;
  if (!chosen.empty()) {
    if (!is_address(chosen)) check_interface(chosen);
    return chosen;
  }
  if (master.empty() || master == "localhost" || is_loopback(master)) return "127.0.0.1";
  std::string address = route_to(master);
  // A machine often gives its own name a loopback address, which others cannot reach; 192.0.2.1 is a documentation
  // address, so this asks for the default route.
  if (is_loopback(address)) address = route_to("192.0.2.1");
  return address.empty() ? "127.0.0.1" : address;
}

}  // namespace tandem::distributed
