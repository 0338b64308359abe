#include "tandem/cli/train/epoch_points.h"

#include <algorithm>

#include "tandem/cli/json.h"

namespace tandem::cli {

using Json = nlohmann::ordered_json;

bool is_epoch_point(int64_t batch, int64_t batches) {
  const int64_t parts = std::min(kEpochPoints, batches);
  return (batch + 1) * parts / batches > batch * parts / batches;
}

Json to_json(const EpochPoints& points) { return {{"examples", points.examples}, {"loss_sum", points.loss_sum}}; }

EpochPoints epoch_points_from_json(const Json& json) {
  check(json.is_object(), "invalid \"points\"");
  EpochPoints out;
  for (const Json& count : get_entry<std::vector<Json>>(json, "examples"))
    out.examples.push_back(get_entry<int64_t>({{"examples", count}}, "examples"));
  for (const Json& sum : get_entry<std::vector<Json>>(json, "loss_sum"))
    out.loss_sum.push_back(get_entry<double>({{"loss_sum", sum}}, "loss_sum"));
  check(out.examples.size() == out.loss_sum.size() && out.examples.size() <= kEpochPoints, "invalid \"points\"");
  for (std::size_t i = 0; i < out.examples.size(); ++i)
    check(out.examples[i] > (i == 0 ? 0 : out.examples[i - 1]), "invalid \"points\"");
  return out;
}

Json described(const EpochPoints& points, int64_t all_examples, const std::function<double(int64_t)>& rate) {
  Json place = Json::array(), loss = Json::array(), rates = Json::array();
  int64_t examples = 0;
  double sum = 0;
  for (std::size_t i = 0; i < points.examples.size(); ++i) {
    place.push_back(static_cast<double>(points.examples[i]) / static_cast<double>(all_examples));
    loss.push_back((points.loss_sum[i] - sum) / static_cast<double>(points.examples[i] - examples));
    rates.push_back(rate(points.examples[i]));
    examples = points.examples[i];
    sum = points.loss_sum[i];
  }
  return {{"place", place}, {"train_loss", loss}, {"learning_rate", rates}};
}

}  // namespace tandem::cli
