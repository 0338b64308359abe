// The network interface that engines use.
#pragma once
#include <string>

namespace tandem::distributed {

/// `wanted` (an interface or a local address), else TANDEM_INTERFACE, else the local address that reaches `master`:
/// 127.0.0.1 if that is empty or this machine's loopback. Throws Error if there is no such interface.
std::string choose_interface(const std::string& wanted, const std::string& master);

}  // namespace tandem::distributed
