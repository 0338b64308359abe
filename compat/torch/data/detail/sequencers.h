// Sequencers: the order in which the results of several threads are taken.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/core/error.h"

namespace torch::data::detail::sequencers {

template <class Result>
struct Sequencer {
  using ResultProducer = std::function<std::optional<Result>()>;
  virtual ~Sequencer() = default;
  /// Calls `produce` until it has the result that comes next; nullopt when `produce` has no more.
  virtual std::optional<Result> next(ResultProducer produce) = 0;
};

/// Takes results as they come.
template <class Result>
struct NoSequencer final : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  std::optional<Result> next(ResultProducer produce) override { return produce(); }
};

/// Takes results in the order of their members sequence_number: 0, 1, ….
template <class Result>
struct OrderedSequencer final : Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  /// `max_jobs`: how many results may be ahead of the next one, which counts.
  explicit OrderedSequencer(std::size_t max_jobs) : buffer_(max_jobs) {}
  /// Throws Error if two results have the same place.
  std::optional<Result> next(ResultProducer produce) override {
    std::optional<Result>& expected = buffer(next_sequence_number_);
    while (!expected) {
      std::optional<Result> result = produce();
      if (!result) return std::nullopt;
      std::optional<Result>& place = buffer(result->sequence_number);
      tandem::check(!place, "OrderedSequencer: two results have the place of number ", result->sequence_number);
      place = std::move(result);
    }
    ++next_sequence_number_;
    return std::exchange(expected, std::nullopt);
  }
  std::optional<Result>& buffer(std::size_t number) { return buffer_.at(number % buffer_.size()); }

  std::size_t next_sequence_number_ = 0;
  std::vector<std::optional<Result>> buffer_;
};

}  // namespace torch::data::detail::sequencers
