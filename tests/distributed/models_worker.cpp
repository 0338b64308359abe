// One rank that trains a model of this project, for models_test.py.
//
//   models_worker ddp|fsdp lenet|resnet18|gpt2 BACKEND [save=FOLDER] [load=FOLDER]
//
// ddp: DistributedDataParallel. fsdp: FullyShardedDataParallel. Prints "hash RANK SHA256" of the losses, parameters and
// buffers after a few steps, or after none with load=; buffers are left out where they have been loaded. save= and load=
// are checkpoints of fsdp.
#include <cstdio>
#include <functional>
#include <string>

#include "tandem/cli/data/sha256.h"
#include "tandem/models/gpt2.h"
#include "tandem/models/lenet.h"
#include "tandem/models/resnet.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/fully_sharded/checkpoint_files.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr int kSteps = 3;
constexpr int64_t kClasses = 7, kVocabulary = 37;

struct Job {
  distributed::ProcessGroup& group;
  bool sharded;
  std::string save, load;
};

Tensor image_loss(const std::function<Tensor(const Tensor&)>& forward, int64_t channels) {
  const Tensor images = randn({2, channels, 32, 32});
  return nn::functional::cross_entropy(forward(images), randint(kClasses, {2}, kLong));
}
Tensor text_loss(const std::function<Tensor(const Tensor&)>& forward) {
  const Tensor tokens = randint(kVocabulary, {2, 11}, kLong);
  return nn::functional::cross_entropy(forward(tokens.narrow(1, 0, 10)).flatten(0, 1),
                                       tokens.narrow(1, 1, 10).flatten());
}

template <class Model, class Loss>
void train(const Job& job, Model& model, optim::Optimizer& optimizer, const Loss& loss, cli::Sha256& hash) {
  for (int step = 0; step < kSteps; ++step) {
    const GeneratorGuard guard{Generator(static_cast<uint64_t>(100 * step + job.group.rank()))};
    optimizer.zero_grad();
    const Tensor value = loss([&](const Tensor& x) { return model->forward(x); });
    value.backward();
    optimizer.step();
    const auto number = value.template item<double>();
    hash.update(&number, sizeof(number));
  }
}

void add(cli::Sha256& hash, const OrderedDict<std::string, Tensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    const Tensor bytes = tensor.detach().contiguous();
    hash.update(name.data(), name.size());
    hash.update(bytes.data_ptr(), bytes.nbytes());
  }
}

template <class Net, class Loss>
std::string hash_of_run(const Job& job, const nn::ModuleHolder<Net>& net, const Loss& loss) {
  const optim::AdamOptions options(0.002);
  cli::Sha256 hash;
  if (!job.sharded) {
    distributed::DistributedDataParallel<Net> model(net.ptr());
    optim::Adam optimizer(model->parameters(), options);
    train(job, model, optimizer, loss, hash);
    add(hash, net->named_parameters());
    add(hash, net->named_buffers());
    return hash.hex_digest();
  }
  distributed::FullyShardedDataParallel<Net> model(net.ptr());
  optim::Adam optimizer(model->parameters(), options);
  if (job.load.empty())
    train(job, model, optimizer, loss, hash);
  else
    distributed::load_checkpoint(*model, job.load, &optimizer);
  if (!job.save.empty()) {
    distributed::save_checkpoint(*model, job.save, &optimizer);
    hash = cli::Sha256();
  }
  add(hash, model->gather_parameters());
  if (job.save.empty() && job.load.empty()) add(hash, net->named_buffers());
  return hash.hex_digest();
}

std::string hash_of_run(const Job& job, const std::string& name) {
  const auto images = [](int64_t channels) {
    return [channels](const auto& forward) { return image_loss(forward, channels); };
  };
  if (name == "lenet")
    return hash_of_run(job, models::lenet(models::LeNetOptions(kClasses).height(32).width(32)), images(1));
  if (name == "resnet18") return hash_of_run(job, models::resnet18(kClasses), images(3));
  check(name == "gpt2", "expected lenet, resnet18 or gpt2, got ", name);
  const auto options = models::GPT2Options().vocab_size(kVocabulary).n_positions(16).n_embd(24).n_layer(3).n_head(3);
  return hash_of_run(job, models::GPT2LMHeadModel(options), [](const auto& forward) { return text_loss(forward); });
}

}  // namespace

int main(int argc, char** argv) try {
  check(argc >= 4, "expected ddp or fsdp, a model and a backend");
  const auto group = distributed::init_process_group({.backend = argv[3]});
  Job job{*group, std::string(argv[1]) == "fsdp", "", ""};
  for (int i = 4; i < argc; ++i) {
    const std::string argument = argv[i];
    (argument.starts_with("save=") ? job.save : job.load) = argument.substr(5);
  }
  manual_seed(static_cast<uint64_t>(group->rank()));  // rank 0's counts
  const std::string digest = hash_of_run(job, argv[2]);
  std::printf("hash %d %s\n", group->rank(), digest.c_str());
  distributed::destroy_process_group();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
