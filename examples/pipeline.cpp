// Pipeline parallelism: a model in two stages on two devices that compute concurrently. While the second
// stage works on one micro-batch, the first works on another.
//
//   pipeline [DEVICE,DEVICE [MICRO_BATCHES]]      default: cpu:0,cpu:1 and 4
//
// The gradients are compared with those of the unsplit model on the first device. With the same micro-batches
// in sequence, that model produces the same bits, since each stage accumulates its micro-batches in the same
// order. With the whole batch at once it agrees up to rounding: one sum over 64 rows instead of 4 sums over
// 16 rows. The same holds for a CPU and a GPU, whose summation orders differ.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "tandem/core/device_threads.h"
#include "tandem/tandem.h"

using namespace tandem;

// Passes tensors from one thread to another, in order. An undefined tensor signals that the sender failed.
class Channel {
 public:
  void send(Tensor t) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(t));
    changed_.notify_one();
  }
  Tensor receive() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty(); });
    Tensor t = std::move(queue_.front());
    queue_.pop_front();
    check(t.defined(), "pipeline: the other stage failed");
    return t;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Tensor> queue_;
};

nn::Sequential first_stage() {
  return nn::Sequential(nn::Linear(20, 256), nn::Tanh(), nn::Linear(256, 256), nn::Tanh());
}
nn::Sequential second_stage() { return nn::Sequential(nn::Linear(256, 256), nn::Tanh(), nn::Linear(256, 3)); }
// A sum, so the losses of the micro-batches add up to the loss of the batch.
Tensor loss_of(const Tensor& output, const Tensor& target) { return (output - target).pow(2).sum(); }

// Each stage works on its device: forward of all micro-batches, then backward in the same order. Only
// activations and their gradients cross devices.
void run_pipeline(nn::Sequential first, nn::Sequential second, const std::vector<Device>& devices,
                  const std::vector<Tensor>& inputs, const std::vector<Tensor>& targets) {
  Channel activations, gradients;
  const auto run_first = [&] {
    std::vector<Tensor> outputs;
    for (const Tensor& input : inputs) {
      outputs.push_back(first(input.to(devices[0])));
      activations.send(outputs.back().detach().to(devices[1]));
    }
    for (Tensor& output : outputs) output.backward(gradients.receive());
  };
  const auto run_second = [&] {
    for (const Tensor& target : targets) {
      const Tensor input = activations.receive().requires_grad_();
      loss_of(second(input), target.to(devices[1])).backward();
      gradients.send(input.grad().to(devices[0]));
    }
  };
  const auto errors = run_on_devices(devices, [&](std::size_t stage) {
    try {
      stage == 0 ? run_first() : run_second();
    } catch (...) {
      (stage == 0 ? activations : gradients).send({});
      throw;
    }
  });
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

// The largest difference of two modules' gradients, relative to the largest gradient; 0 if all bits agree.
double difference(const nn::Sequential& a, const nn::Sequential& b) {
  double most = 0, largest = 0;
  const auto left = a->parameters(), right = b->parameters();
  for (std::size_t k = 0; k < left.size(); ++k) {
    const Tensor x = left[k].grad().cpu(), y = right[k].grad().cpu();
    most = std::max(most, (x - y).abs().max().item<double>());
    largest = std::max(largest, y.abs().max().item<double>());
  }
  return most / largest;
}

constexpr const char* kUsage = "usage: pipeline [DEVICE,DEVICE [MICRO_BATCHES]]      default: cpu:0,cpu:1 and 4\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const std::string names = argc > 1 ? argv[1] : "cpu:0,cpu:1";
  const int64_t count = argc > 2 ? std::atoi(argv[2]) : 4;
  const std::size_t comma = names.find(',');
  check(comma != std::string::npos && count > 0, "usage: pipeline [DEVICE,DEVICE [MICRO_BATCHES]]");
  const std::vector<Device> devices{names.substr(0, comma), names.substr(comma + 1)};
  int cpus = 1;
  for (const Device& device : devices) cpus = std::max(cpus, device.is_cpu() ? device.index() + 1 : 1);
  cpu::set_device_count(cpus);

  manual_seed(0);
  nn::Sequential first = first_stage(), second = second_stage();
  const Tensor input = randn({64, 20}), target = randn({64, 3});
  const auto inputs = input.chunk(count), targets = target.chunk(count);
  const auto copy = [](const nn::Sequential& module) {
    return nn::Sequential(std::dynamic_pointer_cast<nn::SequentialImpl>(module->clone()));
  };
  nn::Sequential whole_first = copy(first), whole_second = copy(second);
  for (const auto& stage : {whole_first, whole_second}) stage.ptr()->to(devices[0]);
  const auto loss_of_unsplit = [&](const Tensor& x, const Tensor& y) {
    return loss_of(whole_second(whole_first(x.to(devices[0]))), y.to(devices[0]));
  };
  first->to(devices[0]);
  second->to(devices[1]);
  run_pipeline(first, second, devices, inputs, targets);

  for (std::size_t i = 0; i < inputs.size(); ++i) loss_of_unsplit(inputs[i], targets[i]).backward();
  std::printf("difference from the unsplit model, micro-batch by micro-batch: %g and %g\n",
              difference(first, whole_first), difference(second, whole_second));
  whole_first->zero_grad();
  whole_second->zero_grad();
  loss_of_unsplit(input, target).backward();
  std::printf("difference from the unsplit model, whole batch at once: %.1e and %.1e (relative)\n",
              difference(first, whole_first), difference(second, whole_second));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
