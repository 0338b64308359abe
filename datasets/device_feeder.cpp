// Copies run in a separate stream.
#include "tandem/datasets/device_feeder.h"

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"

namespace tandem::data {

void DeviceFeeder::fetch() {
  ahead_ = loader_.next();
  if (!ahead_) return;
  const StreamGuard guard(side_);
  for (Tensor& t : *ahead_) t = t.to(side_.device(), /*non_blocking=*/true);
  ready_.emplace(side_.device().type());
  ready_->record(side_);
}

std::optional<std::vector<Tensor>> DeviceFeeder::next() {
  if (!ahead_) return std::nullopt;
  const Stream current = Stream::current(side_.device());
  ready_->wait(current);
  const RuntimeKernels& runtime = backend(side_.device()).runtime;
  for (const Tensor& t : *ahead_) runtime.record_stream(t.device(), t.storage()->data(), current.handle());
  std::optional<std::vector<Tensor>> out = std::move(ahead_);
  fetch();
  return out;
}

}  // namespace tandem::data
