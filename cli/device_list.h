// The devices that a command names: checked, made where they are logical, and described.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/device.h"

namespace tandem::cli {

/// Where a model is trained.
struct Placement {
  std::vector<Device> devices;
  Device root;         ///< one of them: keeps the parameters
  int64_t shards = 0;  ///< fixed pieces of a batch; 0: a piece a device
  bool by_server() const { return devices.size() > 1 || shards > 0; }
};

/// "cpu:0,cpu:1"
std::string names_of(const std::vector<Device>& devices);
/// The same, for people: "cuda:0 to cuda:7" where there are many.
std::string short_names_of(const std::vector<Device>& devices);
/// "cpu:0,cpu:1" → its parts; "" has one, which is empty.
std::vector<std::string> split_names(const std::string& list);

/// The devices of these names; the best present where there are none. Makes as many logical CPU devices as
/// are asked for, unless TANDEM_CPU_DEVICES says how many there are. Throws UsageError, which begins with
/// `option`, on a name that is unknown, absent (it says which exist) or twice there.
std::vector<Device> use_devices(const std::string& option, const std::vector<std::string>& names);
/// With a root among them: the first where `root` is empty. Throws UsageError.
Placement use_placement(const std::vector<std::string>& names, const std::string& root, int64_t shards);

/// What they stand on: "2 logical devices of one processor, AMD EPYC, 1 thread each".
std::string describe_devices(const std::vector<Device>& devices);
/// Whether several of them are parts of one GPU.
bool share_a_card(const std::vector<Device>& devices);

}  // namespace tandem::cli
