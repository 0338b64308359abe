// BatchLoader on the engine of all loaders. Its jobs share the State, which is constant after construction except for the
// consumer's counters.
#include "tandem/datasets/loader.h"

#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/data.h"
#include "tandem/datasets/loader_core.h"
#include "tandem/datasets/order.h"

namespace tandem::data {
namespace {

// A batch in its own memory, so an in-place transform never modifies the data set.
Tensor gather(const Tensor& rows, const Tensor& order, int64_t first, int64_t count) {
  if (order.defined()) return rows.detach().index_select(0, alias(order, {count}, {1}, first));
  Dims sizes(rows.sizes());
  sizes[0] = count;
  Tensor out = empty_raw(sizes, rows.dtype(), rows.device());
  copy_raw(out, alias(rows, sizes, rows.strides(), rows.storage_offset() + first * rows.stride(0)));
  return out;
}

// The epoch's order on `device`. For `pixels` it is copied from pinned memory so the host does not wait. If it is 0, 1, 2, …,
// it is undefined, but for `pixels`.
Tensor order_on(Device device, int64_t count, const BatchLoaderOptions& options) {
  const bool pixels = options.pixels.has_value();
  if (!options.shuffle) return pixels ? arange(count, TensorOptions(kLong).device(optional<Device>(device))) : Tensor();
  const std::vector<int64_t> order = shuffled_order(count, options.seed, options.epoch);
  Tensor here = empty_raw({count}, kLong, Device(kCPU, 0));
  if (device.is_cuda() && pixels) here = here.pin_memory();
  std::copy(order.begin(), order.end(), here.data_ptr<int64_t>());
  return here.to(device, /*non_blocking=*/pixels);
}

void check_images(const std::vector<Tensor>& tensors) {
  check(tensors.size() == 2, "BatchLoader: with pixels, expected images and labels, got ", tensors.size(), " tensors");
  const Tensor &images = tensors[0], &labels = tensors[1];
  check(images.dtype() == kUInt8 && (images.dim() == 3 || images.dim() == 4),
        "BatchLoader: images must be uint8 [N, height, width] or [N, C, height, width], got ", images);
  check(labels.dtype() == kLong && labels.dim() == 1 && labels.device() == images.device(),
        "BatchLoader: labels must be int64 [", images.size(0), "] on ", images.device(), ", got ", labels);
}

DataLoaderOptions core_options(const BatchLoaderOptions& options, bool on_host) {
  constexpr int64_t kMaxAhead = 1 << 20;  // of a worker
  const auto workers = static_cast<std::size_t>(on_host ? options.workers : 0);
  return DataLoaderOptions(static_cast<std::size_t>(options.batch_size))
      .workers(workers)
      .max_jobs(workers * static_cast<std::size_t>(std::min(options.prefetch, kMaxAhead)));
}

}  // namespace

class BatchLoader::State final : public detail::LoaderCore {
 public:
  State(std::vector<Tensor> rows, int64_t count, const BatchLoaderOptions& given, BatchTransform change, bool on_host)
      : LoaderCore(core_options(given, on_host), given.seed, ~std::size_t{0}),
        batches(count),
        options(given),
        transform(std::move(change)),
        tensors(std::move(rows)),
        pin(options.pin_memory && on_host && device_count(kCUDA) > 0) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (options.pixels) tensors[i] = tensors[i].contiguous();
      const Device device = tensors[i].device();
      orders.push_back(i > 0 && tensors[i - 1].device() == device ? orders[i - 1]
                                                                  : order_on(device, examples(), options));
    }
  }
  ~State() override { stop(); }

  int64_t examples() const { return tensors[0].size(0); }
  // Not in the constructor: workers use this object, which the destructor stops.
  void begin() {
    load_state({options.seed, 0, options.first_batch});
    begin_epoch();
  }
  std::optional<std::vector<Tensor>> next() {
    const Exclusive::Use use(exclusive, "BatchLoader.next");
    const auto batch =
        std::static_pointer_cast<std::vector<Tensor>>(LoaderCore::next(nullptr));  // there is no other loop
    return batch ? std::optional(std::move(*batch)) : std::nullopt;
  }

  const int64_t batches;

 protected:
  int64_t start_epoch(int64_t epoch, bool) override { return epoch; }
  bool skip_batch() override { return asked() < batches; }
  detail::JobQueue::Job next_job() override {
    if (asked() >= batches) return {};
    return [this, batch = asked()](int) { return std::make_shared<std::vector<Tensor>>(make(batch)); };
  }
  bool always_wraps() const override { return !options.pixels || transform; }

 private:
  std::vector<Tensor> rows(int64_t first, int64_t count) const {
    if (options.pixels) return images(first, count);
    std::vector<Tensor> out;
    out.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) out.push_back(gather(tensors[i], orders[i], first, count));
    return out;
  }

  std::vector<Tensor> images(int64_t first, int64_t count) const {
    Dims sizes(tensors[0].sizes());
    if (sizes.size() == 3) sizes.insert(1, 1);
    sizes[0] = count;
    std::vector<Tensor> out{empty_raw(sizes, kFloat, tensors[0].device()),
                            empty_raw({count}, kLong, tensors[0].device())};
    backend(tensors[0])
        .data.gather_normalized(out[0], out[1], tensors[0], tensors[1], alias(orders[0], {count}, {1}, first),
                                *options.pixels);
    return out;
  }

  // Applies the transform to each shard, so that its random numbers do not depend on the processes.
  std::vector<Tensor> transformed(int64_t batch, int64_t first, const std::vector<int64_t>& bounds) const {
    std::vector<std::vector<Tensor>> columns;
    for (std::size_t k = 1; k < bounds.size(); ++k) {
      std::vector<Tensor> piece = rows(first + bounds[k - 1], bounds[k] - bounds[k - 1]);
      const GeneratorGuard random(batch_generator(options.seed, options.epoch, batch, bounds[k - 1]));
      transform(piece);
      columns.resize(piece.size());
      for (std::size_t i = 0; i < piece.size(); ++i) columns[i].push_back(std::move(piece[i]));
    }
    std::vector<Tensor> out;
    for (auto& column : columns) out.push_back(column.size() == 1 ? std::move(column[0]) : cat(column));
    return out;
  }

  std::vector<Tensor> make(int64_t batch) const {
    const int64_t first = batch * options.batch_size;
    const std::vector<int64_t> bounds = options.part.bounds(std::min(options.batch_size, examples() - first));
    std::vector<Tensor> out =
        transform ? transformed(batch, first, bounds) : rows(first + bounds.front(), bounds.back() - bounds.front());
    if (pin)
      for (Tensor& t : out)
        if (t.is_cpu()) t = t.pin_memory();
    return out;
  }

  const BatchLoaderOptions options;
  const BatchTransform transform;
  std::vector<Tensor> tensors, orders;  // one order for each tensor
  const bool pin;
  Exclusive exclusive;
};

