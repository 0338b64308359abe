// DeviceFeeder copies a BatchLoader's batches to a device, one batch ahead of their use. It is not part of
// the loader, because its stream must outlive the epoch.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/stream.h"
#include "tandem/datasets/loader.h"

namespace tandem::data {

class DeviceFeeder {
 public:
  /// Takes batches from `loader` (with pin_memory, so the host need not wait) and copies them on `side`, a
  /// stream of the device. Both must outlive the feeder; use one stream for all epochs, because memory is
  /// tied to it. The loader is one batch ahead of what next() has returned, and that batch is lost with the
  /// feeder: to continue after the last returned batch, set first_batch.
  DeviceFeeder(BatchLoader& loader, const Stream& side) : loader_(loader), side_(side) { fetch(); }
  /// The next batch on the device, ordered with the current stream; nullopt after the last. Throws what the
  /// loader throws for the batch after it.
  std::optional<std::vector<Tensor>> next();

 private:
  void fetch();
  BatchLoader& loader_;
  const Stream& side_;
  std::optional<std::vector<Tensor>> ahead_;
  std::optional<Event> ready_;
};

}  // namespace tandem::data
