// One process of a measurement: measure.py starts as many as there are ranks and reads the JSON line that each prints.
//
//   bench_distributed data                                   the path of Fashion-MNIST's training images
//   bench_distributed train KEY=VALUE ...                    training steps
//   bench_distributed all_reduce bytes=N repeats=N           all_reduce of float32
//   bench_distributed exchange bytes=N shards=N part=BYTES repeats=N    the sum of shards in tree order, of float32
//   bench_distributed add bytes=N repeats=N                  a sum of two tensors in this process, of float32
//   bench_distributed calls                                  what the watchdog and the comparison of calls cost
//
// Keys of train: model=lenet|mlp|gpt2, batch=N (of all processes), steps=N, warm=N, shards=N, bucket=BYTES,
// first=BYTES, interface=NAME (count its bytes); of gpt2 layers=N, width=N, heads=N, vocabulary=N, tokens=N (of a
// sequence); way=
//   ddp            DistributedDataParallel
//   fully_sharded  FullyShardedDataParallel; reshard=0: units stay gathered between forward and backward
//   server         ParameterServer on one device per process
//   devices        ParameterServer on `devices` logical devices in one process
//   local          no communication
//   pass           forward and backward without communication, which drops each gradient once it is complete
//   comm           only the communication of ddp
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "models.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/logical_devices.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/shards.h"
#include "tandem/datasets/image_data.h"
#include "tandem/models/gpt2.h"
#include "tandem/parallel/distributed/call_record.h"
#include "tandem/parallel/distributed/watchdog.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel.h"
#include "tandem/parallel/fully_sharded/sharded_construction.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/parallel/shards/tree_exchange.h"
#include "tandem/parallel/shared/gradient_hooks.h"

using namespace bench;

