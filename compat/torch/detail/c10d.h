// c10d: LibTorch's process groups, over tandem::distributed (tandem/parallel/distributed/process_group.h).
//
// Collectives of CPU tensors have ended when the call returns, and wait() throws what went wrong: programs change a
// gradient between allreduce() and wait(), whose result would depend on the clock. send() and recv() go on until wait().
#pragma once
#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace c10d {

using Tensors = std::vector<at::Tensor>;
constexpr auto kUnsetTimeout = std::chrono::milliseconds(-1);
constexpr auto kNoTimeout = std::chrono::milliseconds(0);
constexpr auto kBackendDefaultTimeout = std::chrono::milliseconds(30 * 60 * 1000);

class Store : public torch::CustomClassHolder {
 public:
  using Bytes = std::vector<uint8_t>;
  static constexpr auto kDefaultTimeout = std::chrono::milliseconds(300'000);
  explicit Store(std::shared_ptr<tandem::distributed::Store> store) : store_(std::move(store)) {}

  void set(const std::string& key, const std::string& value) { store_->set(key, value); }
  void set(const std::string& key, const Bytes& value) { store_->set(key, text(value)); }
  Bytes get(const std::string& key) { return bytes(store_->get(key)); }
  std::string get_to_str(const std::string& key) { return store_->get(key); }
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
    return bytes(store_->compare_set(key, text(expected), text(desired)));
  }
  std::string compareSet(const std::string& key, const std::string& expected, const std::string& desired) {
    return store_->compare_set(key, expected, desired);
  }
  int64_t add(const std::string& key, int64_t value) { return store_->add(key, value); }
  bool deleteKey(const std::string& key) { return store_->delete_key(key); }
  bool check(const std::vector<std::string>& keys) { return store_->check(keys); }
  void wait(const std::vector<std::string>& keys) { store_->wait(keys); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
    store_->wait(keys, timeout);
  }
  std::chrono::milliseconds getTimeout() const { return store_->timeout(); }
  void setTimeout(const std::chrono::milliseconds& timeout) { store_->set_timeout(timeout); }

  const std::shared_ptr<tandem::distributed::Store>& tandem_store() const { return store_; }

 private:
  static std::string text(const Bytes& value) { return {value.begin(), value.end()}; }
  static Bytes bytes(const std::string& value) { return {value.begin(), value.end()}; }
  std::shared_ptr<tandem::distributed::Store> store_;
};
class HashStore : public Store {
 public:
  HashStore() : Store(std::make_shared<tandem::distributed::HashStore>()) {}
};
class FileStore : public Store {
 public:
  explicit FileStore(std::string path, int /*workers*/ = -1)
      : Store(std::make_shared<tandem::distributed::FileStore>(std::move(path))) {}
};
class PrefixStore : public Store {
 public:
  explicit PrefixStore(std::string prefix, const c10::intrusive_ptr<Store>& store)
      : Store(std::make_shared<tandem::distributed::PrefixStore>(std::move(prefix), store->tandem_store())) {}
};
struct TCPStoreOptions {
  static constexpr std::uint16_t kDefaultPort = 29500;
  std::uint16_t port = kDefaultPort;
  bool isServer = false;
  std::optional<std::size_t> numWorkers = std::nullopt;  ///< not needed: process groups wait for each other
  bool waitWorkers = true;
  std::chrono::milliseconds timeout = Store::kDefaultTimeout;
  bool multiTenant = false;
};
class TCPStore : public Store {
 public:
  explicit TCPStore(std::string host, const TCPStoreOptions& options = {})
      : Store(std::make_shared<tandem::distributed::TCPStore>(
            std::move(host), tandem::distributed::TCPStoreOptions{
                                 .port = options.port, .is_server = options.isServer, .timeout = options.timeout})) {}
  std::uint16_t getPort() const { return static_cast<const tandem::distributed::TCPStore&>(*tandem_store()).port(); }
};

struct ReduceOp {
  enum RedOpType : uint8_t { SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR };
  ReduceOp(RedOpType op = SUM) : op_(op) {}
  operator RedOpType() const { return op_; }
  RedOpType op_;
};

