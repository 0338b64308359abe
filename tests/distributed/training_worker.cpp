// One rank of a training job, for training_test.py and training_failures_test.py.
//
//   training_worker server|ddp|fsdp|fsdp-shards [NAME=VALUE]...
//
// server: ParameterServer with 8 shards, so that the bits do not depend on the number of processes. ddp:
// DistributedDataParallel. fsdp: FullyShardedDataParallel; fsdp-shards: with 8 shards. Prints "step N" after every step,
// followed by " not finite" if a parameter is not. At the end it prints "hash SHA256" of the parameters (and, with
// shards, the buffers: the statistics of batch norm otherwise differ) and "files BEFORE AFTER", the open files before and
// after the group. Exit code 3: an exception, whose message is on stderr.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>

#include "tandem/cli/data/sha256.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/shards.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/fully_sharded/batch_shards.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr int64_t kInputs = 64, kClasses = 10, kShards = 8, kBatch = 256;

struct Settings {
  std::string backend = "gloo", save = "", load = "", fault = "";
  int64_t steps = 20, bytes = 4 << 20, hidden = 256;
  int64_t save_every = 0;      // by rank 0; 0: at the end only
  int64_t timeout = 5000;      // of the group, in milliseconds
  int64_t devices = 1;         // logical CPU devices per process
  int64_t rank = -1, at = 10;  // where and when the fault happens
  bool skip = false;           // losses that are not finite
  bool join = false;
};

Settings parse(int argc, char** argv) {
  Settings out;
  const std::map<std::string, std::string*> texts{
      {"backend", &out.backend}, {"save", &out.save}, {"load", &out.load}, {"fault", &out.fault}};
  const std::map<std::string, int64_t*> numbers{
      {"steps", &out.steps},     {"bytes", &out.bytes},     {"hidden", &out.hidden}, {"save_every", &out.save_every},
      {"timeout", &out.timeout}, {"devices", &out.devices}, {"rank", &out.rank},     {"at", &out.at}};
  const std::map<std::string, bool*> flags{{"skip", &out.skip}, {"join", &out.join}};
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    check(equals != std::string::npos, "expected NAME=VALUE, got ", argument);
    const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
    if (texts.contains(name))
      *texts.at(name) = value;
    else if (numbers.contains(name))
      *numbers.at(name) = std::stoll(value);
    else
      *flags.at(name) = value == "1";
  }
  return out;
}

// Batch norm and dropout depend on the shards, so they would show a wrong order or seed.
struct NetImpl : nn::Cloneable<NetImpl> {
  explicit NetImpl(int64_t the_hidden, bool the_other_order = false)
      : hidden(the_hidden), other_order(the_other_order) {
    reset();
  }
  void reset() override {
    if (other_order) second = register_module("second", nn::Linear(hidden, kClasses));
    first = register_module("first", nn::Linear(kInputs, hidden));
    norm = register_module("norm", nn::BatchNorm1d(hidden));
    drop = register_module("drop", nn::Dropout(0.3));
    if (!other_order) second = register_module("second", nn::Linear(hidden, kClasses));
  }
  Tensor forward(const Tensor& x) {
    if (fails) throw std::runtime_error("sample 7 is broken");
    return second(drop(relu(norm(first(x)))));
  }
  int64_t hidden;
  bool other_order;
  bool fails = false;
  nn::Linear first{nullptr}, second{nullptr};
  nn::BatchNorm1d norm{nullptr};
  nn::Dropout drop{nullptr};
};

struct Job {
  Settings settings;
  distributed::ProcessGroup& group;
  std::shared_ptr<NetImpl> net;

  bool faulty() const { return group.rank() == settings.rank; }
  bool faulty(const char* fault, int64_t step) const {
    return faulty() && settings.fault == fault && step == settings.at;
  }
};

std::shared_ptr<NetImpl> make_net(const Settings& settings, int rank) {
  const bool faulty = rank == settings.rank;
  auto net = std::make_shared<NetImpl>(settings.hidden + (faulty && settings.fault == "shape" ? 1 : 0),
                                       faulty && settings.fault == "order");
  if (faulty && settings.fault == "dtype") net->to(kDouble);
  return net;
}

