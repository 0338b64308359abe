// Gathers batches on the device.
#include "tandem/datasets/image_loader.h"

#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/data.h"
#include "tandem/datasets/order.h"

namespace tandem::data {
namespace {

// The epoch's order on `device`, copied from pinned memory so the host does not wait.
Tensor order_on(Device device, int64_t count, const BatchLoaderOptions& options) {
  if (!options.shuffle) return arange(count, TensorOptions(kLong).device(optional<Device>(device)));
  const std::vector<int64_t> order = shuffled_order(count, options.seed, options.epoch);
  Tensor here = empty({count}, TensorOptions(kLong));
  if (device.is_cuda()) here = here.pin_memory();
  std::copy(order.begin(), order.end(), here.data_ptr<int64_t>());
  return here.to(device, /*non_blocking=*/true);
}

}  // namespace

ImageLoader::ImageLoader(const ImageData& data, const BatchLoaderOptions& options, const PixelScale& pixels)
    : images_(data.images.contiguous()), labels_(data.labels.contiguous()), pixels_(pixels) {
  check(images_.dtype() == kUInt8 && (images_.dim() == 3 || images_.dim() == 4),
        "ImageLoader: images must be uint8 [N, height, width] or [N, C, height, width], got ", images_);
  check(labels_.dtype() == kLong && labels_.dim() == 1 && labels_.size(0) == images_.size(0) &&
            labels_.device() == images_.device(),
        "ImageLoader: labels must be int64 [", images_.size(0), "] on ", images_.device(), ", got ", labels_);
  check(options.batch_size >= 1, "ImageLoader: batch_size = ", options.batch_size, ", expected at least 1");
  const int64_t examples = images_.size(0);
  batch_size_ = options.batch_size;
  part_ = options.part;
  part_.check_for("ImageLoader", batch_size_);
  batches_ = batch_count(examples, batch_size_, options.drop_last, part_);
  check(options.first_batch >= 0 && options.first_batch <= batches_, "ImageLoader: first_batch = ", options.first_batch,
        ", but the epoch has ", batches_, " batches");
  position_ = options.first_batch;
  sizes_ = Dims(images_.sizes());
  if (sizes_.size() == 3) sizes_.insert(1, 1);
  order_ = order_on(images_.device(), examples, options);
}

std::optional<ImageLoader::Batch> ImageLoader::next() {
  const Exclusive::Use use(exclusive_, "ImageLoader.next");
  if (position_ >= batches_) return std::nullopt;
  const int64_t first = position_++ * batch_size_;
  const auto [begin, end] = part_.range(std::min(batch_size_, images_.size(0) - first));
  const int64_t count = end - begin;
  sizes_[0] = count;
  Batch batch{empty_raw(sizes_, kFloat, images_.device()), empty_raw({count}, kLong, images_.device())};
  backend(images_).data.gather_normalized(batch.images, batch.labels, images_, labels_,
                                          alias(order_, {count}, {1}, first + begin), pixels_);
  return batch;
}

}  // namespace tandem::data
