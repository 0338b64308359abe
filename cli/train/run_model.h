// The model of a finished or stopped run.
#pragma once
#include "tandem/cli/data/load_data.h"
#include "tandem/cli/train/run_folder.h"

namespace tandem::cli {

/// load_checkpoint, with UsageError for Error.
Checkpoint run_of(const std::string& folder);
/// The trained model on `device`, in evaluation mode. Throws UsageError on a checkpoint that does not fit its model.
nn::Sequential model_of_run(Checkpoint& checkpoint, Device device);

/// The run's test images, or another data set's with the same image size and no further labels.
/// Throws UsageError.
ImageSet test_images(const LoadedData& loaded, const RunConfig& config);

}  // namespace tandem::cli