struct BroadcastOptions {
  int64_t rootRank = 0, rootTensor = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct AllreduceOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct AllreduceCoalescedOptions : AllreduceOptions {};
struct ReduceOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  int64_t rootRank = 0, rootTensor = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct AllgatherOptions {
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct GatherOptions {
  int64_t rootRank = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct ScatterOptions {
  int64_t rootRank = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct ReduceScatterOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct AllToAllOptions {
  std::chrono::milliseconds timeout = kUnsetTimeout;
};
struct BarrierOptions {
  std::vector<int64_t> device_ids = {};
  std::chrono::milliseconds timeout = kUnsetTimeout;
};

/// One call, which may be several of Tandem's.
class Work : public torch::CustomClassHolder {
 public:
  Work(std::vector<tandem::distributed::WorkPtr> calls, Tensors results)
      : calls_(std::move(calls)), results_(std::move(results)) {}
  /// Throws what went wrong; otherwise returns true.
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) {
    for (const auto& call : calls_) call->wait(timeout);
    return true;
  }
  void synchronize() { wait(); }
  bool isCompleted() {
    for (const auto& call : calls_)
      if (!call->is_completed()) return false;
    return true;
  }
  bool isSuccess() { return isCompleted() && exception() == nullptr; }
  std::exception_ptr exception() const {
    for (const auto& call : calls_)
      if (std::exception_ptr error = call->exception()) return error;
    return nullptr;
  }
  /// The tensors that the call has written.
  Tensors result() const { return results_; }
  /// Ends a collective of CPU tensors; its error is kept for wait().
  void finish() {
    try {
      wait();
    } catch (const tandem::Error&) {
      // wait() throws it again
    }
  }

 private:
  std::vector<tandem::distributed::WorkPtr> calls_;
  Tensors results_;
};

class ProcessGroup : public torch::CustomClassHolder {
 public:
  using Work = c10d::Work;
  explicit ProcessGroup(std::shared_ptr<tandem::distributed::ProcessGroup> group) : group_(std::move(group)) {}

  int getRank() const { return group_->rank(); }
  int getSize() const { return group_->size(); }
  std::string getBackendName() const { return group_->backend(); }
  void abort() { group_->abort("c10d::ProcessGroup::abort()"); }

  c10::intrusive_ptr<Work> allreduce(Tensors& tensors, const AllreduceOptions& options = {}) {
    return each(tensors, [&](const at::Tensor& t) { return group_->all_reduce(t, op(options.reduceOp)); });
  }
  c10::intrusive_ptr<Work> allreduce_coalesced(Tensors& tensors, const AllreduceCoalescedOptions& options = {}) {
    return allreduce(tensors, options);
  }
  c10::intrusive_ptr<Work> broadcast(Tensors& tensors, const BroadcastOptions& options = {}) {
    return each(tensors, [&](const at::Tensor& t) { return group_->broadcast(t, rank(options.rootRank)); });
  }
  c10::intrusive_ptr<Work> reduce(Tensors& tensors, const ReduceOptions& options = {}) {
    return each(tensors,
                [&](const at::Tensor& t) { return group_->reduce(t, rank(options.rootRank), op(options.reduceOp)); });
  }
  /// outputs[i][r] receives inputs[i] of rank r.
  c10::intrusive_ptr<Work> allgather(std::vector<Tensors>& outputs, Tensors& inputs, const AllgatherOptions& = {}) {
    check_lists("allgather", outputs.size(), inputs.size());
    std::vector<tandem::distributed::WorkPtr> calls;
    for (std::size_t i = 0; i < inputs.size(); ++i) calls.push_back(group_->all_gather(outputs[i], inputs[i]));
    return ended(std::move(calls), joined(outputs));
  }
  c10::intrusive_ptr<Work> _allgather_base(at::Tensor& output, at::Tensor& input, const AllgatherOptions& = {}) {
    return ended({group_->all_gather(output, input)}, {output});
  }
  c10::intrusive_ptr<Work> all_gather_single(at::Tensor& output, at::Tensor& input, const AllgatherOptions& o = {}) {
    return _allgather_base(output, input, o);
  }
  /// `outputs` is empty on ranks other than the root.
  c10::intrusive_ptr<Work> gather(std::vector<Tensors>& outputs, Tensors& inputs, const GatherOptions& options = {}) {
    check_lists("gather", getRank() == options.rootRank ? outputs.size() : 1, inputs.size());
    const Tensors none;
    return ended({group_->gather(outputs.empty() ? none : outputs[0], inputs.at(0), rank(options.rootRank))},
                 joined(outputs));
  }
  c10::intrusive_ptr<Work> scatter(Tensors& outputs, std::vector<Tensors>& inputs, const ScatterOptions& options = {}) {
    check_lists("scatter", outputs.size(), getRank() == options.rootRank ? inputs.size() : 1);
    const Tensors none;
    return ended({group_->scatter(outputs.at(0), inputs.empty() ? none : inputs[0], rank(options.rootRank))}, outputs);
  }
  /// outputs[0] receives the sum of inputs[0][rank] of all ranks.
  c10::intrusive_ptr<Work> reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                          const ReduceScatterOptions& options = {}) {
    check_lists("reduce_scatter", outputs.size(), inputs.size());
    return ended({group_->reduce_scatter(outputs.at(0), at::stack(inputs.at(0)).flatten(0, 1), op(options.reduceOp))},
                 outputs);
  }
  c10::intrusive_ptr<Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                const ReduceScatterOptions& options = {}) {
    return ended({group_->reduce_scatter(output, input, op(options.reduceOp))}, {output});
  }
  c10::intrusive_ptr<Work> alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                                         std::vector<int64_t>& input_splits, const AllToAllOptions& = {}) {
    return ended({group_->all_to_all(output, input, output_splits, input_splits)}, {output});
  }
  c10::intrusive_ptr<Work> send(Tensors& tensors, int to, int tag) {
    return c10::make_intrusive<Work>(std::vector{group_->send(tensors.at(0), to, tag)}, tensors);
  }
  c10::intrusive_ptr<Work> recv(Tensors& tensors, int from, int tag) {
    return c10::make_intrusive<Work>(std::vector{group_->recv(tensors.at(0), from, tag)}, tensors);
  }
  c10::intrusive_ptr<Work> barrier(const BarrierOptions& = {}) { return ended({group_->barrier()}, {}); }

