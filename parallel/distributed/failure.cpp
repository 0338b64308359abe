// How a group fails: one thread determines the message, and all works throw it.
#include <future>
#include <thread>

#include "tandem/parallel/distributed/group_state.h"

namespace tandem::distributed {

namespace {

constexpr Milliseconds kForStore{1900};

// Runs `ask` on a separate thread, because the store may not answer. Throws DistributedError if it does not.
std::string ask_store(std::function<std::string()> ask, Milliseconds timeout) {
  auto task = std::make_shared<std::packaged_task<std::string()>>(std::move(ask));
  std::future<std::string> answer = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  if (answer.wait_for(timeout) != std::future_status::ready) throw DistributedError("it does not answer");
  return answer.get();
}

}  // namespace

std::exception_ptr GroupState::fail(const Failure& failure) noexcept {
  {
    std::unique_lock lock(failure_mutex_);
    if (failing_) failure_set_.wait(lock, [this] { return failed(); });
    if (failed()) return failure_;
    if (ended_) return ended_error(failure.call);
    failing_ = true;
  }
  bool in_store = false;
  std::exception_ptr error;
  try {
    error = std::make_exception_ptr(DistributedError(find_message(failure, in_store)));
  } catch (const std::exception&) {
    error = std::current_exception();  // out of memory; the others notice that the connections are closed
  }
  if (engine) engine->abort();
  // Rank 0 usually serves the store, and its process may end as soon as it has the error. Of a mismatch all ranks know.
  if (rank == 0 && in_store && failure.kind != Failure::kMismatch)
    try_briefly([](GroupState& group) { group.board.wait_for_readers(); });
  {
    const std::lock_guard lock(failure_mutex_);
    failure_ = error;
    failed_.store(true, std::memory_order_release);
  }
  finish_all();
  {
    const std::lock_guard lock(failure_mutex_);
    failed_wholly_ = true;
  }
  failure_set_.notify_all();
  return failure_;
}

void GroupState::finish_all() {
  const auto finish = [this](const std::shared_ptr<CallWork>& work) {
    history.set(work->call, CallHistory::State::kFailed);
    work->finish(failure_);
  };
  if (const auto running = comm.running()) finish(running);
  for (const auto& work : comm.take_queued()) finish(work);
  std::vector<std::shared_ptr<FinishableWork>> messages;
  {
    const std::lock_guard lock(failure_mutex_);
    messages.swap(messages_);
  }
  for (const auto& work : messages) work->finish(failure_);
  comm.wake();
}

// Agrees on one message with the other ranks. As soon as this rank has published what it waits for, it closes its
// connections, so ranks that wait elsewhere in the call notice.
std::string GroupState::find_message(const Failure& failure, bool& in_store) {
  if (size == 1) return std::string(failure.text);
  const auto self = shared_from_this();
  const int64_t begin = nanoseconds_now();
  const auto left = [&] { return kForStore - Milliseconds((nanoseconds_now() - begin) / 1'000'000); };
  if (failure.kind == Failure::kAborted || failure.kind == Failure::kMismatch) {
    try {
      std::string message =
          ask_store([self, text = std::string(failure.text)] { return self->board.settle(text); }, left());
      in_store = true;
      return message;
    } catch (const std::exception&) {
      return std::string(failure.text);
    }
  }
  const Status own{false, failure.call, failure.seconds, std::string(failure.text), engine->lost()};
  try {
    ask_store([self, own] { return self->board.publish(own), std::string(); }, left());
    engine->abort();
    std::string message = ask_store([self, own] { return self->board.settle(own); }, left());
    in_store = true;
    return message;
  } catch (const std::exception& error) {
    return without_store(failure, own.lost, error.what());
  }
}

std::string GroupState::without_store(const Failure& failure, const std::vector<int>& lost,
                                      const std::string& why) const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", failure.seconds);
  std::string out = concat(failure.call.label(), " failed after ", seconds);
  if (!lost.empty()) out += concat(": the connections to ", rank_list(lost), " are closed");
  if (lost.empty() && !failure.text.empty()) out += concat(": ", failure.text);
  out += "; the store cannot say which rank is missing, its host (rank 0?) is probably gone: " + why;
  return lost.empty() ? out + kTimeoutCure : out;
}

void GroupState::try_briefly(void (*action)(GroupState&)) noexcept {
  try {
    ask_store(
        [self = shared_from_this(), action] {
          action(*self);
          return std::string();
        },
        Milliseconds(1000));
  } catch (const std::exception&) {
    // The others will notice without a message.
  }
}

}  // namespace tandem::distributed
