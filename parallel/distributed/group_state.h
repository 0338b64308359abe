// The state that a ProcessGroup, its works and its threads share.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/comm_thread.h"
#include "tandem/parallel/distributed/diagnosis.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/distributed/watchdog.h"

namespace tandem::distributed {

/// Why a group fails, as seen by the thread that noticed.
struct Failure {
  /// kEngine: the engine threw. kOtherRank: another rank has published a failure.
  /// kAborted: the program called abort. kMismatch: the ranks called different collectives.
  enum Kind { kTimeout, kEngine, kOtherRank, kAborted, kMismatch };
  Kind kind = kTimeout;
  CallRecord call;
  double seconds = 0;
  std::string_view text = {};  ///< the engine's error, the reason, or the whole message
};

class GroupState : public std::enable_shared_from_this<GroupState> {
 public:
  /// By how much the engine's timeouts exceed the group's, so that the watchdog acts first.
  static constexpr Milliseconds kGrace{10'000};

  /// `why_outside` says that this process is not in the group, which then looks like one of one rank: without threads
  /// and connections.
  GroupState(std::shared_ptr<Store> store, std::string prefix, int rank, int size, ProcessGroupOptions options,
             std::string why_outside = {});

  /// Carries out `run`: on the group's thread or, for a device engine, now. Throws Error if the group cannot be used
  /// any more.
  WorkPtr submit(CallRecord call, Run run);
  WorkPtr start_message(CallRecord call, const Tensor& tensor);
  /// On the group's thread.
  void execute(CallWork& work);

  /// Returns all ranks' `own` numbers, equally many from each, in rank order. `purpose` (negative) distinguishes the
  /// exchanges of one call. Blocks; only for the thread that performs the call.
  std::vector<int64_t> exchange(const CallRecord& call, int purpose, ArrayRef<int64_t> own);
  /// The call whose `run` asks.
  const CallRecord& executing() const { return executing_; }
  /// Fails the group, unless it has failed already; blocks until all ranks that answer agree on the message, for at
  /// most about 2.5 s. Returns the failure.
  std::exception_ptr fail(const Failure& failure) noexcept;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::unique_ptr<Watched> watch(const CallRecord& call, Milliseconds limit) {
    return std::make_unique<Watched>(watchdog, call, limit);
  }
  void start_threads();
  /// Waits for the calls in progress, notifies the others and closes the connections. Later calls throw.
  void end() noexcept;
  /// Tells the other ranks that this one is leaving; also at the end of the process.
  void leave() noexcept;
  /// Waits until all ranks have called this, or have left. Throws DistributedError that names who has not.
  void wait_for_end();
  /// Throws Error "CALLER: …" in a forked child of the process that made the group.
  void check_process(const std::string& caller) const;
  /// The same, and on a process that is not in the group.
  void check_member(const char* caller) const;
  bool is_own_process() const { return process_ == tandem::detail::this_process(); }
  bool on_device() const { return engine && engine->on_device(); }

  const std::shared_ptr<Store> store;
  const std::string prefix;
  const int rank, size;
  const ProcessGroupOptions options;
  const Milliseconds timeout;
  const std::string outside;       // why this process is not a member; empty if it is
  std::unique_ptr<Engine> engine;  // null in a group of one rank
  Board board;
  CallHistory history;
  Watchdog watchdog;
  CommThread comm;
  std::atomic<int64_t> groups{0};  // groups made from this one

 private:
  void check_usable() const;
  CallOptions call_options(const CallRecord& call) const;
  /// Returns the failure, if there is one.
  std::exception_ptr perform(const CallRecord& call, const Run& run) noexcept;
  void compare_calls(const CallRecord& call);
  /// `in_store`: whether the store has the message.
  std::string find_message(const Failure& failure, bool& in_store);
  std::string without_store(const Failure& failure, const std::vector<int>& lost, const std::string& why) const;
  WorkPtr run_now(const CallRecord& call, const Run& run);
  WorkPtr submit_on_device(const CallRecord& call, const Run& run);
  /// Creates the group's stream on first use and orders it after the caller's current stream.
  void enter_stream();
  std::unique_ptr<EngineRequest> start_request(const CallRecord& call, const Tensor& tensor);
  bool poll_messages();
  static std::exception_ptr ended_error(const CallRecord& call) noexcept;
  void finish_all();
  /// Runs `action` on a separate thread, because the store may not answer, and waits at most 1 s for it.
  void try_briefly(void (*action)(GroupState&)) noexcept;

  const uint32_t process_ = tandem::detail::this_process();
  const bool compare_always_;
  std::mutex submit_mutex_;  // sequence numbers and the queue are in one order
  int64_t next_sequence_ = 0;
  std::atomic<int64_t> calls_done_{0};
  std::unordered_set<uint64_t> compared_;  // fingerprints; used by one thread at a time
  CallRecord executing_;
  std::unique_ptr<Stream> stream_;  // of a device engine

  std::mutex failure_mutex_;
  std::condition_variable failure_set_;
  bool failing_ = false;
  bool failed_wholly_ = false;  // fail() no longer uses the engine
  std::atomic<bool> failed_{false}, ended_{false}, left_{false};
  std::exception_ptr failure_;
  std::string failure_text_;
  std::vector<std::shared_ptr<FinishableWork>> messages_;  // in progress; under failure_mutex_
};

}  // namespace tandem::distributed
