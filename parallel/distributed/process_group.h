// Process groups: collective communication between processes. Names and semantics follow torch.distributed.
//
//   auto group = init_process_group();             // RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, or the launcher's
//   group->all_reduce(gradient, ReduceOp::AVG)->wait();
//
// Every process of a group makes the same calls in the same order. A call returns immediately; its tensors must not be
// used until wait() of the returned Work has returned. For CPU tensors a thread of the group communicates; for CUDA
// tensors (NCCL), wait() does not block but orders the current stream after the call.
//
// Failures. Every collective carries a sequence number and a fingerprint (operation, shape, dtype, root). All ranks
// compare it when they first use it (with TANDEM_DISTRIBUTED_DEBUG=1, always). When ranks differ, or one fails or does
// not arrive within the timeout, wait() throws a DistributedError on every other rank that says which rank did what.
// The group then refuses further calls with the same message.
#pragma once
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/parallel/distributed/engine.h"
#include "tandem/parallel/distributed/environment.h"
#include "tandem/parallel/distributed/store.h"

namespace tandem::distributed {

class GroupState;
using Tensors = std::vector<Tensor>;

/// An operation in progress.
class Work {
 public:
  virtual ~Work();
  /// Blocks until the result may be used. Throws DistributedError on failure, or after `timeout` (0: the group's),
  /// which fails the group.
  virtual void wait(Milliseconds timeout = Milliseconds(0)) = 0;
  virtual bool is_completed() = 0;
  /// Null while it runs and when it succeeded.
  virtual std::exception_ptr exception() = 0;
};
using WorkPtr = std::shared_ptr<Work>;

struct ProcessGroupOptions {
  std::string backend = {};      ///< "gloo", "mpi", "nccl"; empty: "gloo"
  Milliseconds timeout{30'000};  ///< of each call, and of connecting; no environment variable changes it
  /// Network interface or local address; by default TANDEM_INTERFACE, else the one that reaches the master.
  std::string interface = {};
  optional<Device> device = {};  ///< for NCCL: the device of this rank; default cuda:LOCAL_RANK
};

class ProcessGroup : public std::enable_shared_from_this<ProcessGroup> {
 public:
  /// Connects `size` processes that call this with the same store. Throws DistributedError that names the ranks that
  /// are missing after the timeout, and Error if the backend is not installed (with what to install).
  static std::shared_ptr<ProcessGroup> make(std::shared_ptr<Store> store, int rank, int size,
                                            const ProcessGroupOptions& options = {});
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// -1 on a rank that is not in the group (see new_group).
  int rank() const;
  int size() const;
  bool is_member() const;
  /// Throws Error "CALLER: …" unless is_member(), and in a forked child, which must make its own groups.
  void check_member(const char* caller) const;
  const std::string& backend() const;
  Milliseconds timeout() const;
  /// Where tensors must be: cpu, or the CUDA device of this rank (NCCL).
  Device device() const;
  const std::shared_ptr<Store>& store() const;

