// Images on a GPU are gathered and scaled there; others are processed by the loader's threads.
#include "tandem/cli/batches.h"

#include "tandem/cli/evaluate.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/datasets/loader.h"

namespace tandem::cli {

data::ImageData placed(const data::ImageData& data, Device device) {
  const auto room = static_cast<std::size_t>(backend(device).runtime.device_info(device.index()).memory_free);
  if (device.is_cuda() && data.images.nbytes() + data.labels.nbytes() > room / 4) return data;
  return {data.images.to(device), data.labels.to(device), data.classes};
}

Batches::Batches(const data::ImageData& data, const data::BatchLoaderOptions& options,
                 const std::optional<Stream>& side) {
  if (data.images.is_cuda()) {
    images_.emplace(data, options);
    count_ = images_->batches();
    return;
  }
  loader_.emplace(std::vector<Tensor>{data.images, data.labels}, options,
                  [](std::vector<Tensor>& batch) { batch[0] = to_input(batch[0]); });
  count_ = loader_->batches();
  if (side) feeder_.emplace(*loader_, *side);
}

std::vector<Tensor> Batches::next() {
  if (images_) {
    auto batch = images_->next();
    return batch ? std::vector<Tensor>{batch->images, batch->labels} : std::vector<Tensor>();
  }
  auto batch = feeder_ ? feeder_->next() : loader_->next();
  return batch ? std::move(*batch) : std::vector<Tensor>();
}

}  // namespace tandem::cli
