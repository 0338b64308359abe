#include "tandem/parallel/shards/part_exchange.h"

#include <cstring>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"

namespace tandem::parallel {

void PartExchange::begin(int64_t samples, int64_t shards, int64_t step, bool wait) {
  const NoGradGuard no_grad;
  const Part own{samples, shards, step, static_cast<int64_t>(default_generator().current_seed())};
  constexpr int64_t entries = sizeof(Part) / sizeof(int64_t);
  const Tensor row = empty({1, entries}, kLong);
  std::memcpy(row.data_ptr(), &own, sizeof(Part));
  arriving_ = empty({group_->size(), entries}, TensorOptions(kLong).device(group_->device()));
  work_ = group_->all_gather(arriving_, row.to(group_->device()));
  for (Part& part : parts_) part.step = step;
  if (wait || parts_.empty() || parts_[static_cast<std::size_t>(group_->rank())] != own) complete();
}

// All processes have the same parts in the end, so all throw the same error.
void PartExchange::complete() {
  const NoGradGuard no_grad;
  work_->wait();
  const Tensor here = arriving_.cpu();
  parts_.resize(static_cast<std::size_t>(group_->size()));
  std::memcpy(parts_.data(), here.data_ptr(), here.nbytes());
  const Part& own = parts_[static_cast<std::size_t>(group_->rank())];
  for (std::size_t r = 0; r < parts_.size(); ++r)
    check(parts_[r].shards == own.shards && parts_[r].step == own.step, "ParameterServer: rank ", r, " is at step ",
          parts_[r].step, " with shards = ", parts_[r].shards, ", but rank ", group_->rank(), " at step ", own.step,
          " with shards = ", own.shards);
}

int64_t PartExchange::samples() const {
  int64_t sum = 0;
  for (const Part& part : parts_) sum += part.samples;
  return sum;
}

}  // namespace tandem::parallel
