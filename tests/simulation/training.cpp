// Scenarios of training: DistributedDataParallel with its options, ZeroRedundancyOptimizer, FullyShardedDataParallel,
// SyncBatchNorm, and a ParameterServer in several processes. After each step a checkpoint is written, from which a new
// attempt goes on: by the first process, or by all of them if the model is sharded.
#include <algorithm>

#include "tandem/nn/files/archive.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/distributed_data_parallel/sync_batch_norm.h"
#include "tandem/parallel/fully_sharded/batch_shards.h"
#include "tandem/parallel/fully_sharded/checkpoint_files.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel.h"
#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/parallel/sharded/zero_redundancy_optimizer.h"
#include "tandem/tandem.h"
#include "tandem/tests/simulation/scenario.h"

namespace tandem::simulation {

namespace {

using OptimizerPtr = std::unique_ptr<optim::Optimizer>;
constexpr int64_t kInputs = 4;

// Uses `extra` only where forward is told to.
struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { NetImpl::reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(kInputs, 3));
    norm = register_module("norm", nn::BatchNorm1d(3));
    second = register_module("second", nn::Linear(3, 2));
    extra = register_module("extra", nn::Linear(kInputs, 2));
  }
  Tensor forward(const Tensor& x, bool uses_extra) {
    Tensor out = second(norm(first(x)).tanh());
    if (uses_extra) out = out + extra(x);
    return (out * out).mean();
  }
  nn::Linear first{nullptr}, second{nullptr}, extra{nullptr};
  nn::BatchNorm1d norm{nullptr};
};

Tensor inputs(int64_t rows, uint64_t seed) {
  Tensor out = empty({rows, kInputs});
  auto* at = out.data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i)
    at[i] = static_cast<float>(mix(seed * 977 + static_cast<uint64_t>(i)) % 2001) / 500.0F - 2.0F;
  return out;
}

// Archives share memory with what they save.
serialize::InputArchive copy_of(const serialize::OutputArchive& archive) {
  OrderedDict<std::string, Tensor> tensors;
  for (const auto& item : archive.tensors()) tensors.insert(item.key(), item.value().clone());
  return {std::move(tensors), archive.metadata()};
}

class Training final : public Scenario {
 public:
  Training(Random& random, int size);
  void run(const Rank& rank) const override;
  int64_t steps() const override { return steps_; }
  std::string text() const override;

