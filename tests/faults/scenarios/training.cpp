// Networks are built and trained for a step.
#include "tandem/models/lenet.h"
#include "tandem/models/resnet.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {
namespace {

template <class Loss>
void step(nn::Module& model, optim::Optimizer& optimizer, Sum& sum, Loss loss) {
  optimizer.zero_grad();
  const Tensor value = loss();
  value.backward();
  optimizer.step();
  sum.add(value);
  sum.add(model.parameters());
  sum.add(model.buffers());
}

void lenet(const std::string&, Sum& sum) {
  manual_seed(1);
  nn::Sequential net = models::lenet();
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
  const Tensor x = randn({4, 1, 28, 28}), y = randint(10, {4}, kLong);
  step(*net, sgd, sum, [&] { return nn::functional::cross_entropy(net->forward(x), y); });
}

void lstm(const std::string&, Sum& sum) {
  manual_seed(1);
  nn::LSTM net(nn::LSTMOptions(8, 12).num_layers(2).batch_first(true));
  optim::Adam adam(net->parameters(), optim::AdamOptions(1e-2));
  const Tensor x = randn({3, 5, 8});
  step(*net, adam, sum, [&] { return std::get<0>(net->forward(x)).pow(2).mean(); });
}

void resnet18(const std::string&, Sum& sum) {
  manual_seed(1);
  models::ResNet net = models::resnet18(10);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
  const Tensor x = randn({2, 3, 32, 32}), y = randint(10, {2}, kLong);
  step(*net, sgd, sum, [&] { return nn::functional::cross_entropy(net->forward(x), y); });
}

const AddScenarios added({
    {.name = "lenet",
     .kinds = {Kind::kMemory, Kind::kMap, Kind::kThread, Kind::kOpen, Kind::kRead, Kind::kLibrary},
     .run = lenet},
    {.name = "lstm", .kinds = {Kind::kMemory, Kind::kMap, Kind::kThread}, .run = lstm},
    {.name = "resnet18", .kinds = {Kind::kMemory, Kind::kMap}, .run = resnet18, .weight = 10},
});

}  // namespace
}  // namespace tandem::faults