namespace {

class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string text = argv[i];
      const std::size_t equals = text.find('=');
      check(equals != std::string::npos, "expected KEY=VALUE, got ", text);
      values_[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  int64_t number(const std::string& key, int64_t otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : std::stoll(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

int64_t counter(const std::string& interface, const char* name) {
  if (interface.empty()) return 0;
  std::ifstream file("/sys/class/net/" + interface + "/statistics/" + name);
  int64_t value = 0;
  check(static_cast<bool>(file >> value), "interface ", interface, " has no statistics");
  return value;
}

std::shared_ptr<distributed::ProcessGroup> join() {
  const char* backend = std::getenv("TANDEM_BACKEND");
  return distributed::init_process_group({.backend = backend ? backend : "gloo"});
}

/// This process's part of each batch: inputs and targets.
using NextBatch = std::function<Tensors()>;

std::pair<int64_t, int64_t> part_of_batch(const Options& options, const distributed::ProcessGroup& group) {
  const int64_t batch = options.number("batch", 256), shards = options.number("shards", 0);
  check(shards > 0 || batch % group.size() == 0, "the batch of ", batch, " cannot be divided by ", group.size());
  return shard_range(batch, shards > 0 ? shards : group.size(), group.size(), group.rank());
}

/// The same images again after an epoch.
NextBatch images(const Options& options, const distributed::ProcessGroup& group) {
  const auto [begin, end] = part_of_batch(options, group);
  const data::ImageDataPair data = data::read_image_data(data::find_dataset("fashion-mnist"));
  const Tensor order = randperm(data.train.images.size(0));
  return [images = data.train.images, labels = data.train.labels, order, begin = begin, part = end - begin,
          batch = options.number("batch", 256), at = int64_t{0}]() mutable -> Tensors {
    if (at + batch > order.size(0)) at = 0;
    const Tensor chosen = order.narrow(0, at + begin, part);
    at += batch;
    return {images.index_select(0, chosen).unsqueeze(1).to(kFloat).div_(255), labels.index_select(0, chosen)};
  };
}

NextBatch vectors(const Options& options, const distributed::ProcessGroup& group) {
  const auto [begin, end] = part_of_batch(options, group);
  const Tensors batch{randn({end - begin, MlpImpl::kWidth}), randint(0, 10, {end - begin}, TensorOptions(kLong))};
  return [batch] { return batch; };
}

NextBatch texts(const Options& options, const distributed::ProcessGroup& group, const models::GPT2Options& model) {
  const auto [begin, end] = part_of_batch(options, group);
  const auto tokens = [&, rows = end - begin] {
    return randint(0, model.vocab_size(), {rows, options.number("tokens", 128)}, TensorOptions(kLong));
  };
  const Tensors batch{tokens(), tokens().flatten()};
  return [batch] { return batch; };
}

struct Measured {
  std::vector<double> seconds;
  double total = 0, processor = 0;  // of all steps, wall-clock and of this process's threads together
  int64_t sent = 0, packets = 0;
  int64_t first_peak = 0, peak = 0;          // of tensor storage: in the first steps, and afterwards
  int64_t parameters = 0, largest_unit = 0;  // elements: of this process, and of FullyShardedDataParallel
};

/// Runs step(batch) on all processes at once.
template <class Step>
Measured measured(const Options& options, const NextBatch& next, distributed::ProcessGroup& group, const Step& step) {
  Measured out;
  const std::string interface = options.text("interface", "");
  const Device cpu("cpu:0");
  reset_peak_memory_stats(cpu);
  for (int64_t i = options.number("warm", 5); i > 0; --i) step(next());
  out.first_peak = memory_stats(cpu).peak_bytes;
  group.barrier()->wait();
  reset_peak_memory_stats(cpu);
  const int64_t sent = counter(interface, "tx_bytes"), packets = counter(interface, "tx_packets");
  const double begin = seconds_now();
  const std::clock_t used = std::clock();
  for (int64_t i = options.number("steps", 50); i > 0; --i) {
    const double before = seconds_now();
    step(next());
    out.seconds.push_back(seconds_now() - before);
  }
  group.barrier()->wait();
  out.total = seconds_now() - begin;
  out.processor = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
  out.sent = counter(interface, "tx_bytes") - sent, out.packets = counter(interface, "tx_packets") - packets;
  out.peak = memory_stats(cpu).peak_bytes;
  return out;
}

const auto loss_of = [](auto& net, const Tensors& batch) {
  const Tensor scores = net.forward(batch[0]);
  return nn::functional::cross_entropy(scores.dim() == 3 ? scores.flatten(0, 1) : scores, batch[1]);
};

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(const Tensors& parameters)>;
std::unique_ptr<optim::Optimizer> sgd(const Tensors& parameters) {
  return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.01).momentum(0.9));
}
std::unique_ptr<optim::Optimizer> adam(const Tensors& parameters) {
  return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(1e-4));
}

int64_t elements_of(const Tensors& tensors) {
  int64_t sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.numel();
  return sum;
}

/// Of a net, or of a model that holds one.
template <class Net>
Measured train_steps(const Options& options, distributed::ProcessGroup& group, const NextBatch& next,
                     const MakeOptimizer& make_optimizer, Net& net) {
  const auto optimizer = make_optimizer(net.parameters());
  Measured out = measured(options, next, group, [&](const Tensors& batch) {
    optimizer->zero_grad();
    loss_of(net, batch).backward();
    optimizer->step();
  });
  out.parameters = elements_of(net.parameters());
  return out;
}

template <class Make>
Measured train_fully_sharded(const Options& options, const std::shared_ptr<distributed::ProcessGroup>& group,
                             const NextBatch& next, const MakeOptimizer& make_optimizer, const Make& make) {
  using Net = typename decltype(make())::element_type;
  auto construction = std::make_unique<distributed::ShardedConstruction>(group);
  distributed::FullyShardedDataParallel<Net> model(
      make(), {.process_group = group, .reshard_after_forward = options.number("reshard", 1) != 0});
  construction.reset();
  Measured out = train_steps(options, *group, next, make_optimizer, *model);
  std::map<std::string, int64_t> units;
  for (const distributed::ShardedSlice& slice : model->slices())
    units[slice.unit] += slice.slice.numel() * group->size();
  for (const auto& unit : units) out.largest_unit = std::max(out.largest_unit, unit.second);
  return out;
}

/// The ways of training that divide the batch and not its sums.
template <class Make>
Measured train_copies(const Options& options, const std::shared_ptr<distributed::ProcessGroup>& group,
                      const NextBatch& next, const MakeOptimizer& make_optimizer, const Make& make) {
  using Net = typename decltype(make())::element_type;
  const std::string way = options.text("way", "ddp");
  if (way == "fully_sharded") return train_fully_sharded(options, group, next, make_optimizer, make);
  const std::shared_ptr<Net> net = make();
  if (way == "pass") {
    const Tensors parameters = net->parameters();
    const parallel::GradientHooks drop(
        parameters, [&](std::size_t i) { parameters[i].mutable_grad().reset(); }, [](std::size_t) {});
    Measured out = measured(options, next, *group, [&](const Tensors& batch) { loss_of(*net, batch).backward(); });
    out.parameters = elements_of(parameters);
    return out;
  }
  if (way == "local") return train_steps(options, *group, next, make_optimizer, *net);
  distributed::DistributedDataParallelOptions ddp;
  ddp.process_group = group;
  ddp.bucket_bytes = options.number("bucket", ddp.bucket_bytes);
  ddp.first_bucket_bytes = options.number("first", ddp.first_bucket_bytes);
  if (way == "comm") {
    const int64_t elements = elements_of(net->parameters());
    const Tensor flat = zeros({elements});
    return measured(options, next, *group, [&](const Tensors&) {
      std::vector<distributed::WorkPtr> works;
      for (int64_t at = 0, k = 0; at < elements; ++k) {
        const int64_t n = std::min(elements - at, (k == 0 ? ddp.first_bucket_bytes : ddp.bucket_bytes) / 4);
        works.push_back(group->all_reduce(flat.narrow(0, at, n), distributed::ReduceOp::AVG, static_cast<int>(k)));
        at += n;
      }
      for (const auto& work : works) work->wait();
    });
  }
  check(way == "ddp", "there is no way \"", way, "\"");
  distributed::DistributedDataParallel<Net> model(net, ddp);
  return train_steps(options, *group, next, make_optimizer, *model);
}

template <class Net>
Measured train(const Options& options, const std::shared_ptr<distributed::ProcessGroup>& group, const NextBatch& next) {
  const std::string way = options.text("way", "ddp");
  const auto make = [] { return std::make_shared<Net>(); };
  if (way != "server" && way != "devices") return train_copies(options, group, next, sgd, make);
  const int64_t devices = way == "devices" ? options.number("devices", 2) : 1;
  parallel::ServerOptions server_options{.shards = options.number("shards", 0)};
  if (way == "server") server_options.group = group;
  server_options.bucket_bytes = options.number("bucket", server_options.bucket_bytes);
  std::vector<Device> list;
  for (int64_t i = 0; i < devices; ++i) list.push_back(Device(kCPU, static_cast<DeviceIndex>(i)));
  parallel::ParameterServer<Net> server(make(), list, server_options);
  const auto optimizer = sgd(server.parameters());
  return measured(options, next, *group, [&](const Tensors& batch) { server.step(*optimizer, batch, loss_of); });
}

Measured train(const Options& options, const std::shared_ptr<distributed::ProcessGroup>& group) {
  const std::string model = options.text("model", "lenet");
  if (model == "lenet") return train<LeNetImpl>(options, group, images(options, *group));
  if (model == "mlp") return train<MlpImpl>(options, group, vectors(options, *group));
  check(model == "gpt2", "there is no model \"", model, "\"");
  models::GPT2Options gpt2;
  gpt2.n_layer(options.number("layers", gpt2.n_layer())).n_embd(options.number("width", gpt2.n_embd()));
  gpt2.n_head(options.number("heads", gpt2.n_head())).vocab_size(options.number("vocabulary", gpt2.vocab_size()));
  return train_copies(options, group, texts(options, *group, gpt2), adam,
                      [&] { return models::GPT2LMHeadModel(gpt2).ptr(); });
}

/// The largest resident memory of this process so far, shared memory included, in bytes.
int64_t resident_peak() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  fail("/proc/self/status has no VmHWM");
}

