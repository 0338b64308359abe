// Queue: values that threads pass to each other. Tandem's own loaders have another one.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>

#include "tandem/core/error.h"

namespace torch::data::detail {

template <class T>
class Queue {
 public:
  void push(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push(std::move(value));
    }
    pushed_.notify_one();
  }
  /// The oldest value, waited for if there is none. Throws Error if the timeout has passed.
  T pop(std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return !values_.empty(); };
    if (!timeout)
      pushed_.wait(lock, ready);
    else if (!pushed_.wait_for(lock, *timeout, ready))
      tandem::fail("Timeout in DataLoader queue while waiting for next batch (timeout was ", timeout->count(), " ms)");
    T value = std::move(values_.front());
    values_.pop();
    return value;
  }
  /// Drops all values and returns how many there were.
  std::size_t clear() {
    const std::lock_guard lock(mutex_);
    return std::exchange(values_, {}).size();
  }

 private:
  std::queue<T> values_;
  std::mutex mutex_;
  std::condition_variable pushed_;
};

}  // namespace torch::data::detail
