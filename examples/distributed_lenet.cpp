// The LeNet of lenet_modules.cpp in several processes: each trains on its part of every batch.
//
//   tandem launch -n 2 distributed_lenet [EPOCHS [IMAGES]]    IMAGES: the first of each set only
//   mpirun -n 2 distributed_lenet [EPOCHS [IMAGES]]
//   RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 distributed_lenet    (and RANK=1)
//
// TANDEM_BACKEND=mpi or nccl uses another engine than Gloo.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tandem/datasets/image_data.h"
#include "tandem/datasets/loader.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"

using namespace tandem;

struct LeNetImpl : nn::Module {
  LeNetImpl() {
    conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 20, 3)));
    conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(20, 50, 5)));
    fc1 = register_module("fc1", nn::Linear(800, 128));
    fc2 = register_module("fc2", nn::Linear(128, 10));
  }
  Tensor forward(Tensor x) {
    x = avg_pool2d(relu(conv1(x)), 2);
    x = avg_pool2d(relu(conv2(x)), 2);
    return fc2(relu(fc1(x.flatten(1))));
  }
  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::Linear fc1{nullptr}, fc2{nullptr};
};
TANDEM_MODULE(LeNet);

Tensor as_input(const Tensor& images, Device device) { return images.to(device).unsqueeze(1).to(kFloat).div_(255); }

constexpr const char* kUsage =
    "usage: tandem launch -n 2 distributed_lenet [EPOCHS [IMAGES]]\n"
    "  EPOCHS    passes over Fashion-MNIST (10)\n"
    "  IMAGES    only the first ones of the training and of the test images (60000)\n"
    "Also below mpirun, torchrun and srun, or with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment.\n"
    "TANDEM_BACKEND=mpi or nccl uses another engine than Gloo.\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 10;
  const int64_t most = argc > 2 ? std::atoi(argv[2]) : 60000;
  const char* backend = std::getenv("TANDEM_BACKEND");
  const auto group = distributed::init_process_group({.backend = backend ? backend : "gloo"});
  const Device device = group->device();
  manual_seed(0);
  const data::ImageDataPair data = data::read_image_data(data::find_dataset("fashion-mnist"));
  const auto first = [most](const Tensor& t) { return t.narrow(0, 0, std::min(most, t.size(0))); };
  LeNet net;
  net->to(device);
  distributed::DistributedDataParallel<LeNetImpl> model(net);
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::StepLR schedule(optimizer, /*step_size=*/5, /*gamma=*/0.3);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    Tensor sums = zeros({2}, kDouble);  // of losses and of samples
    data::BatchLoader loader({first(data.train.images), first(data.train.labels)},
                             {.batch_size = 256,
                              .shuffle = true,
                              .workers = 1,
                              .epoch = epoch,
                              .part = {.rank = group->rank(), .size = group->size()}});
    while (auto batch = loader.next()) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy_loss(model(as_input((*batch)[0], device)), (*batch)[1].to(device));
      loss.backward();  // averages the gradients over the processes
      optimizer.step();
      const auto samples = static_cast<double>((*batch)[1].size(0));
      sums += tensor({loss.item<double>() * samples, samples});
    }
    schedule.step();
    sums = sums.to(device);
    group->all_reduce(sums)->wait();
    if (group->rank() > 0) continue;
    NoGradGuard guard;
    const Tensor output = net(as_input(first(data.test.images), device)).cpu();
    const double correct = (output.argmax(1) == first(data.test.labels)).to(kDouble).mean().item<double>();
    std::printf("epoch %d: loss %.4f, test accuracy %.4f\n", epoch + 1, (sums[0] / sums[1]).item<double>(), correct);
    std::fflush(stdout);
  }
  distributed::destroy_process_group();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
