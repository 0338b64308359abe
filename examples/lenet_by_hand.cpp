// LeNet from first principles: no modules, no optimizer; parameters are tensors, and each step is explicit.
//
//   lenet_by_hand [--epochs N] [--batch N] [--lr X] [--images N] [--device cpu:0]
//
// conv 3x3 → ReLU → average pool 2x2, conv 5x5 → ReLU → average pool 2x2, flatten, two dense layers; summed
// cross entropy; plain SGD with the learning rate divided by the batch size.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tandem/datasets/image_data.h"
#include "tandem/tandem.h"

using namespace tandem;
using Params = std::vector<Tensor>;

struct Settings {
  int64_t epochs = 10, batch = 256, images = 0;  // images: 0 means all
  double lr = 0.2;
  std::string device = "cpu:0";
};

Params make_params() {
  const double scale = 0.01;
  return {randn({20, 1, 3, 3}) * scale, zeros({20}),  randn({50, 20, 5, 5}) * scale, zeros({50}),
          randn({800, 128}) * scale,    zeros({128}), randn({128, 10}) * scale,      zeros({10})};
}

// A copy of the parameters on a device, requiring gradients.
Params get_params(const Params& params, Device device) {
  Params out;
  for (const Tensor& p : params) out.push_back(p.detach().to(device, false, /*copy=*/true).requires_grad_());
  return out;
}

Tensor lenet(const Tensor& x, const Params& p) {
  const Tensor h1 = avg_pool2d(relu(conv2d(x, p[0], p[1])), {2, 2}, {2, 2});
  const Tensor h2 = avg_pool2d(relu(conv2d(h1, p[2], p[3])), {2, 2}, {2, 2});
  const Tensor h3 = relu(mm(h2.flatten(1), p[4]) + p[5]);
  return mm(h3, p[6]) + p[7];
}

Tensor loss_of(const Tensor& output, const Tensor& y) {
  return cross_entropy_loss(output, y, {}, Reduction::None).sum();
}

void sgd(Params& params, double lr, int64_t batch_size) {
  NoGradGuard guard;
  for (Tensor& p : params) {
    p.sub_(p.grad() * (lr / static_cast<double>(batch_size)));
    p.mutable_grad().zero_();
  }
}

void train_batch(const Tensor& x, const Tensor& y, Params& params, double lr) {
  loss_of(lenet(x, params), y).backward();
  sgd(params, lr, x.size(0));
}

double accuracy(const Tensor& images, const Tensor& labels, const Params& params) {
  NoGradGuard guard;
  int64_t correct = 0;
  for (int64_t at = 0; at < images.size(0); at += 1000) {
    const int64_t n = std::min<int64_t>(1000, images.size(0) - at);
    correct += (lenet(images.narrow(0, at, n), params).argmax(1) == labels.narrow(0, at, n)).sum().item<int64_t>();
  }
  return static_cast<double>(correct) / static_cast<double>(images.size(0));
}

// Images scaled to [0, 1]: [N, 1, H, W].
Tensor as_input(const Tensor& images, int64_t limit, Device device) {
  const int64_t n = limit > 0 ? std::min(limit, images.size(0)) : images.size(0);
  return images.narrow(0, 0, n).to(kFloat).div_(255).unsqueeze(1).to(device);
}

void train(const Settings& s) {
  const Device device(s.device);
  const data::ImageDataPair data = data::read_image_data(data::find_dataset("fashion-mnist"));
  const Tensor train_x = as_input(data.train.images, s.images, device),
               test_x = as_input(data.test.images, s.images, device);
  const Tensor train_y = data.train.labels.narrow(0, 0, train_x.size(0)).to(device);
  const Tensor test_y = data.test.labels.narrow(0, 0, test_x.size(0)).to(device);
  Params params = get_params(make_params(), device);
  std::printf("running on %s\n", resolve(device).str().c_str());
  double seconds = 0, reached = 0;
  for (int64_t epoch = 0; epoch < s.epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    const Tensor order = randperm(train_x.size(0), TensorOptions(kLong).device(optional<Device>(train_x.device())));
    for (const Tensor& batch : order.split(s.batch))
      train_batch(train_x.index_select(0, batch), train_y.index_select(0, batch), params, s.lr);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    reached = accuracy(test_x, test_y, params);
    std::printf("epoch %2lld  test accuracy %.4f  %s\n", static_cast<long long>(epoch + 1), reached,
                std::string(static_cast<std::size_t>(reached * 50), '#').c_str());
    std::fflush(stdout);
  }
  std::printf("test accuracy %.2f, %.1f s/epoch on %s\n", reached, seconds / static_cast<double>(s.epochs),
              resolve(device).str().c_str());
}

constexpr const char* kUsage =
    "usage: lenet_by_hand [OPTIONS]\n"
    "  --epochs N       passes over Fashion-MNIST (10)\n"
    "  --batch N        images per step (256)\n"
    "  --lr X           learning rate (0.2)\n"
    "  --images N       only the first training images; 0: all (0)\n"
    "  --device NAME    cpu:0, cuda:0, ... (cpu:0)\n";

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  Settings s;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--epochs") == 0) s.epochs = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--batch") == 0) s.batch = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--images") == 0) s.images = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--lr") == 0) s.lr = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--device") == 0) s.device = argv[i + 1];
  }
  try {
    manual_seed(0);
    train(s);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
