// Model parallelism: the two halves of a ResNet on two devices. Activations are moved with .to(device) inside forward,
// and backward crosses the devices by itself. With micro-batches the devices work at the same time: while the second
// half computes one micro-batch, the first computes the next.
//
//   two_device_resnet [--devices A,B] [--model resnet18|resnet50] [--size N] [--batch N] [--micro-batches N]
//                     [--steps N]
//   two_device_resnet --help
//
// Prints the time of a training step on one device, on two, and on two with micro-batches, after checking that the
// split model computes the loss and the gradients of the whole one. BatchNorm normalises with the statistics of what it
// is given, so micro-batches change the results, as smaller batches do: they are compared with the same micro-batches
// one by one. A device computes small batches less efficiently, and logical CPU devices share the cores, so there
// micro-batches only show the schedule.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tandem/core/device_threads.h"
#include "tandem/models/resnet.h"
#include "tandem/tandem.h"

using namespace tandem;

constexpr const char* kUsage =
    "usage: two_device_resnet [OPTIONS]\n"
    "  --devices A,B        devices of the halves (cuda:0,cuda:1 if there are two GPUs, else cpu:0,cpu:1)\n"
    "  --model NAME         resnet18 (the default) or resnet50\n"
    "  --size N             height and width of the images (32)\n"
    "  --batch N            images per step (8)\n"
    "  --micro-batches N    pieces of a batch (4)\n"
    "  --steps N            steps of each measurement (2)\n";

struct Settings {
  std::string devices, model = "resnet18";
  int64_t size = 32, batch = 8, micro_batches = 4, steps = 2;
};

// The first half ends with layer2, the second begins with layer3. Both devices may be the same.
struct SplitResNetImpl : nn::Module {
  SplitResNetImpl(const models::ResNet& whole, const Device& first, const Device& second)
      : first_device(first), second_device(second), net(whole) {
    register_module("net", net);
    for (const auto& item : net->named_children()) {
      const bool late = item.key() == "layer3" || item.key() == "layer4" || item.key() == "fc";
      item.value()->to(late ? second : first);
    }
  }
  Tensor first_half(const Tensor& images) {
    const Tensor x = net->maxpool(net->relu(net->bn1(net->conv1(images.to(first_device)))));
    return net->layer2->forward(net->layer1->forward(x));
  }
  Tensor second_half(const Tensor& features) {
    const Tensor x = net->layer4->forward(net->layer3->forward(features.to(second_device)));
    return net->fc(net->avgpool(x).flatten(1));
  }
  Tensor forward(const Tensor& images) { return second_half(first_half(images)); }

  Device first_device, second_device;
  models::ResNet net;
};
TANDEM_MODULE(SplitResNet);

Tensor loss_of(const Tensor& logits, const Tensor& labels) {
  return nn::functional::cross_entropy(logits, labels.to(logits.device()));
}

// Forward and backward; the gradients are in the parameters. Returns the loss.
double whole_batch(SplitResNet& model, const Tensor& images, const Tensor& labels) {
  model->zero_grad();
  const Tensor loss = loss_of(model(images), labels);
  loss.backward();
  return loss.item<double>();
}

// The same in pieces, one by one. A gradient is the mean of the gradients of the pieces, which have equal sizes.
double one_by_one(SplitResNet& model, const std::vector<Tensor>& images, const std::vector<Tensor>& labels) {
  model->zero_grad();
  double sum = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Tensor loss = loss_of(model(images[i]), labels[i]) / static_cast<double>(images.size());
    loss.backward();
    sum += loss.item<double>();
  }
  return sum;
}

// The same with both devices at work. In turn t the second device computes forward and backward of its half for
// micro-batch t - 1, while the first one computes forward for t and backward for t - 2. Only activations and their
// gradients cross.
double pipelined(SplitResNet& model, const std::vector<Tensor>& images, const std::vector<Tensor>& labels) {
  model->zero_grad();
  const std::size_t count = images.size();
  const std::vector<Device> devices{model->first_device, model->second_device};
  std::vector<Tensor> features(count), received(count), losses(count);
  const auto on_first = [&](std::size_t turn) {
    if (turn < count) features[turn] = model->first_half(images[turn]);
    if (turn >= 2) features[turn - 2].backward(received[turn - 2].grad().to(devices[0]));
  };
  const auto on_second = [&](std::size_t i) {
    received[i] = features[i].detach().to(devices[1]).requires_grad_();
    losses[i] = loss_of(model->second_half(received[i]), labels[i]) / static_cast<double>(count);
    losses[i].backward();
  };
  for (std::size_t turn = 0; turn < count + 2; ++turn) {
    const auto errors = run_on_devices(devices, [&](std::size_t half) {
      if (half == 0)
        on_first(turn);
      else if (turn >= 1 && turn <= count)
        on_second(turn - 1);
    });
    for (const auto& error : errors)
      if (error) std::rethrow_exception(error);
  }
  double sum = 0;
  for (const Tensor& loss : losses) sum += loss.item<double>();
  return sum;
}

