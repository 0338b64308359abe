// tandem eval and tandem predict: use a trained run.
#include <cstdio>

#include "tandem/autograd/ops.h"
#include "tandem/cli/evaluate.h"
#include "tandem/cli/find_data.h"
#include "tandem/cli/image.h"
#include "tandem/cli/message.h"
#include "tandem/cli/models.h"
#include "tandem/cli/options.h"
#include "tandem/cli/plot.h"
#include "tandem/cli/run_folder.h"

namespace tandem::cli {
namespace {

Checkpoint run_of(const std::string& folder) {
  try {
    return load_checkpoint(folder);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

nn::Sequential model_of(Checkpoint& checkpoint, Device device) try {
  const RunConfig& c = checkpoint.config;
  check(!checkpoint.model.keys().empty(), "the checkpoint contains no parameters");
  nn::Sequential model =
      make_model_for(c.model, {c.input[0], c.input[1], c.input[2], c.class_count}, checkpoint.model);
  model->load(checkpoint.model);
  model->to(device);
  model->eval();
  return model;
} catch (const Error& error) {
  throw UsageError(error.what());
}

// The run's test images, or those of another data set with the same image size and no further labels.
data::ImageData test_images(const data::DatasetFiles& files, const RunConfig& c) try {
  data::ImageData test = data::read_image_data(files.test_images, files.test_labels);
  const std::vector<int64_t> input{1, test.images.size(1), test.images.size(2)};
  check(input == c.input, files.name, ": the images have shape ", input, ", the run expects ", c.input);
  check(test.classes <= c.class_count, files.name, ": label ", test.classes - 1, ", but the run has ",
        c.class_count, " classes");
  return test;
} catch (const Error& error) {
  throw UsageError(error.what());
}

std::string class_name(const RunConfig& c, int64_t number) {
  const auto i = static_cast<std::size_t>(number);
  return i < c.classes.size() ? printable(c.classes[i]) : concat("class ", number);
}

// A gray image of the run's size as a model input [1, 1, H, W] in 0 to 1.
Tensor input_of(const Image& picture) {
  Tensor pixels =
      from_blob(const_cast<uint8_t*>(picture.pixels.data()), {1, picture.height, picture.width}, kByte);
  return to_input(pixels);
}

}  // namespace

int eval_command(const EvalOptions& o) {
  use_threads(o.threads);
  const Device device = use_device(o.device);
  Checkpoint checkpoint = run_of(o.folder);
  const Terminal terminal = detect_terminal();
  const data::DatasetFiles files =
      find_data(o.data.empty() ? checkpoint.config.data : o.data, terminal, o.json ? stderr : stdout);
  const data::ImageData test = test_images(files, checkpoint.config);
  nn::Sequential model = model_of(checkpoint, device);
  const Score score =
      evaluate(model, {test.images.to(device), test.labels.to(device), test.classes}, o.batch_size);
  if (o.json)
    std::printf("%s\n", Json{{"images", test.images.size(0)},
                             {"loss", score.loss},
                             {"accuracy", score.accuracy},
                             {"device", device.str()}}
                            .dump()
                            .c_str());
  else
    std::printf("%s test images of %s on %s: loss %s, accuracy %s\n",
                with_commas(test.images.size(0)).c_str(), printable(files.name).c_str(), device.str().c_str(),
                fixed(score.loss, 4).c_str(), fixed(score.accuracy, 4).c_str());
  return 0;
}

int predict_command(const PredictOptions& o) {
  const Device device = use_device(o.device);
  Checkpoint checkpoint = run_of(o.folder);
  const RunConfig& c = checkpoint.config;
  const Terminal terminal = detect_terminal();
  nn::Sequential model = model_of(checkpoint, device);
  NoGradGuard guard;
  int failures = 0;
  for (const std::string& path : o.images) {
    try {
      Image image = resize(to_gray(read_image(path, o.invert ? 255 : 0)), static_cast<int>(c.input[2]),
                           static_cast<int>(c.input[1]));
      if (o.invert)
        for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(255 - pixel);
      const Tensor probability = softmax(model->forward(input_of(image).to(device)), 1).cpu().squeeze(0);
      const auto [top, which] = probability.topk(std::min<int64_t>(o.top, c.class_count));
      std::vector<std::pair<std::string, double>> rows;
      for (int64_t i = 0; i < top.numel(); ++i)
        rows.emplace_back(class_name(c, which[i].item<int64_t>()), top[i].item<double>());
      std::printf("%s\n%s%s\n", printable(path).c_str(), picture(image, terminal).c_str(),
                  probability_bars(rows, terminal).c_str());
    } catch (const Error& error) {  // continue with the other images
      std::fflush(stdout);
      print_error("tandem", error.what());
      ++failures;
    }
  }
  return failures == 0 ? 0 : failures == static_cast<int>(o.images.size()) ? 2 : 1;
}

}  // namespace tandem::cli