// This process's part of batch `step`.
std::pair<Tensor, Tensor> part_of_batch(const Job& job, int64_t step, int64_t shards) {
  const int64_t samples = step % 5 == 2 ? kBatch - 27 : kBatch;  // also shards of unequal size
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(50 + step))};
  Tensor x = randn({samples, kInputs});
  const Tensor y = randint(kClasses, {samples}, kLong);
  const auto [begin, end] = shard_range(samples, shards, job.group.size(), job.group.rank());
  x = x.narrow(0, begin, end - begin);
  if (job.faulty("nan", step)) x.fill_(NAN);
  return {x, y.narrow(0, begin, end - begin)};
}

// What a faulty rank does before a step. Returns false if it has no more batches.
bool begin_step(const Job& job, int64_t step) {
  job.net->fails = job.faulty("throw", step);
  if (job.faulty("other", step)) job.group.all_reduce(ones({3}))->wait();
  if (job.faulty("again", step)) job.group.broadcast(job.net->first->bias.detach(), 0)->wait();
  if (job.faulty("disk", step)) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    check(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit failed");
  }
  return !job.faulty("short", step);
}

void end_step(const Job& job, int64_t step, const std::function<void(const std::string&)>& save_to) {
  const Settings& settings = job.settings;
  const bool last = step + 1 == settings.steps;
  const bool now = last || (settings.save_every > 0 && (step + 1) % settings.save_every == 0);
  if (!settings.save.empty() && now && job.group.rank() == 0) save_to(settings.save);
  bool finite = true;
  for (const Tensor& p : job.net->parameters()) finite = finite && p.detach().isfinite().all().item<bool>();
  std::printf("step %lld%s\n", static_cast<long long>(step), finite ? "" : " not finite");
  std::fflush(stdout);
}

template <class... Parts>
void save_parts(const std::string& path, const Parts&... parts) {
  serialize::OutputArchive archive;
  int number = 0;
  const auto add = [&](const auto& part) {
    serialize::OutputArchive inner;
    part.save(inner);
    archive.write(std::to_string(number++), inner);
  };
  (add(parts), ...);
  archive.save_to(path);
}

template <class... Parts>
void load_parts(const std::string& path, Parts&... parts) {
  serialize::InputArchive archive;
  archive.load_from(path);
  int number = 0;
  const auto take = [&](auto& part) {
    serialize::InputArchive inner;
    archive.read(std::to_string(number++), inner);
    part.load(inner);
  };
  (take(parts), ...);
}

std::vector<Device> devices_of(const Settings& settings) {
  std::vector<Device> out;
  for (int64_t i = 0; i < settings.devices; ++i) out.emplace_back(kCPU, static_cast<DeviceIndex>(i));
  return out;
}

