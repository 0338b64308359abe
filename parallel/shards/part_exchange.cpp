#include "tandem/parallel/shards/part_exchange.h"

#include <cstring>
#include <numeric>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/shards.h"

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
    check(parts_[r].shards == own.shards && parts_[r].step == own.step, caller_, ": rank ", r, " is at step ",
          parts_[r].step, " with shards = ", parts_[r].shards, ", but rank ", group_->rank(), " at step ", own.step,
          " with shards = ", own.shards);
}

int64_t PartExchange::samples() const {
  int64_t sum = 0;
  for (const Part& part : parts_) sum += part.samples;
  return sum;
}

ShardRun PartExchange::own_run(const std::vector<int64_t>& sizes) const {
  const auto total = static_cast<int64_t>(sizes.size()), ranks = static_cast<int64_t>(parts_.size());
  check(total >= ranks, caller_, ": ", total, " shards are too few for ", ranks, " processes; each needs at least one");
  ShardRun own;
  for (int64_t r = 0; r < ranks; ++r) {
    const int64_t first = balanced_begin(total, ranks, r), end = balanced_begin(total, ranks, r + 1);
    const int64_t expected = std::accumulate(sizes.begin() + first, sizes.begin() + end, int64_t{0});
    const int64_t samples = parts_[static_cast<std::size_t>(r)].samples;
    check(samples == expected, caller_, ": rank ", r, " has ", samples, " samples, but its part of a batch of ",
          this->samples(), " in ", total, " shards has ", expected, " (shards ", first, " to ", end - 1, ")");
    if (r == group_->rank())
      own = {static_cast<uint64_t>(parts_[0].seed), total, first, {sizes.begin() + first, sizes.begin() + end}};
  }
  return own;
}

}  // namespace tandem::parallel