  const std::shared_ptr<tandem::distributed::ProcessGroup>& tandem_group() const { return group_; }

 protected:
  static std::shared_ptr<tandem::distributed::ProcessGroup> made(const char* backend,
                                                                 const c10::intrusive_ptr<Store>& store, int rank,
                                                                 int size, std::chrono::milliseconds timeout) {
    return tandem::distributed::ProcessGroup::make(store->tandem_store(), rank, size,
                                                   {.backend = backend, .timeout = timeout});
  }

 private:
  static tandem::distributed::ReduceOp op(ReduceOp op) { return static_cast<tandem::distributed::ReduceOp>(op.op_); }
  static int rank(int64_t rank) { return static_cast<int>(rank); }
  static void check_lists(const char* call, std::size_t outputs, std::size_t inputs) {
    TORCH_CHECK(outputs == inputs && outputs > 0, "c10d::", call,
                ": expected as many outputs as inputs, at least 1, got ", outputs, " and ", inputs)
  }
  static Tensors joined(const std::vector<Tensors>& lists) {
    Tensors all;
    for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
  }
  c10::intrusive_ptr<Work> ended(std::vector<tandem::distributed::WorkPtr> calls, Tensors results) const {
    auto work = c10::make_intrusive<Work>(std::move(calls), std::move(results));
    if (group_->device().is_cpu()) work->finish();
    return work;
  }
  template <class Call>
  c10::intrusive_ptr<Work> each(const Tensors& tensors, const Call& call) const {
    std::vector<tandem::distributed::WorkPtr> calls;
    for (const at::Tensor& t : tensors) calls.push_back(call(t));
    return ended(std::move(calls), tensors);
  }

  std::shared_ptr<tandem::distributed::ProcessGroup> group_;
};
using Backend = ProcessGroup;

class ProcessGroupGloo : public ProcessGroup {
 public:
  struct Options : torch::CustomClassHolder {
    explicit Options(std::chrono::milliseconds limit = kBackendDefaultTimeout) : timeout(limit) {}
    static c10::intrusive_ptr<Options> create(std::chrono::milliseconds timeout = kBackendDefaultTimeout) {
      return c10::make_intrusive<Options>(timeout);
    }
    std::chrono::milliseconds timeout;
    int threads = 2;
    std::vector<std::shared_ptr<void>> devices = {};  ///< Tandem chooses the network itself: TANDEM_INTERFACE
  };
  static std::shared_ptr<void> createDefaultDevice(bool = false) { return nullptr; }
  static std::shared_ptr<void> createDeviceForInterface(const std::string&, bool = false) { return nullptr; }
  static std::shared_ptr<void> createDeviceForHostname(const std::string&, bool = false) { return nullptr; }
  explicit ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                            const c10::intrusive_ptr<Options>& options = Options::create())
      : ProcessGroup(made("gloo", store, rank, size, options->timeout)) {}
};
class ProcessGroupNCCL : public ProcessGroup {
 public:
  struct Options : torch::CustomClassHolder {
    explicit Options(bool = false) {}
    static c10::intrusive_ptr<Options> create(bool high_priority = false) {
      return c10::make_intrusive<Options>(high_priority);
    }
    std::chrono::milliseconds timeout = std::chrono::minutes(10);
    bool is_high_priority_stream = false;
  };
  ProcessGroupNCCL(const c10::intrusive_ptr<Store>& store, int rank, int size,
                   const c10::intrusive_ptr<Options>& options = Options::create())
      : ProcessGroup(made("nccl", store, rank, size, options->timeout)) {}
};
class ProcessGroupMPI : public ProcessGroup {
 public:
  using ProcessGroup::ProcessGroup;
  /// The ranks of this job, as the launcher (mpirun, tandem launch) says.
  static c10::intrusive_ptr<ProcessGroupMPI> createProcessGroupMPI(const std::vector<int>& ranks = {}) {
    auto group = tandem::distributed::is_initialized() ? tandem::distributed::default_group()
                                                       : tandem::distributed::init_process_group({.backend = "mpi"});
    return c10::make_intrusive<ProcessGroupMPI>(ranks.empty() ? group : group->new_group(ranks));
  }
};

}  // namespace c10d
