#include "tandem/cli/report/evaluation.h"

#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/cli/data/image.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/datasets/vision/image_file.h"

namespace tandem::cli {
namespace {

constexpr std::size_t kMaxMistakes = 24;
constexpr int64_t kMaxClasses = 4096;

// An image of the data set, [H, W] or [C, H, W], as a PNG file.
void draw(const Tensor& pixels, Mistake& mistake) {
  const Tensor planes = pixels.dim() == 2 ? pixels.unsqueeze(0) : pixels;
  Image image{static_cast<int>(planes.size(2)), static_cast<int>(planes.size(1)), static_cast<int>(planes.size(0)), {}};
  const Tensor rows = planes.permute({1, 2, 0}).cpu().contiguous();
  image.pixels.assign(rows.data_ptr<uint8_t>(), rows.data_ptr<uint8_t>() + rows.numel());
  const int longer = std::max(image.width, image.height);
  if (longer > Mistake::kMaxSide) {
    const auto scaled = [&](int side) { return std::max(1, side * Mistake::kMaxSide / longer); };
    image = resize(image, scaled(image.width), scaled(image.height));
  }
  const Tensor small = from_blob(image.pixels.data(), {image.height, image.width, image.channels}, kByte);
  mistake.png = vision::encode_png(small.permute({2, 0, 1}));
  mistake.width = image.width;
  mistake.height = image.height;
}

bool worse(const Mistake& a, const Mistake& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.index < b.index;
}

void score(nn::Sequential& model, const ImageSet& test, Device device, Evaluation& out) {
  const int64_t batch = evaluation_batch(test);
  const InferenceMode guard;
  out.images = test.count();
  int64_t correct = 0;
  for (int64_t at = 0; at < out.images; at += batch) {
    const int64_t size = std::min(batch, out.images - at);
    const Tensor labels = test.labels.narrow(0, at, size);
    const Tensor output = model->forward(to_input(test.rows(at, size).to(device)));
    out.loss += cross_entropy_loss(output, labels.to(device), {}, Reduction::Sum).item<double>();
    const Tensor predicted = output.argmax(1), all = softmax(output, 1);
    const Tensor top = all.gather(1, predicted.unsqueeze(1)).squeeze(1).cpu().to(kDouble), choice = predicted.cpu();
    for (int64_t i = 0; i < size; ++i) {
      const Mistake m{.index = at + i,
                      .label = labels.data_ptr<int64_t>()[i],
                      .predicted = choice.data_ptr<int64_t>()[i],
                      .probability = top.data_ptr<double>()[i],
                      .png = {}};
      ++out.counts[static_cast<std::size_t>(m.label) * out.classes.size() + static_cast<std::size_t>(m.predicted)];
      if (m.label == m.predicted)
        ++correct;
      else if (m.probability == m.probability)  // not NaN
        out.worst.push_back(m);
    }
    const std::size_t kept = std::min(kMaxMistakes, out.worst.size());
    std::partial_sort(out.worst.begin(), out.worst.begin() + static_cast<std::ptrdiff_t>(kept), out.worst.end(), worse);
    out.worst.resize(kept);
  }
  out.loss /= static_cast<double>(out.images);
  out.accuracy = static_cast<double>(correct) / static_cast<double>(out.images);
  for (Mistake& mistake : out.worst) draw(test.rows(mistake.index, 1)[0], mistake);
}

}  // namespace

Evaluation evaluate_run(const RunRecord& run, const std::string& data, Device device, const TestData& load) {
  Evaluation out;
  try {
    check(run.config.contains("class_count"), "the run does not classify images");
    Checkpoint checkpoint = run_of(run.folder);
    const RunConfig& c = checkpoint.config;
    check(!c.text, "the run is on a text");
    check(c.class_count <= kMaxClasses, "the run has ", c.class_count, " classes; the limit is ", kMaxClasses);
    check(!checkpoint.model.keys().empty(), "the run has not begun");
    nn::Sequential model = model_of_run(checkpoint, device);
    const LoadedData& loaded = load(data.empty() ? c.data : data, c);
    const ImageSet test = test_images(loaded, c);
    out.data = loaded.name;
    out.device = name_of(device);
    for (int64_t i = 0; i < c.class_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out.classes.push_back(at < c.classes.size() ? c.classes[at] : concat("class ", i));
    }
    out.counts.resize(out.classes.size() * out.classes.size());
    score(model, test, device, out);
    return out;
  } catch (const Error& error) {
    Evaluation nothing;
    nothing.missing = one_line(error.what());
    return nothing;
  }
}

}  // namespace tandem::cli