void run_data(const Options&) { std::printf("%s\n", data::find_dataset("fashion-mnist").train_images.c_str()); }

void run_train(const Options& options) {
  const int64_t devices = options.text("way", "") == "devices" ? options.number("devices", 2) : 1;
  set_num_threads(static_cast<int>(devices));
  if (devices > 1) set_logical_devices(kCPU, static_cast<int>(devices));
  manual_seed(0);
  const auto group = join();
  const Measured m = train(options, group);
  const auto steps = static_cast<double>(m.seconds.size());
  std::printf(
      "{\"rank\": %d, \"median\": %.9f, \"best\": %.9f, \"mean\": %.9f, \"processor\": %.9f, \"sent\": %.1f, "
      "\"packets\": %.1f, "
      "\"first_peak\": %lld, \"peak\": %lld, \"parameters\": %lld, \"largest_unit\": %lld, \"resident\": %lld}\n",
      group->rank(), median(m.seconds), *std::min_element(m.seconds.begin(), m.seconds.end()), m.total / steps,
      m.processor / steps, static_cast<double>(m.sent) / steps, static_cast<double>(m.packets) / steps,
      static_cast<long long>(m.first_peak), static_cast<long long>(m.peak), static_cast<long long>(m.parameters),
      static_cast<long long>(m.largest_unit), static_cast<long long>(resident_peak()));
}