std::vector<Tensor> gradients(SplitResNet& model) {
  std::vector<Tensor> out;
  for (const Tensor& p : model->parameters()) out.push_back(p.grad().cpu().clone());
  return out;
}
// The largest difference, relative to the largest gradient.
double difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, (a[i] - b[i]).abs().max().item<double>());
    largest = std::max(largest, a[i].abs().max().item<double>());
  }
  return most / largest;
}

template <class Step>
double milliseconds(int64_t steps, const Step& step) {
  step();
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) step();
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(std::max<int64_t>(1, steps));
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    check(i + 1 < argc, kUsage);
    const char* value = argv[++i];
    int64_t* number = name == "--size"            ? &settings.size
                      : name == "--batch"         ? &settings.batch
                      : name == "--micro-batches" ? &settings.micro_batches
                      : name == "--steps"         ? &settings.steps
                                                  : nullptr;
    if (number != nullptr)
      *number = std::atoll(value);
    else if (name == "--devices")
      settings.devices = value;
    else if (name == "--model")
      settings.model = value;
    else
      fail(kUsage);
  }
  check(settings.size >= 32 && settings.steps >= 0 && (settings.model == "resnet18" || settings.model == "resnet50"),
        kUsage);
  check(settings.micro_batches > 0 && settings.batch % settings.micro_batches == 0 &&
            settings.batch / settings.micro_batches > 1,
        "two_device_resnet: --micro-batches must divide --batch into pieces of at least 2 images, for "
        "BatchNorm");
  return settings;
}

std::pair<Device, Device> devices_of(const std::string& text) {
  if (text.empty() && device_count(kCUDA) >= 2) return {Device(kCUDA, 0), Device(kCUDA, 1)};
  const std::string names = text.empty() ? "cpu:0,cpu:1" : text;
  const std::size_t comma = names.find(',');
  check(comma != std::string::npos, kUsage);
  const Device first(names.substr(0, comma)), second(names.substr(comma + 1));
  int cpus = device_count(kCPU);
  for (const Device& device : {first, second}) cpus = std::max(cpus, device.is_cpu() ? device.index() + 1 : 1);
  cpu::set_device_count(cpus);
  return {first, second};
}

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const Settings settings = settings_of(argc, argv);
  const auto [first, second] = devices_of(settings.devices);
  manual_seed(0);
  const models::ResNet net = settings.model == "resnet18" ? models::resnet18(10) : models::resnet50(10);
  const auto copy = std::dynamic_pointer_cast<models::ResNetImpl>(net->clone());
  SplitResNet alone(models::ResNet(copy), first, first), split(net, first, second);
  const Tensor images = randn({settings.batch, 3, settings.size, settings.size});
  const Tensor labels = randint(0, 10, {settings.batch}, TensorOptions(kLong));
  const auto pieces = images.chunk(settings.micro_batches), piece_labels = labels.chunk(settings.micro_batches);

  std::printf("%s on %s and %s, %lld images of %lld x %lld\n", settings.model.c_str(), first.str().c_str(),
              second.str().c_str(), static_cast<long long>(settings.batch), static_cast<long long>(settings.size),
              static_cast<long long>(settings.size));
  const double expected = whole_batch(alone, images, labels);
  const std::vector<Tensor> whole = gradients(alone);
  const double loss = whole_batch(split, images, labels);
  std::printf("whole batch: loss %.6f on one device, %.6f on two; gradients differ by %.1e\n", expected, loss,
              difference(whole, gradients(split)));
  const double in_turn = one_by_one(alone, pieces, piece_labels);
  const std::vector<Tensor> parts = gradients(alone);
  const double overlapped = pipelined(split, pieces, piece_labels);
  std::printf("%lld micro-batches: loss %.6f on one device, %.6f on two; gradients differ by %.1e\n",
              static_cast<long long>(settings.micro_batches), in_turn, overlapped, difference(parts, gradients(split)));

  std::printf("a step on one device: %.1f ms\n",
              milliseconds(settings.steps, [&] { whole_batch(alone, images, labels); }));
  std::printf("on one device, micro-batches one by one: %.1f ms\n",
              milliseconds(settings.steps, [&] { one_by_one(alone, pieces, piece_labels); }));
  std::printf("on two: %.1f ms\n", milliseconds(settings.steps, [&] { whole_batch(split, images, labels); }));
  std::printf("on two with micro-batches: %.1f ms\n",
              milliseconds(settings.steps, [&] { pipelined(split, pieces, piece_labels); }));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