  /// Tensors must be contiguous and on device(), with the same shape and dtype on every rank; throws Error otherwise.
  /// `bucket` labels the call in messages (-1: none). Reductions accept every dtype that has the operation, including
  /// integers, bool (logical or/and) and complex numbers (sum, avg), except those that the backend lacks: NCCL has no
  /// int16 and bit operations only on bool; all ranks then throw Error. On the CPU, float16 and bfloat16 are added in
  /// float32 and rounded after each addition. The order of summation depends on the backend,
  /// the size and the number of ranks.
  WorkPtr all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM, int bucket = -1);
  /// Only rank `root` receives the result; the other ranks' tensors are undefined afterwards.
  WorkPtr reduce(const Tensor& tensor, int root, ReduceOp op = ReduceOp::SUM);
  WorkPtr broadcast(const Tensor& tensor, int root);
  /// outputs[i] receives rank i's input.
  WorkPtr all_gather(const Tensors& outputs, const Tensor& input);
  /// `output` [P·n, …] receives every rank's `input` [n, …] in rank order (all_gather_into_tensor).
  WorkPtr all_gather(const Tensor& output, const Tensor& input);
  /// The same where ranks have different numbers of rows: `output` receives rows[i] from rank i. Empty: equal parts.
  WorkPtr all_gather(const Tensor& output, const Tensor& input, IntArrayRef rows);
  /// `output` [n, …] receives the sum, over ranks in rank order, of block `rank` of `input` [P·n, …].
  WorkPtr reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM);
  /// Rows input_splits[i] of `input` go to rank i; `output` receives output_splits[i] rows from rank i. Empty splits:
  /// equal parts.
  WorkPtr all_to_all(const Tensor& output, const Tensor& input, IntArrayRef output_splits = {},
                     IntArrayRef input_splits = {});
  /// The same where every rank knows all splits, so they need not be compared: rank i sends table[i][j] rows to rank j.
  WorkPtr all_to_all_table(const Tensor& output, const Tensor& input, const std::vector<std::vector<int64_t>>& table);
  /// outputs[i] (on the root only) receives rank i's input.
  WorkPtr gather(const Tensors& outputs, const Tensor& input, int root);
  /// Rank i receives inputs[i] (given on the root only).
  WorkPtr scatter(const Tensor& output, const Tensors& inputs, int root);
  /// Point to point, matched by `tag`, concurrent with each other and with collectives. With NCCL, tags are ignored,
  /// and messages are ordered after the current stream, with the collectives; their wait() blocks the host.
  WorkPtr send(const Tensor& tensor, int to, int tag = 0);
  WorkPtr recv(const Tensor& tensor, int from, int tag = 0);
  WorkPtr barrier();

  /// Makes a group of some ranks of this one, in the given order. Every rank of this group calls it. Ranks that are not
  /// in the new group get one that only says so: is_member() is false, and calls throw Error.
  std::shared_ptr<ProcessGroup> new_group(const std::vector<int>& ranks);
  /// Fails running and later calls: here at once, on the other ranks as soon as they notice. For error handling.
  void abort(const std::string& reason);

  /// The last 256 collectives, one per line, oldest first: sequence number, operation, shape, state and seconds.
  std::string recent_calls() const;

 private:
  friend void destroy_process_group();
  WorkPtr exchange(const Tensor& output, const Tensor& input, IntArrayRef output_splits, IntArrayRef input_splits,
                   IntArrayRef all);
  explicit ProcessGroup(std::shared_ptr<GroupState> state) : state_(std::move(state)) {}
  const std::shared_ptr<GroupState> state_;
};

/// Connects this process as the environment says (see Environment) and makes the result the default group. Without
/// a launcher the group has one rank and needs no backend. Throws Error when there is a default group.
std::shared_ptr<ProcessGroup> init_process_group(const ProcessGroupOptions& options = {});
/// The same with an explicit store, rank and size.
std::shared_ptr<ProcessGroup> init_process_group(std::shared_ptr<Store> store, int rank, int size,
                                                 const ProcessGroupOptions& options = {});
/// Ends the default group. Unless it has failed, all ranks wait for each other first. A forked child only forgets it.
void destroy_process_group();
bool is_initialized();
/// The default group. Throws Error when there is none.
std::shared_ptr<ProcessGroup> default_group();
/// `given`, or the default group if it is null. Throws Error "CALLER: there is no process group; CURE" without either,
/// and unless this process is a member of it.
std::shared_ptr<ProcessGroup> given_or_default(
    const std::shared_ptr<ProcessGroup>& given, const char* caller,
    const char* cure = "pass one, or call distributed::init_process_group() first");
/// Aborts the group with the message of `error`, or `unknown` if it has none. Does nothing for a DistributedError, of
/// which the group knows. Swallows its own errors, because `error` matters more.
void abort_with(ProcessGroup& group, const std::exception_ptr& error, const char* unknown) noexcept;
/// Of the default group; 0 and 1 without one.
int get_rank();
int get_world_size();

struct BackendInfo {
  std::string name;         ///< "gloo"
  std::string description;  ///< library and version, e.g. "Gloo 0.5.0"; empty if not available
  std::string missing;      ///< why it is not available and what to install
};
/// All backends that Tandem knows, available or not.
std::vector<BackendInfo> backends();
bool is_backend_available(const std::string& name);

}  // namespace tandem::distributed
