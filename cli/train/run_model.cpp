#include "tandem/cli/train/run_model.h"

#include "tandem/cli/text/text_model.h"
#include "tandem/cli/train/sharded_run.h"
#include "tandem/core/base/atomic_folder.h"
#include "tandem/nn/files/safetensors_reader.h"

namespace tandem::cli {

ImageSet test_images(const LoadedData& loaded, const RunConfig& c) try {
  check(loaded.input() == c.input, loaded.name, ": the images have shape ", loaded.input(), ", the run expects ",
        c.input);
  const ImageSet& test = loaded.images.test;
  check(test.classes <= c.class_count, loaded.name, ": label ", test.classes - 1, ", but the run has ", c.class_count,
        " classes");
  return test;
} catch (const Error& error) {
  throw UsageError(error.what());
}

Checkpoint run_of(const std::string& folder) {
  try {
    Checkpoint checkpoint = load_checkpoint(folder);
    find_onnx_file(folder, checkpoint.config);
    if (!checkpoint.tensors.empty())
      checkpoint.model = {
          serialize::SafeTensorsReader(readable_folder(result_folder(folder, checkpoint.config, checkpoint.progress)))
              .read(nullopt),
          OrderedDict<std::string, std::string>("Entry")};
    return checkpoint;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

nn::Sequential model_of_run(Checkpoint& checkpoint, Device device) try {
  const RunConfig& c = checkpoint.config;
  check(!checkpoint.model.keys().empty(), "the checkpoint contains no parameters");
  nn::Sequential model = c.text ? make_text_model_for(*c.text, checkpoint.model)
                                : make_model_for(c.model_or_file(), c.shape(), checkpoint.model);
  model->load(checkpoint.result());
  warn_if_not_finite("the run", model->state_dict());
  model->to(device);
  model->eval();
  return model;
} catch (const Error& error) {
  throw UsageError(error.what());
}

}  // namespace tandem::cli
