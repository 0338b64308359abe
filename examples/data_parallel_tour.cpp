// A tour of DataParallel: one linear layer on several devices, printing what each replica receives.
//
//   data_parallel_tour                      all GPUs if there are any, otherwise all CPU devices
//   data_parallel_tour cpu:0,cpu:1          these devices
//   data_parallel_tour 3                    three logical CPU devices
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "tandem/datasets/loader.h"
#include "tandem/parallel/parallel.h"
#include "tandem/tandem.h"

using namespace tandem;

// Thread-safe, since the replicas print from different threads.
void print(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::printf("%s\n", line.c_str());
}

struct ModelImpl : nn::Module {
  ModelImpl() { fc = register_module("fc", nn::Linear(5, 2)); }
  Tensor forward(Tensor input) {
    const Tensor output = fc(input);
    print(concat("In Model: input size ", input.sizes(), " output size ", output.sizes()));
    return output;
  }
  nn::Linear fc{nullptr};
};
TANDEM_MODULE(Model);

std::vector<Device> first_devices(DeviceType type, int count) {
  std::vector<Device> out;
  for (int i = 0; i < count; ++i) out.emplace_back(type, static_cast<DeviceIndex>(i));
  return out;
}

std::vector<Device> devices_of(const std::string& text) {
  if (text.empty()) {
    const DeviceType type = device_count(kCUDA) > 0 ? kCUDA : kCPU;
    return first_devices(type, device_count(type));
  }
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    cpu::set_device_count(std::stoi(text));
    return first_devices(kCPU, std::stoi(text));
  }
  std::vector<Device> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    out.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  int cpus = device_count(kCPU);
  for (const Device& device : out)
    if (device.is_cpu()) cpus = std::max(cpus, device.index() + 1);
  cpu::set_device_count(cpus);  // create the logical CPU devices that were requested
  return out;
}

constexpr const char* kUsage =
    "usage: data_parallel_tour                  on all GPUs if there are any, otherwise on all CPU devices\n"
    "       data_parallel_tour cpu:0,cpu:1      on these devices\n"
    "       data_parallel_tour 3                on three logical CPU devices\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const std::vector<Device> devices = devices_of(argc > 1 ? argv[1] : "");
  manual_seed(0);
  const Tensor vectors = randn({100, 5});
  Model model;
  model->to(devices[0]);
  auto run = [&](auto& net) {
    data::BatchLoader loader({vectors}, {.batch_size = 30, .shuffle = true});
    while (auto batch = loader.next()) {
      const Tensor input = (*batch)[0].to(devices[0]);
      const Tensor output = net(input);
      print(concat("Outside: input size ", input.sizes(), " output_size ", output.sizes()));
    }
  };
  if (devices.size() > 1) {
    std::printf("Let's use %zu devices!\n", devices.size());
    nn::DataParallel parallel(model, devices);
    run(parallel);
  } else {
    run(model);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
