// The course of the training loss within an epoch, as means between some of its batches.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tandem::cli {

/// Sums at points of the epoch so far. Part of a checkpoint.
struct EpochPoints {
  std::vector<int64_t> examples;  ///< that have been counted, ascending
  std::vector<double> loss_sum;   ///< over them
};

inline constexpr int64_t kEpochPoints = 20;
/// Whether batch `batch` of `batches`, from 0, ends a part: kEpochPoints do, or all if there are fewer.
bool is_epoch_point(int64_t batch, int64_t batches);
/// An entry of the checkpoint.
nlohmann::ordered_json to_json(const EpochPoints& points);
/// Throws Error on entries that are no sums.
EpochPoints epoch_points_from_json(const nlohmann::ordered_json& json);

/// For metrics.jsonl: {"place": shares of the epoch, "train_loss": means since the place before, "learning_rate": at the
/// places}, lists of the same length. `rate`: the learning rate of the step that has used this many examples last.
nlohmann::ordered_json described(const EpochPoints& points, int64_t all_examples,
                                 const std::function<double(int64_t)>& rate);

}  // namespace tandem::cli
