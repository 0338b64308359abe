// Sums stay on the device until the end, so nothing synchronises in between.
#include "tandem/cli/train/evaluate.h"

#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/cli/text/text_data.h"
#include "tandem/core/global_context.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cli {

Tensor to_input(const Tensor& images) {
  if (images.dim() == 2) return images.to(kLong);
  return (images.dim() == 3 ? images.unsqueeze(1) : images).to(kFloat).div_(255);
}

Tensor cross_entropy_of(const Tensor& output, const Tensor& labels, Reduction reduction, double label_smoothing) {
  if (labels.dim() == 1) return cross_entropy_loss(output, labels, {}, reduction, -100, label_smoothing);
  const Tensor loss =
      cross_entropy_loss(output.flatten(0, 1), labels.to(kLong).flatten(), {}, reduction, -100, label_smoothing);
  return reduction == Reduction::None ? loss.view(labels.sizes()).mean(1) : loss;
}

Tensor correct_in(const Tensor& output, const Tensor& labels) { return output.argmax(-1) == labels.to(kLong); }

std::unique_ptr<autocast::AutocastGuard> in_precision(const Recipe& recipe, Device device) {
  globalContext().setAllowTF32CuBLAS(recipe.precision == "tf32");
  globalContext().setAllowTF32CuDNN(recipe.precision == "tf32");
  if (!recipe.half()) return nullptr;
  return std::make_unique<autocast::AutocastGuard>(device.type(), recipe.precision == "bf16" ? kBFloat16 : kHalf);
}

bool is_faster_channels_last(const nn::Module& model, const Recipe& recipe) {
  if (!recipe.half()) return false;
  int64_t kernels = 0, in_eights = 0;
  for (const Tensor& p : model.parameters()) {
    if (p.dim() != 4) continue;
    ++kernels;
    in_eights += p.size(0) % 8 == 0 && p.size(1) % 8 == 0;
  }
  return 2 * in_eights > kernels;
}

void choose_layout(nn::Module& model, const Recipe& recipe, Device device) {
  if (device.is_cuda() && is_faster_channels_last(model, recipe)) model.to(MemoryFormat::ChannelsLast);
}

int64_t evaluation_batch(const ImageSet& data) {
  if (is_text(data)) return std::max<int64_t>(1, 2048 / data.images.size(1));
  const std::vector<int64_t> shape = data.shape();
  return std::clamp<int64_t>(1000 * 1024 / (shape[1] * shape[2]), 16, 1000);
}

Tensor output_of(nn::SequentialImpl& model, const Tensor& images) {
  constexpr int64_t kPixels = 64 * 32 * 32;  // of a piece, for each thread
  const int64_t count = images.size(0), pixels = std::max<int64_t>(1, images.numel() / std::max<int64_t>(1, count)),
                piece = std::max<int64_t>(16, kPixels * device_num_threads() / pixels);
  if (!images.is_cpu() || images.dim() == 2 || count <= piece) return model.forward(to_input(images));
  std::vector<Tensor> outputs;
  for (int64_t at = 0; at < count; at += piece)
    outputs.push_back(model.forward(to_input(images.narrow(0, at, std::min(piece, count - at)))));
  return cat(outputs);
}

Score evaluate(nn::Sequential& model, const ImageSet& data, int64_t batch_size) {
  NoGradGuard guard;
  model->eval();
  const int64_t count = data.count();
  const Device device = model->parameters().at(0).device();
  Tensor loss = zeros({}, TensorOptions(kDouble).device(optional<Device>(device)));
  Tensor correct = zeros({}, TensorOptions(kLong).device(optional<Device>(device)));
  for (int64_t at = 0; at < count; at += batch_size) {
    const int64_t size = std::min(batch_size, count - at);
    const Tensor labels = data.labels.narrow(0, at, size).to(device);
    const Tensor output = output_of(*model, data.rows(at, size).to(device));
    loss.add_(cross_entropy_of(output, labels, Reduction::Sum).to(kDouble));
    correct.add_(correct_in(output, labels).sum());
  }
  model->train();
  const auto labels = static_cast<double>(data.labels.numel());
  return {loss.item<double>() / labels, static_cast<double>(correct.item<int64_t>()) / labels};
}

}  // namespace tandem::cli
