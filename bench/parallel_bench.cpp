// Compares training on several devices with training on one. Prints a table, and the ratios with their goals.
//
//   >= 1.9 x   LeNet, batch 256: speed-up of 2 logical CPU devices of one core each over 1 device of one core
//   >= 1.0 x   the same over 1 device with 2 threads
//   <= 0.3 ms  overhead per step: reduce + optimizer + broadcast, 129,068 parameters, 2 devices
//   <= 1.15 x  time with shards=8 relative to no shards, 1 device
//
//   bench_parallel [ROUNDS]
//
// Configurations alternate, with a few steps each, so that other load on the machine affects all of them
// alike. Figures are medians over all steps, with the best step beside them. Two devices need two free cores.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "distributed/models.h"
#include "tandem/core/base/clock.h"
#include "tandem/parallel/parameter_server/parameter_server.h"

using namespace bench;
using namespace tandem::parallel;

namespace {

const auto loss_of = [](LeNetImpl& net, const Tensor& x, const Tensor& y) {
  return nn::functional::cross_entropy(net.forward(x), y);
};

// One configuration: `use` of `logical` devices that share two threads.
struct Way {
  Way(const char* name, int logical, int use, int64_t shards) : name(name), logical(logical) {
    cpu::set_device_count(logical);
    std::vector<Device> devices;
    for (int i = 0; i < use; ++i) devices.push_back(Device(kCPU, static_cast<DeviceIndex>(i)));
    server = std::make_unique<ParameterServer<LeNetImpl>>(std::make_shared<LeNetImpl>(), devices,
                                                          ServerOptions{.shards = shards});
    optimizer = std::make_unique<optim::SGD>(server->parameters(), 0.1);
  }
  void measure(const Tensor& x, const Tensor& y, int steps) {
    cpu::set_device_count(logical);
    server->step(*optimizer, x, y, loss_of);  // starts the threads of the pool
    for (int i = 0; i < steps; ++i) {
      server->reset_timings();
      const double begin = seconds_now(), cpu_begin = cpu_seconds_now();
      server->step(*optimizer, x, y, loss_of);
      seconds.push_back(seconds_now() - begin);
      cpu_seconds.push_back(cpu_seconds_now() - cpu_begin);
      const ServerTimings& t = server->timings();
      double fetch = 0;
      for (const DeviceTimings& device : t.devices) fetch = std::max(fetch, device.broadcast);
      reduce.push_back(t.reduce);
      stepped.push_back(t.optimizer);
      broadcast.push_back(fetch);
    }
  }
  void forget() {
    for (auto* list : {&seconds, &cpu_seconds, &reduce, &stepped, &broadcast}) list->clear();
  }
  double typical_cpu() const { return median(cpu_seconds); }
  double typical() const { return median(seconds); }
  double best() const { return *std::min_element(seconds.begin(), seconds.end()); }

  const char* name;
  int logical;
  std::unique_ptr<ParameterServer<LeNetImpl>> server;
  std::unique_ptr<optim::SGD> optimizer;
  std::vector<double> seconds, cpu_seconds, reduce, stepped, broadcast;
};

void ratio(const char* what, double value, const char* goal) {
  std::printf("%-66s %6.3f   goal %s\n", what, value, goal);
}

// Prints the memory used on the server device and on its peer between two steps.
void print_memory(const Tensor& x, const Tensor& y) {
  cpu::set_device_count(2);
  const Device root("cpu:0"), peer("cpu:1");
  const auto held = [](Device device) { return memory_stats(device).current_bytes; };
  const int64_t before = held(root);
  Way way("", 2, 2, 0);
  way.measure(x, y, 2);
  const auto flat = static_cast<double>(way.server->parameters()[0].nbytes());
  std::printf(
      "memory between steps, in multiples of the parameters' size: server %.2f, peer %.2f (SGD without "
      "momentum)\n\n",
      static_cast<double>(held(root) - before) / flat, static_cast<double>(held(peer)) / flat);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20;
  set_num_threads(2);
  manual_seed(0);
  const Tensor x = randn({256, 1, 28, 28}), y = randint(0, 10, {256}, TensorOptions(kLong));
  print_memory(x, y);
  std::vector<Way> ways;
  ways.emplace_back("1 device of 1 core", 2, 1, 0);
  ways.emplace_back("2 devices of 1 core", 2, 2, 0);
  ways.emplace_back("1 device, 2 threads", 1, 1, 0);
  ways.emplace_back("1 device of 1 core, shards=8", 2, 1, 8);
  ways.emplace_back("2 devices of 1 core, shards=8", 2, 2, 8);
  ways.emplace_back("1 device, 2 threads, shards=8", 1, 1, 8);
  for (int round = 0; round <= rounds; ++round) {
    for (Way& way : ways) way.measure(x, y, 5);
    if (round == 0)
      for (Way& way : ways) way.forget();  // the first round warms up
  }
  std::printf("%-32s %9s %9s %9s %11s %13s %13s\n", "LeNet, batch 256, SGD", "ms/step", "best", "cpu ms", "reduce us",
              "optimizer us", "broadcast us");
  for (const Way& way : ways)
    std::printf("%-32s %9.2f %9.2f %9.2f %11.1f %13.1f %13.1f\n", way.name, 1e3 * way.typical(), 1e3 * way.best(),
                1e3 * way.typical_cpu(), 1e6 * median(way.reduce), 1e6 * median(way.stepped),
                1e6 * median(way.broadcast));
  std::printf("\n");
  const Way& two = ways[1];
  ratio("2 devices of 1 core: speed-up over 1 device of 1 core", ways[0].typical() / two.typical(), ">= 1.9");
  ratio("  by the best step of each", ways[0].best() / two.best(), ">= 1.9");
  ratio("2 devices of 1 core: speed-up over 1 device with 2 threads", ways[2].typical() / two.typical(), ">= 1.0");
  ratio("  by the best step of each", ways[2].best() / two.best(), ">= 1.0");
  ratio("overhead per step, ms (reduce + optimizer + broadcast)",
        1e3 * (median(two.reduce) + median(two.stepped) + median(two.broadcast)), "<= 0.3");
  ratio("shards=8 on 1 device of 1 core: time relative to no shards", ways[3].typical() / ways[0].typical(), "<= 1.15");
  ratio("  the same for the process's CPU time", ways[3].typical_cpu() / ways[0].typical_cpu(), "");
  ratio("shards=8 on 2 devices of 1 core: time relative to no shards", ways[4].typical() / two.typical(), "");
  ratio("shards=8 on 1 device with 2 threads: time relative to no shards", ways[5].typical() / ways[2].typical(),
        "<= 1.15");
}
