// The jobs of the JobQueue share the State, which is constant after construction except for the consumer's
// counters.
#include "tandem/datasets/loader.h"

#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/core/base/exclusive.h"
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

// The epoch's order for each tensor, on its device; undefined if it is 0, 1, 2, …
std::vector<Tensor> orders_for(const std::vector<Tensor>& tensors, const BatchLoaderOptions& options) {
  std::vector<Tensor> out(tensors.size());
  if (!options.shuffle) return out;
  const std::vector<int64_t> order = shuffled_order(tensors[0].size(0), options.seed, options.epoch);
  Tensor here = empty_raw({tensors[0].size(0)}, kLong, Device(kCPU, 0));
  std::copy(order.begin(), order.end(), here.data_ptr<int64_t>());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    out[i] = i > 0 && out[i - 1].device() == tensors[i].device() ? out[i - 1] : here.to(tensors[i].device());
  return out;
}

}  // namespace

struct BatchLoader::State {
  BatchLoaderOptions options;
  BatchTransform transform;
  std::vector<Tensor> tensors, orders;
  int64_t examples = 0, batches = 0;
  int64_t asked = 0, position = 0;
  bool pin = false;
  Exclusive exclusive;
  std::unique_ptr<detail::JobQueue> queue;  // last member: its threads end before the others are destroyed

  std::vector<Tensor> rows(int64_t first, int64_t count) const {
    std::vector<Tensor> out;
    out.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) out.push_back(gather(tensors[i], orders[i], first, count));
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
    const std::vector<int64_t> bounds = options.part.bounds(std::min(options.batch_size, examples - first));
    std::vector<Tensor> out =
        transform ? transformed(batch, first, bounds) : rows(first + bounds.front(), bounds.back() - bounds.front());
    if (pin)
      for (Tensor& t : out)
        if (t.is_cpu()) t = t.pin_memory();
    return out;
  }

  void ask() {
    const int64_t ahead = std::max<int64_t>(1, queue->workers() * options.prefetch);
    for (; asked < batches && queue->pending() < ahead; ++asked)
      queue->push(asked, [this, batch = asked](int) { return std::make_shared<std::vector<Tensor>>(make(batch)); });
  }
};

BatchLoader::BatchLoader(std::vector<Tensor> tensors, const BatchLoaderOptions& options, BatchTransform transform)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  check(!tensors.empty(), "BatchLoader: no tensors");
  check(options.batch_size >= 1, "BatchLoader: batch_size = ", options.batch_size, ", expected at least 1");
  check(options.prefetch >= 1, "BatchLoader: prefetch = ", options.prefetch, ", expected at least 1");
  for (Tensor& t : tensors) {
    check(t.dim() > 0, "BatchLoader: a zero-dimensional tensor has no rows");
    check(t.size(0) == tensors[0].size(0), "BatchLoader: tensors have different lengths: ", tensors[0], " and ", t);
    t = t.detach();
  }
  s.options = options;
  s.transform = std::move(transform);
  s.examples = tensors[0].size(0);
  options.part.check_for("BatchLoader", options.batch_size);
  s.batches = batch_count(s.examples, options.batch_size, options.drop_last, options.part);
  check(options.first_batch >= 0 && options.first_batch <= s.batches,
        "BatchLoader: first_batch = ", options.first_batch, ", but the epoch has ", s.batches, " batches");
  s.asked = s.position = options.first_batch;
  s.orders = orders_for(tensors, options);
  const bool on_host = std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.is_cpu(); });
  s.pin = options.pin_memory && on_host && device_count(kCUDA) > 0;
  s.tensors = std::move(tensors);
  s.queue = std::make_unique<detail::JobQueue>(on_host ? options.workers : 0);
  if (on_host && options.workers > 0) s.ask();
}

BatchLoader::~BatchLoader() = default;
BatchLoader::BatchLoader(BatchLoader&&) noexcept = default;
BatchLoader& BatchLoader::operator=(BatchLoader&&) noexcept = default;

std::optional<std::vector<Tensor>> BatchLoader::next() {
  State& s = *state_;
  const Exclusive::Use use(s.exclusive, "BatchLoader.next");
  s.ask();
  if (s.queue->pending() == 0) return std::nullopt;
  ++s.position;
  const auto batch = std::static_pointer_cast<std::vector<Tensor>>(s.queue->pop());
  s.ask();
  return std::move(*batch);
}

int64_t BatchLoader::batches() const { return state_->batches; }
int64_t BatchLoader::position() const { return state_->position; }
int64_t BatchLoader::examples() const { return state_->examples; }

}  // namespace tandem::data