 private:
  enum class Method { kDdp, kJoin, kZero, kServer, kSharded };
  template <class Model>
  void step_with(Model& model, const Rank& rank, int64_t step, int decides) const;
  void train_ddp(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const;
  void train_join(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const;
  void train_zero(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const;
  void train_server(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const;
  void train_sharded(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const;
  void begin_step(const Rank& rank, ProcessGroup& group, int64_t step) const;
  void end_step(const Rank& rank, NetImpl& net, optim::Optimizer& optimizer, int64_t step, bool writes = true) const;
  OptimizerPtr make_optimizer(const std::vector<Tensor>& parameters, const GroupPtr& group, bool reduces) const;
  Tensor batch(const Rank& rank, int64_t step, int64_t part) const;
  bool uses_extra(int rank, int64_t step) const;

  Method method_;
  int64_t steps_, accumulated_, bucket_bytes_;
  bool adam_, zero_, sync_norm_, broadcast_buffers_;
  int graph_, hook_;  // 0: all parameters are used; 1: find_unused_parameters; 2: static_graph
  int64_t shards_ = 0;
  uint64_t seed_;
};

Training::Training(Random& random, int size)
    : method_(static_cast<Method>(random.one_in(2) ? 0 : random.below(5))),
      steps_(random.between(1, 3)),
      accumulated_(random.one_in(3) ? 2 : 1),
      bucket_bytes_(random.one_in(3) ? 1 << 20 : random.between(16, 80)),
      adam_(random.one_in(2)),
      zero_(random.one_in(3)),
      sync_norm_(random.one_in(3)),
      broadcast_buffers_(!random.one_in(4)),
      graph_(static_cast<int>(random.below(3))),
      hook_(static_cast<int>(random.below(6))),
      seed_(random.next()) {
  if (method_ == Method::kServer) zero_ = false;
  if (method_ == Method::kServer || method_ == Method::kJoin || method_ == Method::kSharded) sync_norm_ = false;
  if (method_ == Method::kSharded) zero_ = false;
  if (method_ == Method::kServer) steps_ = random.between(1, 4);
  if ((method_ == Method::kServer || method_ == Method::kSharded) && random.one_in(2))
    shards_ = size * random.between(1, 2);
}

std::string Training::text() const {
  constexpr const char* kMethods[] = {"ddp", "join", "zero", "server", "sharded"};
  return concat("training, ", kMethods[static_cast<int>(method_)], ", ", steps_, " steps of ", accumulated_,
                ", buckets of ", bucket_bytes_, adam_ ? ", adam" : ", sgd", zero_ ? ", zero" : "",
                sync_norm_ ? ", sync norm" : "", broadcast_buffers_ ? "" : ", own buffers", ", graph ", graph_,
                ", hook ", hook_, ", shards ", shards_);
}

// ---- what the methods share

Tensor Training::batch(const Rank& rank, int64_t step, int64_t part) const {
  return inputs(2 + (rank.rank + step) % 2, mix(seed_ + static_cast<uint64_t>(100 * step + 10 * part + rank.rank)));
}

bool Training::uses_extra(int rank, int64_t step) const {
  if (graph_ == 0) return true;
  const auto place = static_cast<uint64_t>(graph_ == 1 ? 10 * step + rank : rank);
  return mix(seed_ + place) % 2 == 0;
}

void Training::begin_step(const Rank& rank, ProcessGroup& group, int64_t step) const {
  if (rank.step(step, group)) group.all_reduce(zeros({7, 7, 7}))->wait();
}

// The results, and the checkpoint.
void Training::end_step(const Rank& rank, NetImpl& net, optim::Optimizer& optimizer, int64_t step, bool writes) const {
  rank.digest(step, net.parameters());
  auto* zero = dynamic_cast<distributed::ZeroRedundancyOptimizerBase*>(&optimizer);
  if (zero != nullptr) zero->consolidate_state_dict();
  if (rank.rank != 0 || !writes) return;
  serialize::OutputArchive model, state;
  net.save(model);
  optimizer.save(state);
  Disk written;
  written.step = step + 1;
  written.model = copy_of(model);
  written.state = copy_of(state);
  rank.disk = std::move(written);
}

template <class O, class Options>
OptimizerPtr optimizer_of(const std::vector<Tensor>& parameters, const Options& options, const GroupPtr& group,
                          bool zero, bool reduces, int64_t bytes) {
  if (!zero) return std::make_unique<O>(parameters, options);
  const distributed::ZeroRedundancyOptimizerOptions with{group, reduces, bytes};
  return std::make_unique<distributed::ZeroRedundancyOptimizer<O>>(parameters, options, with);
}

OptimizerPtr Training::make_optimizer(const std::vector<Tensor>& parameters, const GroupPtr& group,
                                      bool reduces) const {
  const bool zero = zero_ || reduces;
  if (adam_)
    return optimizer_of<optim::Adam>(parameters, optim::AdamOptions(0.01), group, zero, reduces, bucket_bytes_);
  return optimizer_of<optim::SGD>(parameters, optim::SGDOptions(0.1).momentum(0.9), group, zero, reduces,
                                  bucket_bytes_);
}

void load(const Disk& disk, NetImpl& net, optim::Optimizer& optimizer) {
  if (disk.step == 0) return;
  serialize::InputArchive model = disk.model, state = disk.state;
  net.load(model);
  optimizer.load(state);
}

// ---- the methods

// `decides`: the rank that decides whether `extra` is used.
template <class Model>
void Training::step_with(Model& model, const Rank& rank, int64_t step, int decides) const {
  for (int64_t part = 0; part < accumulated_; ++part) {
    const auto backward = [&] { model->forward(batch(rank, step, part), uses_extra(decides, step)).backward(); };
    if (part + 1 == accumulated_) {
      backward();
    } else {
      const auto here_only = model->no_sync();
      backward();
    }
  }
}

void Training::train_ddp(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const {
  distributed::DistributedDataParallelOptions options;
  options.process_group = group;
  options.bucket_bytes = bucket_bytes_;
  options.first_bucket_bytes = std::max<int64_t>(1, bucket_bytes_ / 2);
  options.find_unused_parameters = graph_ == 1;
  options.static_graph = graph_ == 2;
  options.broadcast_buffers = broadcast_buffers_;
  if (hook_ == 1) options.comm_hook = distributed::fp16_compress_hook;
  if (hook_ == 2) options.comm_hook = distributed::bf16_compress_hook;
  distributed::DistributedDataParallel<NetImpl> model(net, options);
  const OptimizerPtr optimizer = make_optimizer(net->parameters(), group, false);
  load(rank.disk, *net, *optimizer);
  for (int64_t step = rank.disk.step; step < steps_; ++step) {
    begin_step(rank, *group, step);
    optimizer->zero_grad();
    step_with(model, rank, step, rank.rank);
    optimizer->step();
    end_step(rank, *net, *optimizer, step);
  }
}

void Training::train_join(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const {
  distributed::DistributedDataParallel<NetImpl> model(net, {.process_group = group, .bucket_bytes = bucket_bytes_});
  optim::SGD optimizer(net->parameters(), 0.1);
  const int64_t own = static_cast<int64_t>(mix(seed_ + static_cast<uint64_t>(rank.rank)) % 4);
  model->join([&] {
    for (int64_t step = 0; step < own; ++step) {
      begin_step(rank, *group, step);
      optimizer.zero_grad();
      model->forward(batch(rank, step, 0), true).backward();
      optimizer.step();
    }
  });
  rank.digest(steps_, net->parameters());
}

void Training::train_zero(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const {
  const OptimizerPtr optimizer = make_optimizer(net->parameters(), group, true);
  load(rank.disk, *net, *optimizer);
  for (int64_t step = rank.disk.step; step < steps_; ++step) {
    begin_step(rank, *group, step);
    optimizer->zero_grad();
    net->forward(batch(rank, step, 0), uses_extra(rank.rank, step)).backward();
    optimizer->step();
    end_step(rank, *net, *optimizer, step);
  }
}

void Training::train_server(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const {
  parallel::ServerOptions options;
  options.group = group;
  options.shards = shards_;
  options.bucket_bytes = bucket_bytes_;
  parallel::ParameterServer<NetImpl> server(net, {Device(kCPU)}, options);
  const OptimizerPtr optimizer = make_optimizer(server.parameters(), group, false);
  load(rank.disk, *net, *optimizer);
  for (int64_t step = rank.disk.step; step < steps_; ++step) {
    begin_step(rank, *group, step);
    // Epochs of two batches; without shards the second one is smaller.
    const int64_t rows = shards_ > 0 ? 2 * shards_ / rank.size : 3 - step % 2 + rank.rank % 2;
    const Tensor x = inputs(rows, mix(seed_ + static_cast<uint64_t>(10 * step + rank.rank)));
    server.step(*optimizer, x, x,
                [](NetImpl& replica, const Tensor& part, const Tensor&) { return replica.forward(part, true); });
    end_step(rank, *net, *optimizer, step, shards_ > 0 || step % 2 == 1);
  }
}

void Training::train_sharded(const Rank& rank, const GroupPtr& group, const std::shared_ptr<NetImpl>& net) const {
  constexpr const char* kMemory = "/dev/shm";
  if (rank.disk.folder == nullptr)
    rank.disk.folder = std::filesystem::is_directory(kMemory) ? std::make_shared<test::TempFolder>(kMemory)
                                                              : std::make_shared<test::TempFolder>();
  const auto saved_after = [&](int64_t step) { return *rank.disk.folder / std::to_string(step); };
  const int64_t first = rank.disk.step;
  distributed::FullyShardedDataParallelOptions options;
  options.process_group = group;
  options.reshard_after_forward = graph_ != 1;
  options.is_unit = [](const std::string&, const nn::Module&) { return true; };
  options.broadcast_buffers = broadcast_buffers_;
  distributed::FullyShardedDataParallel<NetImpl> model(net, options);
  const OptimizerPtr optimizer = make_optimizer(model->parameters(), group, false);
  if (first > 0) distributed::load_checkpoint(*model, saved_after(first), optimizer.get());
  distributed::BatchShards shards(model.ptr(), {.shards = std::max<int64_t>(shards_, 1)});
  shards.set_steps(first);
  for (int64_t step = first; step < steps_; ++step) {
    begin_step(rank, *group, step);
    optimizer->zero_grad();
    if (shards_ > 0) {
      const Tensor x = inputs(2 * shards_ / rank.size, mix(seed_ + static_cast<uint64_t>(10 * step + rank.rank)));
      shards.backward({x}, [&](const std::vector<Tensor>& shard) { return model->forward(shard[0], true); });
      shards.clip_grad_norm_(1.0);
    } else {
      step_with(model, rank, step, 0);
      model->clip_grad_norm_(1.0);
    }
    optimizer->step();
    rank.digest(step, model->gather_parameters().values());
    distributed::save_checkpoint(*model, saved_after(step + 1), optimizer.get());
    if (rank.rank == 0) rank.disk.step = step + 1;
  }
}

void Training::run(const Rank& rank) const {
  const GroupPtr group = rank.make_group();
  std::shared_ptr<NetImpl> net;
  {
    const GeneratorGuard guard{Generator(seed_)};
    net = std::make_shared<NetImpl>();
  }
  if (sync_norm_) distributed::convert_sync_batchnorm(*net, group);
  switch (method_) {
    case Method::kDdp:
      train_ddp(rank, group, net);
      break;
    case Method::kJoin:
      train_join(rank, group, net);
      break;
    case Method::kZero:
      train_zero(rank, group, net);
      break;
    case Method::kServer:
      train_server(rank, group, net);
      break;
    case Method::kSharded:
      train_sharded(rank, group, net);
      break;
  }
  group->barrier()->wait();
  rank.digest(steps_ + 1, {});
}

}  // namespace

std::unique_ptr<Scenario> draw_training(Random& random, int size) { return std::make_unique<Training>(random, size); }

}  // namespace tandem::simulation
