// Training steps on two logical CPU devices.
#include "tandem/parallel/data_parallel/data_parallel.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"
#include "tandem/tests/parallel/logical_devices.h"

namespace tandem::faults {
namespace {

const std::vector<Kind> kKindsOfSteps = {Kind::kMemory, Kind::kMap, Kind::kThread};

nn::Sequential network() { return nn::Sequential(nn::Linear(4, 6), nn::Tanh(), nn::Linear(6, 2)); }

void data_parallel(const std::string&, Sum& sum) {
  const LogicalDevices two(2);
  manual_seed(1);
  nn::Sequential net = network();
  nn::DataParallel model(net, cpu_devices(2));
  optim::SGD sgd(net->parameters(), 0.1);
  model(randn({6, 4})).pow(2).mean().backward();
  sgd.step();
  sum.add(net->parameters());
}

void parameter_server(const std::string&, Sum& sum) {
  const LogicalDevices two(2);
  manual_seed(1);
  nn::Sequential net = network();
  parallel::ParameterServer server(net, cpu_devices(2), {.shards = 4});
  optim::SGD sgd(server.parameters(), 0.1);
  server.step(sgd, randn({8, 4}), randn({8, 2}), [](nn::SequentialImpl& piece, const Tensor& x, const Tensor& y) {
    return (piece.forward(x) - y).pow(2).mean();
  });
  sum.add(net->parameters());
}

const AddScenarios added({
    {.name = "data_parallel", .kinds = kKindsOfSteps, .run = data_parallel},
    {.name = "parameter_server", .kinds = kKindsOfSteps, .run = parameter_server},
});

}  // namespace
}  // namespace tandem::faults
