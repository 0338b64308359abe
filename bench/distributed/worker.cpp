// One process of a measurement: measure.py starts as many as there are ranks and reads the JSON line that each prints.
//
//   bench_distributed data                                   the path of Fashion-MNIST's training images
//   bench_distributed train KEY=VALUE ...                    training steps
//   bench_distributed all_reduce bytes=N repeats=N           all_reduce of float32
//   bench_distributed exchange bytes=N shards=N part=BYTES repeats=N    the sum of shards in tree order, of float32
//   bench_distributed add bytes=N repeats=N                  a sum of two tensors in this process, of float32
//   bench_distributed calls                                  what the watchdog and the comparison of calls cost
//
// Keys of train: model=lenet|mlp, batch=N (of all processes), steps=N, warm=N, shards=N, bucket=BYTES, first=BYTES,
// interface=NAME (count its bytes), way=
//   ddp      DistributedDataParallel
//   server   ParameterServer on one device per process
//   devices  ParameterServer on `devices` logical devices in one process
//   local    no communication
//   comm     only the communication of ddp
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "models.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/logical_devices.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/shards.h"
#include "tandem/datasets/image_data.h"
#include "tandem/parallel/distributed/call_record.h"
#include "tandem/parallel/distributed/watchdog.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/parallel/shards/tree_exchange.h"

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

/// This process's part of each batch; the same images again after an epoch.
class Batches {
 public:
  Batches(bool images, int64_t batch, int64_t shards, int rank, int processes) : batch_(batch) {
    check(shards > 0 || batch % processes == 0, "the batch of ", batch, " cannot be divided by ", processes);
    const auto [begin, end] = shard_range(batch, shards > 0 ? shards : processes, processes, rank);
    begin_ = begin, part_ = end - begin;
    if (images) {
      const data::ImageDataPair data = data::read_image_data(data::find_dataset("fashion-mnist"));
      inputs_ = data.train.images, targets_ = data.train.labels;
      order_ = randperm(inputs_.size(0));
    } else {
      inputs_ = randn({part_, MlpImpl::kWidth}), targets_ = randint(0, 10, {part_}, TensorOptions(kLong));
    }
  }
  Tensors next() {
    if (!order_.defined()) return {inputs_, targets_};
    if (at_ + batch_ > order_.size(0)) at_ = 0;
    const Tensor chosen = order_.narrow(0, at_ + begin_, part_);
    at_ += batch_;
    return {inputs_.index_select(0, chosen).unsqueeze(1).to(kFloat).div_(255), targets_.index_select(0, chosen)};
  }

 private:
  int64_t batch_, begin_ = 0, part_ = 0, at_ = 0;
  Tensor inputs_, targets_, order_;
};

struct Measured {
  std::vector<double> seconds;
  double total = 0;
  int64_t sent = 0, packets = 0;
  int64_t first_peak = 0, peak = 0;  // of tensor storage: in the first steps, and afterwards
};

/// Runs step(batch) on all processes at once.
template <class Step>
Measured measured(const Options& options, Batches& batches, distributed::ProcessGroup& group, const Step& step) {
  Measured out;
  const std::string interface = options.text("interface", "");
  const Device cpu("cpu:0");
  reset_peak_memory_stats(cpu);
  for (int64_t i = options.number("warm", 5); i > 0; --i) step(batches.next());
  out.first_peak = memory_stats(cpu).peak_bytes;
  group.barrier()->wait();
  reset_peak_memory_stats(cpu);
  const int64_t sent = counter(interface, "tx_bytes"), packets = counter(interface, "tx_packets");
  const double begin = seconds_now();
  for (int64_t i = options.number("steps", 50); i > 0; --i) {
    const double before = seconds_now();
    step(batches.next());
    out.seconds.push_back(seconds_now() - before);
  }
  group.barrier()->wait();
  out.total = seconds_now() - begin;
  out.sent = counter(interface, "tx_bytes") - sent, out.packets = counter(interface, "tx_packets") - packets;
  out.peak = memory_stats(cpu).peak_bytes;
  return out;
}

const auto loss_of = [](auto& net, const Tensors& batch) {
  return nn::functional::cross_entropy(net.forward(batch[0]), batch[1]);
};

template <class Net>
Measured train(const Options& options, const std::shared_ptr<distributed::ProcessGroup>& group, bool images) {
  const std::string way = options.text("way", "ddp");
  const int64_t bucket = options.number("bucket", 0);
  const auto net = std::make_shared<Net>();
  Batches batches(images, options.number("batch", 256), options.number("shards", 0), group->rank(), group->size());
  const optim::SGDOptions sgd = optim::SGDOptions(0.01).momentum(0.9);
  if (way == "server" || way == "devices") {
    const int64_t devices = way == "devices" ? options.number("devices", 2) : 1;
    parallel::ServerOptions server_options{.shards = options.number("shards", 0)};
    if (way == "server") server_options.group = group;
    if (bucket > 0) server_options.bucket_bytes = bucket;
    std::vector<Device> list;
    for (int64_t i = 0; i < devices; ++i) list.push_back(Device(kCPU, static_cast<DeviceIndex>(i)));
    parallel::ParameterServer<Net> server(net, list, server_options);
    optim::SGD optimizer(server.parameters(), sgd);
    return measured(options, batches, *group, [&](const Tensors& batch) { server.step(optimizer, batch, loss_of); });
  }
  if (way == "local") {
    optim::SGD optimizer(net->parameters(), sgd);
    return measured(options, batches, *group, [&](const Tensors& batch) {
      optimizer.zero_grad();
      loss_of(*net, batch).backward();
      optimizer.step();
    });
  }
  distributed::DistributedDataParallelOptions ddp;
  ddp.process_group = group;
  if (bucket > 0) ddp.bucket_bytes = bucket;
  ddp.first_bucket_bytes = options.number("first", ddp.first_bucket_bytes);
  if (way == "comm") {
    int64_t elements = 0;
    for (const Tensor& parameter : net->parameters()) elements += parameter.numel();
    const Tensor flat = zeros({elements});
    return measured(options, batches, *group, [&](const Tensors&) {
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
  optim::SGD optimizer(model->parameters(), sgd);
  return measured(options, batches, *group, [&](const Tensors& batch) {
    optimizer.zero_grad();
    loss_of(*model, batch).backward();
    optimizer.step();
  });
}

void run_data(const Options&) { std::printf("%s\n", data::find_dataset("fashion-mnist").train_images.c_str()); }

void run_train(const Options& options) {
  const int64_t devices = options.text("way", "") == "devices" ? options.number("devices", 2) : 1;
  set_num_threads(static_cast<int>(devices));
  if (devices > 1) set_logical_devices(kCPU, static_cast<int>(devices));
  manual_seed(0);
  const auto group = join();
  const bool lenet = options.text("model", "lenet") == "lenet";
  const Measured m = lenet ? train<LeNetImpl>(options, group, true) : train<MlpImpl>(options, group, false);
  const auto steps = static_cast<double>(m.seconds.size());
  std::printf(
      "{\"rank\": %d, \"median\": %.9f, \"best\": %.9f, \"mean\": %.9f, \"sent\": %.1f, \"packets\": %.1f, "
      "\"first_peak\": %lld, \"peak\": %lld}\n",
      group->rank(), median(m.seconds), *std::min_element(m.seconds.begin(), m.seconds.end()), m.total / steps,
      static_cast<double>(m.sent) / steps, static_cast<double>(m.packets) / steps, static_cast<long long>(m.first_peak),
      static_cast<long long>(m.peak));
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