/// Calls `call` on all processes at once.
template <class Call>
void repeated(const Options& options, distributed::ProcessGroup& group, const Call& call) {
  std::vector<double> seconds;
  const int64_t repeats = options.number("repeats", 50);
  double begin = 0;
  for (int64_t i = -5; i < repeats; ++i) {
    if (i == 0) group.barrier()->wait();
    const double before = seconds_now();
    if (i == 0) begin = before;
    call();
    if (i >= 0) seconds.push_back(seconds_now() - before);
  }
  std::printf("{\"rank\": %d, \"median\": %.9f, \"best\": %.9f, \"mean\": %.9f}\n", group.rank(), median(seconds),
              *std::min_element(seconds.begin(), seconds.end()),
              (seconds_now() - begin) / static_cast<double>(repeats));
}

void run_all_reduce(const Options& options) {
  const auto group = join();
  const Tensor tensor = zeros({options.number("bytes", 1 << 20) / 4});
  repeated(options, *group, [&] { group->all_reduce(tensor)->wait(); });
}

void run_exchange(const Options& options) {
  const auto group = join();
  const int64_t elements = options.number("bytes", 1 << 20) / 4, shards = options.number("shards", 8);
  const auto [first, end] = shard_range(shards, shards, group->size(), group->rank());
  std::vector<parallel::TreeSum::Node> nodes;
  for (const parallel::TreePlace& place : parallel::tree_nodes(shards, first, end - first))
    nodes.push_back({place, {zeros({elements}), {}}});
  const Tensor sum = zeros({elements});
  distributed::TreeExchange exchange(group, options.number("part", 4 << 20));
  repeated(options, *group, [&] { exchange.run(nodes, shards, sum, false); });
}

void run_add(const Options& options) {
  const auto group = join();
  Tensor a = zeros({options.number("bytes", 1 << 20) / 4});
  const Tensor b = zeros(a.sizes());
  repeated(options, *group, [&] { a.add_(b); });
}

// The work for every call beside the engine's: to look up its fingerprint, to notify the watchdog, and to write the
// call into the list of recent ones.
void run_calls(const Options&) {
  distributed::Watchdog watchdog;
  distributed::CallHistory history;
  std::unordered_set<uint64_t> compared;
  distributed::CallRecord call;
  call.operation = distributed::Operation::kAllReduce;
  call.dtype = kFloat;
  call.set_shape({129'068});
  constexpr int kCalls = 200'000;
  std::vector<double> nanoseconds;
  int64_t found = 0;
  for (int round = 0; round < 7; ++round) {
    const double begin = seconds_now();
    for (int i = 0; i < kCalls; ++i) {
      call.sequence = i, call.bucket = i % 4;
      history.add(call);
      history.set(call, distributed::CallHistory::State::kRunning);
      const distributed::Watched watched(watchdog, call, distributed::Milliseconds(30'000));
      if (compared.contains(call.fingerprint())) ++found;
      compared.insert(call.fingerprint());
      history.set(call, distributed::CallHistory::State::kDone);
    }
    nanoseconds.push_back((seconds_now() - begin) / kCalls * 1e9);
  }
  std::printf("{\"rank\": 0, \"nanoseconds\": %.1f, \"found\": %lld}\n", median(nanoseconds),
              static_cast<long long>(found));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, void (*)(const Options&)> all{
      {"data", run_data},         {"train", run_train}, {"all_reduce", run_all_reduce},
      {"exchange", run_exchange}, {"add", run_add},     {"calls", run_calls}};
  const std::string what = argc > 1 ? argv[1] : "";
  const auto found = all.find(what);
  check(found != all.end(), "expected data, train, all_reduce, exchange, add or calls, got \"", what, "\"");
  set_num_threads(1);
  found->second(Options(argc, argv));
  if (distributed::is_initialized()) distributed::destroy_process_group();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
