// The implementations of Work. A work is finished exactly once: by the thread that did it or by the group's failure.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "tandem/core/stream.h"
#include "tandem/parallel/distributed/call_record.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

class GroupState;

class FinishableWork : public Work {
 public:
  FinishableWork(std::shared_ptr<GroupState> group, const CallRecord& record)
      : call(record), group_(std::move(group)) {}
  void wait(Milliseconds timeout) override;
  bool is_completed() override;
  bool finished() const { return done_.load(std::memory_order_acquire) != 0; }
  std::exception_ptr exception() override;
  /// Does nothing and returns false if the work is already finished.
  bool finish(const std::exception_ptr& error);
  CallRecord call;

 protected:
  void rethrow() const;
  const std::shared_ptr<GroupState> group_;

 private:
  std::atomic<bool> claimed_{false};
  std::atomic<uint32_t> done_{0};  // of the size of a futex: waiters for smaller ones share a few futexes
  std::exception_ptr error_;
};

/// Performs a call. The engine is null in a group of one rank.
using Run = std::function<void(Engine*, const CallOptions&)>;

/// A collective, performed by the group's thread, or by one that waits for it.
class CallWork final : public FinishableWork {
 public:
  CallWork(std::shared_ptr<GroupState> group, const CallRecord& record, Run what)
      : FinishableWork(std::move(group), record), run(std::move(what)) {}
  void wait(Milliseconds timeout) override;
  Run run;  ///< keeps the tensors alive
};

/// A message in flight. wait() and is_completed() drive it.
class MessageWork final : public FinishableWork {
 public:
  MessageWork(std::shared_ptr<GroupState> group, const CallRecord& record, Tensor tensor,
              std::unique_ptr<EngineRequest> request)
      : FinishableWork(std::move(group), record), tensor_(std::move(tensor)), request_(std::move(request)) {}
  ~MessageWork() override;
  void wait(Milliseconds timeout) override;
  bool is_completed() override;

 private:
  std::mutex mutex_;
  const Tensor tensor_;
  std::unique_ptr<EngineRequest> request_;
};

/// A collective on a device: wait() only orders the current stream after it. `inner` finishes when the device is done.
class DeviceWork final : public Work {
 public:
  DeviceWork(std::shared_ptr<FinishableWork> inner, std::shared_ptr<Event> event, Device device)
      : inner_(std::move(inner)), event_(std::move(event)), device_(device) {}
  void wait(Milliseconds timeout) override;
  bool is_completed() override { return inner_->is_completed(); }
  std::exception_ptr exception() override { return inner_->exception(); }

 private:
  const std::shared_ptr<FinishableWork> inner_;
  const std::shared_ptr<Event> event_;
  const Device device_;
};

}  // namespace tandem::distributed
