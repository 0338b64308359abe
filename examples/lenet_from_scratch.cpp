// LeNet from first principles on several devices: no modules, optimizer or server. Each device has a copy of
// the parameters and computes a piece of each batch; the gradients are summed explicitly.
//
//   lenet_from_scratch [--devices cpu:0,cpu:1 | --num-devices N] [--epochs N] [--batch N] [--lr X]
//                      [--images N] [--helpers]
//
// --helpers demonstrates the helper functions and exits. Logical CPU devices share the cores:
// TANDEM_CPU_DEVICES=2 creates cpu:0 and cpu:1. This program creates as many as the list requires.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>

#include "tandem/core/device_threads.h"
#include "tandem/datasets/image_data.h"
#include "tandem/parallel/shared/device_copies.h"
#include "tandem/tandem.h"

using namespace tandem;
using Params = std::vector<Tensor>;
using Devices = std::vector<Device>;

struct Settings {
  int64_t epochs = 10, batch = 256, images = 0;  // images: 0 means all
  double lr = 0.2;
  std::string devices = "cpu:0";
};

Params make_params() {
  const double scale = 0.01;
  return {randn({20, 1, 3, 3}) * scale, zeros({20}),  randn({50, 20, 5, 5}) * scale, zeros({50}),
          randn({800, 128}) * scale,    zeros({128}), randn({128, 10}) * scale,      zeros({10})};
}

// A copy of the parameters on a device, requiring gradients. Parameters are views of one buffer and gradients
// of another, so one sum covers all eight.
nn::FlatParameters get_params(const Params& params, Device device) {
  Params out;
  for (const Tensor& p : params) out.push_back(p.detach().to(device, false, /*copy=*/true).requires_grad_());
  return nn::FlatParameters(out);
}

// Sums on the first device and copies the sum back to all devices.
void allreduce(const std::vector<Tensor>& data) { parallel::all_reduce(data); }

