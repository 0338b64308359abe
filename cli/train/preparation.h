// Prepares a process to train a run: devices, data and the run's state.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "tandem/cli/data/image_set.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_codec.h"
#include "tandem/cli/text/text_data.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/cli/train/team.h"

namespace tandem::cli {

struct Prepared {
  Checkpoint checkpoint;
  Placement placement;
  ImageSetPair data;
  bool split = false;              ///< the test images are a part of what the folder has
  TextCodec codec;                 ///< of a text
  std::optional<TextData> text{};  ///< whose windows are in `data`
  std::string memory{};            ///< a line that says what it needs
};

/// Chooses the devices, loads the data and seeds the random numbers. `begin` returns the state to start from, new or of
/// the run in options.resume. Every process calls this. Throws UsageError on what cannot be trained, and on data that
/// the run was not started with.
Prepared prepare(const TrainOptions& options, const Team& team, const std::function<Checkpoint()>& begin);

/// "cpu:0,cpu:1, root cpu:1, 8 shards"
std::string described(const Placement& placement);

}  // namespace tandem::cli