void train_server(const Job& job) {
  const Settings& settings = job.settings;
  parallel::ServerOptions options;
  options.shards = kShards;
  options.group = job.group.shared_from_this();
  options.bucket_bytes = settings.bytes;
  if (settings.skip) options.not_finite = parallel::NotFinite::kSkip;
  parallel::ParameterServer<NetImpl> server(job.net, devices_of(settings), options);
  optim::SGD optimizer(server.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  if (!settings.load.empty()) load_parts(settings.load, *job.net, optimizer, server);
  for (int64_t step = server.steps(); step < settings.steps; ++step) {
    if (!begin_step(job, step)) return;
    const auto [x, y] = part_of_batch(job, step, kShards);
    const auto result = server.step(optimizer, x, y, [](NetImpl& net, const Tensor& inputs, const Tensor& classes) {
      return cross_entropy_loss(net.forward(inputs), classes);
    });
    if (result.skipped) std::printf("skipped %lld\n", static_cast<long long>(step));
    end_step(job, step, [&](const std::string& path) { save_parts(path, *job.net, optimizer, server); });
  }
}

template <class Model>
void train_on_part(const Job& job, int64_t step, Model& model, optim::Optimizer& optimizer) {
  const auto [x, y] = part_of_batch(job, step, job.group.size());
  optimizer.zero_grad();
  cross_entropy_loss(model->forward(x), y).backward();
  optimizer.step();
}

void train_ddp(const Job& job) {
  const Settings& settings = job.settings;
  distributed::DistributedDataParallel<NetImpl> model(
      job.net, {.devices = devices_of(settings), .bucket_bytes = settings.bytes, .first_bucket_bytes = settings.bytes});
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const auto loop = [&] {
    for (int64_t step = 0; step < settings.steps; ++step) {
      if (!begin_step(job, step)) return;
      train_on_part(job, step, model, optimizer);
      end_step(job, step, [&](const std::string& path) { save_parts(path, *job.net, optimizer); });
    }
  };
  settings.join ? model->join(loop) : loop();
}

// The net is whole again at the end. `shards`: with the server's.
void train_fsdp(Job& job, bool in_shards) {
  const Settings& settings = job.settings;
  distributed::FullyShardedDataParallel<NetImpl> model(
      job.net, {.is_unit = [](const std::string&, const nn::Module&) { return true; }});
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  distributed::BatchShards shards(model.ptr(), {.shards = kShards});
  for (int64_t step = 0; step < settings.steps; ++step) {
    if (!begin_step(job, step)) return;
    if (in_shards) {
      const auto [x, y] = part_of_batch(job, step, kShards);
      optimizer.zero_grad();
      shards.backward({x, y}, [&](const distributed::Tensors& shard) {
        return cross_entropy_loss(model->forward(shard[0]), shard[1]);
      });
      optimizer.step();
    } else {
      train_on_part(job, step, model, optimizer);
    }
    end_step(job, step, [](const std::string&) {});
  }
  auto whole = std::make_shared<NetImpl>(settings.hidden);
  OrderedDict<std::string, Tensor> state = model->gather_parameters();
  for (const auto& [name, buffer] : job.net->named_buffers()) state.insert(name, buffer);
  whole->load_state_dict(state);
  job.net = whole;
}

std::string hash_of(const nn::Module& net, bool with_buffers) {
  cli::Sha256 hash;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    const Tensor bytes = tensor.detach().contiguous();
    hash.update(name.data(), name.size());
    hash.update(bytes.data_ptr(), bytes.nbytes());
  };
  for (const auto& [name, tensor] : net.named_parameters()) add(name, tensor);
  if (with_buffers)
    for (const auto& [name, tensor] : net.named_buffers()) add(name, tensor);
  return hash.hex_digest();
}

int open_files() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

void run(const std::string& kind, const Settings& settings) {
  const int before = open_files();
  const double begin = seconds_now();
  {
    const auto group = distributed::init_process_group(
        {.backend = settings.backend, .timeout = distributed::Milliseconds(settings.timeout)});
    std::printf("connected %.2f\n", seconds_now() - begin);
    manual_seed(static_cast<uint64_t>(group->rank()));  // rank 0's counts
    cpu::set_device_count(static_cast<int>(settings.devices));
    Job job{settings, *group, make_net(settings, group->rank())};
    if (job.faulty("other", -1)) group->all_reduce(ones({3}))->wait();
    if (kind == "server")
      train_server(job);
    else if (kind.starts_with("fsdp"))
      train_fsdp(job, kind == "fsdp-shards");
    else
      train_ddp(job);
    std::printf("hash %s\n", hash_of(*job.net, kind == "server" || kind == "fsdp-shards").c_str());
  }
  distributed::destroy_process_group();
  std::printf("files %d %d\n", before, open_files());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check(argc > 1, "expected server, ddp, fsdp or fsdp-shards");
    run(argv[1], parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    // The other ranks then fail with this message, and do not only learn that this one has ended.
    if (distributed::is_initialized()) distributed::default_group()->abort(error.what());
    return 3;
  }
}
