// The devices, threads and workers that a command names: checks them, creates logical CPU devices, and describes them.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/train/team.h"
#include "tandem/core/device.h"

namespace tandem::cli {

/// Where a model is trained.
struct Placement {
  std::vector<Device> devices;
  Device root;                 ///< the one of them that keeps the parameters
  int64_t shards = 0;          ///< fixed number of pieces of a batch; 0: one piece per device
  Team team{};                 ///< the processes that train with it, each on its own devices
  bool fully_sharded = false;  ///< each of the team's processes, at least one, keeps a slice of the model
  bool by_server() const { return devices.size() > 1 || shards > 0 || team.several(); }
};

/// "cpu:0" or "cuda:1". With the index also where there is only one CPU device, because files and lists keep the name.
std::string name_of(Device device);
/// "cpu:0,cpu:1"
std::string names_of(const std::vector<Device>& devices);
/// The same, shorter for display: "cuda:0 to cuda:7" for more than three consecutive devices.
std::string short_names_of(const std::vector<Device>& devices);

/// The devices with these names; the best available if there are none. Creates as many logical CPU devices as are asked
/// for, unless TANDEM_CPU_DEVICES fixes their number. Throws UsageError, with a message that starts with `option`, if a
/// name is unknown, does not exist (the message lists the devices that do), or is listed twice.
std::vector<Device> use_devices(const std::string& option, const std::vector<std::string>& names);
/// The same with a root among the devices: the first if `root` is empty. Throws UsageError.
Placement use_placement(const std::vector<std::string>& names, const std::string& root, int64_t shards);

/// Their hardware: "2 logical devices on one CPU, AMD EPYC, 1 thread each".
std::string describe_devices(const std::vector<Device>& devices);
/// Whether several of them are parts of one GPU.
bool share_a_gpu(const std::vector<Device>& devices);

/// The device that --device names, as use_devices does; the best available if `name` is empty.
Device use_device(const std::string& name);
/// Throws UsageError if that many workers cannot be started.
void check_workers(int workers);
/// Sets the number of CPU threads and starts them; 0 keeps the default. Throws UsageError if it fails.
void use_threads(int threads);

}  // namespace tandem::cli
