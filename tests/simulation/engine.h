// An engine over the simulated network. As with Gloo, a send is complete when the other side has received, unless the
// network is eager; data is read and written while the caller waits; a wait that times out closes all connections, and
// so does abort(). Reductions are computed in rank order.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/parallel/distributed/engine.h"
#include "tandem/tests/simulation/world.h"

namespace tandem::simulation {

using distributed::CallOptions;
using distributed::EngineOptions;
using distributed::EngineRequest;
using distributed::ReduceOp;

/// A message under way.
struct Transfer {
  int from = 0;  ///< engine
  const void* data = nullptr;
  std::size_t bytes = 0;
  std::vector<char> copy = {};
  bool done = false, cancelled = false;
};
/// Memory that waits for a message.
struct Posted {
  void* data = nullptr;
  std::size_t bytes = 0;
  bool done = false;
  uint64_t order = 0;  ///< in which messages came
};
using TransferPtr = std::shared_ptr<Transfer>;
using PostedPtr = std::shared_ptr<Posted>;

class SimulatedEngine final : public distributed::Engine {
 public:
  explicit SimulatedEngine(const EngineOptions& options);
  ~SimulatedEngine() override;
  void all_reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, const CallOptions&) override;
  void reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, int root, const CallOptions&) override;
  void broadcast(void* data, std::size_t bytes, int root, const CallOptions&) override;
  void all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions&) override;
  void all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                  const CallOptions&) override;
  void gather(const void* in, void* out, std::size_t bytes, int root, const CallOptions&) override;
  void scatter(const void* in, void* out, std::size_t bytes, int root, const CallOptions&) override;
  void barrier(const CallOptions&) override;
  std::unique_ptr<EngineRequest> send(const void* data, std::size_t bytes, int to, const CallOptions&) override;
  std::unique_ptr<EngineRequest> recv(void* data, std::size_t bytes, int from, const CallOptions&) override;
  std::vector<int> lost() override;
  void abort() noexcept override;
  bool aborts_at_once() const override { return world_.conditions.eager; }

  Machine& machine() const { return machine_; }
  // ---- for the world
  void die(bool closes);
  /// The connection to the machine of that rank of the job closes.
  void reset(int machine_rank);

 private:
  friend class SimulatedRequest;
  using Slot = std::pair<int, uint64_t>;  // rank, tag
  struct Part {
    const void* out = nullptr;
    std::size_t out_bytes = 0;
    void* in = nullptr;
    std::size_t in_bytes = 0;
    bool sends = false, receives = false;
  };
  struct Exchange;
  void connect(const EngineOptions& options);
  TransferPtr start_send(int to, uint64_t tag, const void* data, std::size_t bytes, Time extra = 0);
  PostedPtr post(int from, uint64_t tag, void* data, std::size_t bytes);
  void cancel(const PostedPtr& posted);
  void arrive(int from, uint64_t tag, const TransferPtr& transfer);
  void match(const Slot& slot);
  void wait_for(const bool& done, int peer, Time deadline);
  /// Returns the ranks whose parts came, in the order in which they came.
  std::vector<int> exchange(std::vector<Part> parts, uint64_t tag, std::chrono::milliseconds timeout);
  std::vector<int> all(const void* in, std::size_t bytes, std::vector<char>& received, const CallOptions& options);
  void fold(void* data, std::size_t count, ScalarType dtype, ReduceOp op, const std::vector<char>& received,
            const std::vector<int>& order) const;
  void close_all();
  void peer_closed(int peer);
  void notify_closed(int peer);
  std::size_t ranks() const { return static_cast<std::size_t>(size_); }

  World& world_;
  Machine& machine_;
  const int rank_, size_, id_;
  std::vector<int> peers_;    // engines by rank; 0: not known yet
  std::vector<char> closed_;  // by rank
  bool broken_ = false, silent_ = false, in_collective_ = false;
  uint64_t came_ = 0, sends_ = 0;
  std::map<Slot, std::deque<TransferPtr>> arrived_;
  std::map<Slot, std::deque<PostedPtr>> posted_;
  std::vector<std::weak_ptr<Transfer>> sent_;
};

}  // namespace tandem::simulation
