// Images on a GPU are gathered and scaled there; others are processed by the loader's threads.
#include "tandem/cli/train/batches.h"

#include "tandem/autograd/ops.h"
#include "tandem/cli/text/text_data.h"
#include "tandem/cli/train/augmentation.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"

namespace tandem::cli {
namespace {

// uint8 images of the data set's rows, which may be positions of files.
Tensor changed(const Tensor& rows, const ImageFiles* files,
               const std::optional<vision::transforms::Compose>& transform) {
  if (files != nullptr) return files->read(rows, transform ? &*transform : nullptr);
  if (!transform) return rows;
  std::vector<Tensor> images{rows.dim() == 3 ? rows.unsqueeze(1) : rows};
  vision::transforms::for_batches (*transform)(images);
  return images[0];
}

}  // namespace

ImageSet placed(const ImageSet& data, Device device) {
  if (data.files != nullptr || is_text(data)) return data;  // windows of tokens overlap, so a copy would be larger
  const auto room = static_cast<std::size_t>(backend(device).runtime.device_info(device.index()).memory_free);
  if (device.is_cuda() && data.images.nbytes() + data.labels.nbytes() > room / 4) return data;
  return {{data.images.to(device), data.labels.to(device), data.classes}};
}

ImageSet placed_for(const Recipe& recipe, const ImageSet& data, Device device) {
  return changes_each_image(recipe) ? data : placed(data, device);
}

Batches::Batches(const ImageSet& data, const Recipe& recipe, const data::BatchLoaderOptions& options,
                 const std::optional<Stream>& side) {
  const std::vector<Tensor> rows{data.images, data.labels};
  if (data.images.is_cuda()) {
    data::BatchLoaderOptions there = options;
    there.pixels = PixelScale();
    loader_.emplace(rows, there);
    return;
  }
  std::optional<vision::transforms::Compose> transform;
  if (!is_text(data)) {
    const std::vector<int64_t> shape = data.shape();
    transform = image_transform(recipe, {shape[1], shape[2]}, data.files != nullptr);
  }
  loader_.emplace(rows, options, [files = data.files, transform](std::vector<Tensor>& batch) {
    batch[0] = to_input(changed(batch[0], files.get(), transform));
  });
  if (side) feeder_.emplace(*loader_, *side);
}

std::vector<Tensor> Batches::next() {
  auto batch = feeder_ ? feeder_->next() : loader_->next();
  return batch ? std::move(*batch) : std::vector<Tensor>();
}

}  // namespace tandem::cli
