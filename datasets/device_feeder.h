// DeviceFeeder: batches of a loader on the host, one of them on its way to the device while the one before it
// is used.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/stream.h"
#include "tandem/datasets/loader.h"

namespace tandem::data {

class DeviceFeeder {
 public:
  /// Takes batches of `loader` (with pin_memory, so that the host need not wait) and copies them in `side`, a
  /// stream of the device. Both outlive this; use one stream for all epochs, memory goes with it. The loader
  /// is one batch ahead of what next() gave, and that batch goes with the feeder: go on behind it with
  /// first_batch.
  DeviceFeeder(BatchLoader& loader, const Stream& side) : loader_(loader), side_(side) { fetch(); }
  /// The next batch on the device, in order of the current stream; nothing after the last. Throws what the
  /// loader throws for the batch behind it.
  std::optional<std::vector<Tensor>> next();

 private:
  void fetch();
  BatchLoader& loader_;
  const Stream& side_;
  std::optional<std::vector<Tensor>> ahead_;
  std::optional<Event> ready_;
};

}  // namespace tandem::data