BatchLoader::BatchLoader(std::vector<Tensor> tensors, const BatchLoaderOptions& options, BatchTransform transform) {
  check(!tensors.empty(), "BatchLoader: no tensors");
  check(options.batch_size >= 1, "BatchLoader: batch_size = ", options.batch_size, ", expected at least 1");
  check(options.prefetch >= 1, "BatchLoader: prefetch = ", options.prefetch, ", expected at least 1");
  for (Tensor& t : tensors) {
    check(t.dim() > 0, "BatchLoader: a zero-dimensional tensor has no rows");
    check(t.size(0) == tensors[0].size(0), "BatchLoader: tensors have different lengths: ", tensors[0], " and ", t);
    t = t.detach();
  }
  if (options.pixels) check_images(tensors);
  options.part.check_for("BatchLoader", options.batch_size);
  const bool on_host = std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.is_cpu(); });
  check(!on_host || (options.workers >= 0 && options.workers <= 1024), "data loader: workers = ", options.workers,
        ", expected 0 to 1024");
  const int64_t batches = batch_count(tensors[0].size(0), options.batch_size, options.drop_last, options.part);
  check(options.first_batch >= 0 && options.first_batch <= batches, "BatchLoader: first_batch = ", options.first_batch,
        ", but the epoch has ", batches, " batches");
  state_ = std::make_unique<State>(std::move(tensors), batches, options, std::move(transform), on_host);
  state_->begin();
}

BatchLoader::~BatchLoader() = default;
BatchLoader::BatchLoader(BatchLoader&&) noexcept = default;
BatchLoader& BatchLoader::operator=(BatchLoader&&) noexcept = default;

std::optional<std::vector<Tensor>> BatchLoader::next() { return state_->next(); }
int64_t BatchLoader::batches() const { return state_->batches; }
int64_t BatchLoader::position() const { return state_->position(); }
int64_t BatchLoader::examples() const { return state_->examples(); }

}  // namespace tandem::data
