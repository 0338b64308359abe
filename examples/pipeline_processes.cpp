// Pipeline parallelism over two processes: each has one half of the model. The schedule is GPipe's: all micro-batches
// go forward through both halves, then backward in the opposite order.
//
//   tandem launch -n 2 pipeline_processes [MICRO_BATCHES]      default: 4
//
// The second process also trains the whole model by itself, with the same micro-batches in the same order, and prints
// both losses; they have the same bits.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tandem/parallel/shared/collectives.h"
#include "tandem/tandem.h"

using namespace tandem;
namespace functional = distributed::functional;

constexpr int64_t kHidden = 256;

nn::Sequential first_half() {
  return nn::Sequential(nn::Linear(20, kHidden), nn::Tanh(), nn::Linear(kHidden, kHidden), nn::Tanh());
}
nn::Sequential second_half() {
  return nn::Sequential(nn::Linear(kHidden, kHidden), nn::Tanh(), nn::Linear(kHidden, 3));
}
// A sum, so the losses of the micro-batches add up to the loss of the batch.
Tensor loss_of(const Tensor& output, const Tensor& target) { return (output - target).pow(2).sum(); }

double sum_of(const std::vector<Tensor>& losses) {
  double sum = 0;
  for (const Tensor& loss : losses) sum += loss.item<double>();
  return sum;
}

// Calls forward(i) for each micro-batch, then runs the results backward. Returns the sum of the results.
template <class Forward>
double train(std::size_t micro_batches, optim::Optimizer& optimizer, const Forward& forward) {
  optimizer.zero_grad();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < micro_batches; ++i) results.push_back(forward(i));
  for (auto result = results.rbegin(); result != results.rend(); ++result) result->backward();
  optimizer.step();
  return sum_of(results);
}

constexpr const char* kUsage = "usage: tandem launch -n 2 pipeline_processes [MICRO_BATCHES]      default: 4\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const int64_t count = argc > 1 ? std::atoi(argv[1]) : 4;
  check(count > 0, "usage: tandem launch -n 2 pipeline_processes [MICRO_BATCHES]");
  const auto group = distributed::init_process_group();
  check(group->size() == 2, "pipeline_processes: expected 2 processes, got ", group->size(),
        "; start it with tandem launch -n 2");
  manual_seed(0);  // both processes make the same models and data, and use their half
  nn::Sequential first = first_half(), second = second_half(), whole(first_half(), second_half());
  whole->load_state_dict(nn::Sequential(first, second)->state_dict());
  const auto inputs = randn({64, 20}).chunk(count), targets = randn({64, 3}).chunk(count);
  const auto sgd = [](nn::Module& module) {
    return optim::SGD(module.parameters(), optim::SGDOptions(1e-3).momentum(0.9));
  };

  if (group->rank() == 0) {
    optim::SGD optimizer = sgd(*first);
    // What send() returns stands for the loss: its backward receives the gradient.
    for (int step = 0; step < 5; ++step)
      train(inputs.size(), optimizer, [&](std::size_t i) { return functional::send(first(inputs[i]), 1, group); });
  } else {
    optim::SGD optimizer = sgd(*second), optimizer_of_whole = sgd(*whole);
    for (int step = 0; step < 5; ++step) {
      const double loss = train(inputs.size(), optimizer, [&](std::size_t i) {
        const Tensor hidden = functional::recv({targets[i].size(0), kHidden}, requires_grad(), 0, group);
        return loss_of(second(hidden), targets[i]);
      });
      const double expected = train(inputs.size(), optimizer_of_whole,
                                    [&](std::size_t i) { return loss_of(whole(inputs[i]), targets[i]); });
      std::printf("step %d: loss %.9g in two processes, %.9g in one\n", step, loss, expected);
    }
  }
  distributed::destroy_process_group();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