// One piece of the samples and of their labels per device.
struct Pieces {
  std::vector<Tensor> x, y;
};
Pieces split_batch(const Tensor& x, const Tensor& y, const Devices& devices) {
  return {parallel::scatter(x, devices), parallel::scatter(y, devices)};
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

// Runs job(i) for each device on a separate host thread.
template <class Job>
void on_devices(const Devices& devices, const Job& job) {
  for (const std::exception_ptr& error : run_on_devices(devices, job))
    if (error) std::rethrow_exception(error);
}

void train_batch(const Tensor& x, const Tensor& y, std::vector<nn::FlatParameters>& params, const Devices& devices,
                 double lr) {
  const Pieces pieces = split_batch(x, y, devices);
  const Devices used(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(pieces.x.size()));
  on_devices(used, [&](std::size_t i) {
    params[i].zero_grad();
    loss_of(lenet(pieces.x[i], params[i].parameters()), pieces.y[i]).backward();
  });
  for (std::size_t i = used.size(); i < params.size(); ++i) params[i].zero_grad();  // unused by a small batch
  std::vector<Tensor> gradients;
  for (const nn::FlatParameters& p : params) gradients.push_back(p.grad());
  allreduce(gradients);
  on_devices(devices, [&](std::size_t i) {
    NoGradGuard guard;
    Tensor(params[i].data()).sub_(gradients[i], lr / static_cast<double>(x.size(0)));
  });
}

double accuracy(const Tensor& images, const Tensor& labels, const std::vector<nn::FlatParameters>& params,
                const Devices& devices) {
  const Pieces pieces = split_batch(images, labels, devices);
  std::vector<int64_t> correct(devices.size(), 0);
  const Devices used(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(pieces.x.size()));
  on_devices(used, [&](std::size_t i) {
    NoGradGuard guard;
    const std::vector<Tensor> x = pieces.x[i].split(1000), y = pieces.y[i].split(1000);
    for (std::size_t k = 0; k < x.size(); ++k)
      correct[i] += (lenet(x[k], params[i].parameters()).argmax(1) == y[k]).sum().item<int64_t>();
  });
  return std::accumulate(correct.begin(), correct.end(), 0.0) / static_cast<double>(images.size(0));
}

// Images scaled to [0, 1]: [N, 1, H, W].
Tensor as_input(const Tensor& images, int64_t limit) {
  const int64_t n = limit > 0 ? std::min(limit, images.size(0)) : images.size(0);
  return images.narrow(0, 0, n).to(kFloat).div_(255).unsqueeze(1);
}

std::string names(const Devices& devices) {
  std::string out;
  for (const Device& device : devices) out += (out.empty() ? "" : ", ") + device.str();
  return out;
}

void train(const Devices& devices, const Settings& s) {
  const data::ImageDataPair data = data::read_image_data(data::find_dataset("fashion-mnist"));
  const Tensor train_x = as_input(data.train.images, s.images), test_x = as_input(data.test.images, s.images);
  const Tensor train_y = data.train.labels.narrow(0, 0, train_x.size(0));
  const Tensor test_y = data.test.labels.narrow(0, 0, test_x.size(0));
  const Params start = make_params();
  std::vector<nn::FlatParameters> params;
  for (const Device& device : devices) params.push_back(get_params(start, device));
  std::printf("running on %s\n", names(devices).c_str());
  double seconds = 0, reached = 0;
  for (int64_t epoch = 0; epoch < s.epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    for (const Tensor& batch : randperm(train_x.size(0)).split(s.batch))
      train_batch(train_x.index_select(0, batch), train_y.index_select(0, batch), params, devices, s.lr);
    for (const Device& device : devices) synchronize(device);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    reached = accuracy(test_x, test_y, params, devices);
    std::printf("epoch %2lld  test accuracy %.4f  %s\n", static_cast<long long>(epoch + 1), reached,
                std::string(static_cast<std::size_t>(reached * 50), '#').c_str());
    std::fflush(stdout);
  }
  std::printf("test accuracy %.2f, %.1f s/epoch on %s\n", reached,
              seconds / static_cast<double>(std::max<int64_t>(1, s.epochs)), names(devices).c_str());
}

void show_helpers() {
  cpu::set_device_count(std::max(2, cpu::device_count()));
  const Devices two{Device("cpu:0"), Device("cpu:1")};
  const std::vector<Tensor> data{ones({1, 2}), full({1, 2}, 2.0).to(two[1])};
  std::cout << "before allreduce:\n" << data[0] << '\n' << data[1] << '\n';
  allreduce(data);
  std::cout << "after allreduce:\n" << data[0] << '\n' << data[1] << '\n';
  const Tensor rows = arange(20).reshape({4, 5});
  std::cout << "input:\n" << rows << "\nscattered over " << names(two) << ":\n";
  for (const Tensor& piece : parallel::scatter(rows, two)) std::cout << piece << '\n';
}

Devices parse_devices(const std::string& list) {
  Devices out;
  int cpus = 1;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    out.push_back(Device(list.substr(at, comma - at)));
    if (out.back().is_cpu()) cpus = std::max(cpus, static_cast<int>(out.back().index()) + 1);
    at = comma + 1;
  }
  if (cpus > cpu::device_count()) cpu::set_device_count(cpus);
  return parallel::checked_devices("lenet_from_scratch", out);
}

constexpr const char* kUsage =
    "usage: lenet_from_scratch [OPTIONS]\n"
    "  --devices A,B        devices that share each batch, such as cpu:0,cpu:1 (cpu:0)\n"
    "  --num-devices N      instead of --devices: the first N of the CPU\n"
    "  --epochs N           passes over Fashion-MNIST (10)\n"
    "  --batch N            images per step (256)\n"
    "  --lr X               learning rate (0.2)\n"
    "  --images N           only the first training images; 0: all (0)\n"
    "  --helpers            demonstrate the helper functions, and exit\n";

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  Settings s;
  bool helpers = false;
  int num_devices = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--helpers") == 0) helpers = true;
    if (i + 1 == argc) break;
    if (std::strcmp(argv[i], "--num-devices") == 0) num_devices = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--epochs") == 0) s.epochs = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--batch") == 0) s.batch = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--images") == 0) s.images = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--lr") == 0) s.lr = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--devices") == 0) s.devices = argv[i + 1];
  }
  if (num_devices > 0) s.devices = "cpu:0";
  for (int i = 1; i < num_devices; ++i) s.devices += concat(",cpu:", i);
  try {
    manual_seed(0);
    helpers ? show_helpers() : train(parse_devices(s.devices), s);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
