// The log of deferred buffer updates.
#include "tandem/autograd/buffer_updates.h"

#include <algorithm>
#include <utility>

namespace tandem::autograd {
namespace {
thread_local constinit BufferLog* current_log = nullptr;
}  // namespace

BufferLog* BufferLog::current() { return current_log; }

BufferLogGuard::BufferLogGuard(BufferLog* log) : previous_(std::exchange(current_log, log)) {}
BufferLogGuard::~BufferLogGuard() { current_log = previous_; }

void BufferLog::watch(std::vector<Tensor> buffers) {
  watched_ = std::move(buffers);
  entries_.clear();
}

bool BufferLog::add(const std::vector<Tensor>& buffers, const std::vector<Tensor>& values, Update update) {
  if (discards_) return true;
  std::vector<std::size_t> places;
  for (const Tensor& buffer : buffers) {
    const auto found =
        std::find_if(watched_.begin(), watched_.end(), [&](const Tensor& watched) { return watched.is_same(buffer); });
    if (found == watched_.end()) return false;
    places.push_back(static_cast<std::size_t>(found - watched_.begin()));
  }
  std::vector<Tensor> kept;  // detached from the graph
  for (const Tensor& value : values) kept.push_back(value.defined() ? value.detach() : value);
  entries_.push_back({std::move(places), std::move(kept), std::move(update)});
  return true;
}

void BufferLog::replay(const std::vector<Tensor>& buffers) {
  const NoGradGuard no_grad;
  const std::vector<Entry> entries = std::exchange(entries_, {});
  for (const Entry& entry : entries) {
    std::vector<Tensor> targets, values;
    for (const std::size_t place : entry.places) targets.push_back(buffers.at(place));
    for (const Tensor& value : entry.values) {
      const bool moves = value.defined() && !targets.empty();
      values.push_back(moves ? value.to(targets[0].device(), targets[0].device().is_cuda()) : value);
    }
    entry.update(targets, values);
  }
}

}  // namespace tandem::autograd
