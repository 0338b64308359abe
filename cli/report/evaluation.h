// The test images of a run, classified by its model: which classes it confuses, and where it is most wrong.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/cli/data/load_data.h"
#include "tandem/cli/report/run_record.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/core/device.h"

namespace tandem::cli {

struct Mistake {
  int64_t index = 0, label = 0, predicted = 0;
  double probability = 0;  ///< of the predicted class
  std::string png;         ///< the image, with sides of at most kMaxSide pixels
  int width = 0, height = 0;
  static constexpr int kMaxSide = 96;
};

struct Evaluation {
  std::string missing;  ///< why there is no evaluation; the rest is then empty
  std::string data, device;
  std::vector<std::string> classes;
  int64_t images = 0;
  double loss = 0, accuracy = 0;
  std::vector<int64_t> counts;  ///< [classes x classes]: the images of each class by prediction
  std::vector<Mistake> worst;   ///< the wrong predictions with the highest probabilities, in descending order

  int64_t count(std::size_t label, std::size_t predicted) const { return counts[label * classes.size() + predicted]; }
};

/// The data set of that name or folder, with images as the run takes them. Throws Error.
using TestData = std::function<const LoadedData&(const std::string& name, const RunConfig& config)>;

/// `data`: the data set to use instead of the run's; "": the run's own.
Evaluation evaluate_run(const RunRecord& run, const std::string& data, Device device, const TestData& load);

}  // namespace tandem::cli
