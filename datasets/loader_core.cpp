// Jobs are created in the consumer's thread, in order; workers only run them.
#include "tandem/datasets/loader_core.h"

#include <algorithm>

#include "tandem/datasets/order.h"

namespace tandem::data::detail {

LoaderCore::LoaderCore(const DataLoaderOptions& options, optional<uint64_t> seed, size_t max_workers)
    : options_(options), seed_(seed ? *seed : drawn_seed()) {
  check(options_.batch_size > 0, "data loader: batch_size must be at least 1, got 0");
  const auto workers = static_cast<int>(std::min({options_.workers, max_workers, size_t{1} << 20}));
  queue_ = std::make_unique<JobQueue>(workers, options_.enforce_ordering);
}

void LoaderCore::load_state(const LoaderState& state) {
  check(state.epoch >= 0 && state.position >= 0, "data loader: epoch ", state.epoch, ", position ", state.position,
        ": neither may be negative");
  next_ = state;
}

void LoaderCore::join() {
  const Exclusive::Use use(exclusive_, "data loader");
  queue_->cancel();
  loop_.reset();
}

std::shared_ptr<void> LoaderCore::begin_epoch() {
  const Exclusive::Use use(exclusive_, "data loader");
  check(loop_.expired() || queue_->workers() == 0,
        "Attempted to get a new DataLoader iterator while another iterator is not yet exhausted: begin() inside a loop "
        "over the same loader, which would lose the batches that the outer loop has not seen yet; use another loader "
        "for the inner loop, or join() to end the outer one");
  queue_->cancel();
  const optional<LoaderState> chosen = std::exchange(next_, nullopt);
  if (chosen && chosen->seed != seed_) seed_changed(seed_ = chosen->seed);
  epoch_ = start_epoch(chosen ? chosen->epoch : epoch_ + 1, chosen.has_value());
  exhausted_ = false;
  position_ = asked_ = 0;
  for (int64_t skip = chosen ? chosen->position : 0; position_ < skip && !exhausted_;) {
    exhausted_ = !skip_batch();
    if (!exhausted_) asked_ = ++position_;
  }
  if (queue_->workers() > 0) ask();
  auto loop = std::make_shared<char>();
  loop_ = loop;
  return loop;
}

void LoaderCore::ask() {
  // As in LibTorch: without workers, data sets and transforms draw from the generator of the caller.
  const bool shares = queue_->workers() == 0 && generator_mode() == GeneratorMode::kPyTorch;
  const size_t ahead = queue_->workers() == 0 ? 1 : std::max<size_t>(1, options_.max_jobs);
  while (!exhausted_ && queue_->pending() < static_cast<int64_t>(ahead)) {
    JobQueue::Job job = next_job();
    exhausted_ = !job;
    if (exhausted_) return;
    queue_->push(asked_, [job = std::move(job), seed = seed_, epoch = epoch_, batch = asked_, rank = rank(),
                          shares](int worker) {
      std::optional<GeneratorGuard> random;
      if (!shares) random.emplace(batch_generator(seed, epoch, batch, rank));
      return job(worker);
    });
    ++asked_;
  }
}

JobQueue::Result LoaderCore::next(const std::shared_ptr<void>& loop) {
  const Exclusive::Use use(exclusive_, "data loader");
  check(loop_.lock() == loop, "data loader: join() or another begin() has ended the loop of this iterator");
  if (queue_->belongs_to_parent()) loop_.reset();  // the loop cannot continue in a forked child
  ask();
  if (queue_->pending() == 0) {
    loop_.reset();
    return nullptr;
  }
  JobQueue::Result batch;
  try {
    batch = queue_->pop(options_.timeout);
  } catch (const WorkerException& error) {
    ++position_;
    if (queue_->workers() == 0 && !always_wraps()) std::rethrow_exception(error.original_exception);
    throw;
  }
  if (batch == nullptr) {  // the data set has ended the epoch
    exhausted_ = true;
    join();
    return nullptr;
  }
  ++position_;
  ask();
  return batch;
}

void pin_batch(Tensor& tensor) {
  if (device_count(kCUDA) > 0 && tensor.defined() && tensor.is_cpu()) tensor = tensor.pin_memory();
}
void pin_batch(std::vector<Tensor>& tensors) {
  for (Tensor& t : tensors) pin_batch(t);
}

}  // namespace tandem::data::detail
