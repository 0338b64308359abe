#include "tandem/parallel/distributed/group_state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tandem/core/profile.h"

namespace tandem::distributed {

namespace {

bool compares_always() {
  const char* text = std::getenv("TANDEM_DISTRIBUTED_DEBUG");
  return text != nullptr && *text != '\0' && std::string(text) != "0";
}

// Every rank computes the same text from the same records.
std::string differences(const std::vector<CallRecord::Words>& records, const CallRecord& own) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const CallRecord call = CallRecord::from(records[rank]);
    std::string text = call.description();
    if (call.bucket >= 0) text += concat(" (bucket ", call.bucket, ")");
    const auto same = std::find_if(groups.begin(), groups.end(), [&](auto& group) { return group.first == text; });
    if (same == groups.end())
      groups.push_back({text, {static_cast<int>(rank)}});
    else
      same->second.push_back(static_cast<int>(rank));
  }
  std::string out =
      concat(name(CallRecord::from(records[0]).operation), " ", own.sequence, ": ranks do different things");
  for (const auto& [text, ranks] : groups) out += concat("\n  ", rank_list(ranks), ": ", text);
  return out;
}

}  // namespace

GroupState::GroupState(std::shared_ptr<Store> the_store, std::string the_prefix, int the_rank, int the_size,
                       ProcessGroupOptions the_options, std::string why_outside)
    : store(std::move(the_store)),
      prefix(std::move(the_prefix)),
      rank(the_rank),
      size(the_size),
      options(std::move(the_options)),
      timeout(options.timeout),
      outside(std::move(why_outside)),
      board(store, prefix, rank, size),
      compare_always_(compares_always()) {}

void GroupState::check_member(const char* caller) const {
  check_process(caller);
  check(outside.empty(), caller, ": ", outside,
        "; only its members may use it (ProcessGroup::is_member() says which are)");
}

// Locks may be held by threads that the child does not have, and its connections are the parent's.
void GroupState::check_process(const std::string& caller) const {
  check(is_own_process(), caller,
        ": the process group belongs to the process that made it; a forked child must make its own (after "
        "destroy_process_group() in the child, init_process_group() makes another default group)");
}

void GroupState::check_usable() const {
  check_process("process group");
  if (failed()) std::rethrow_exception(failure_);
  check(!ended_, "process group: it has been destroyed");
}

CallOptions GroupState::call_options(const CallRecord& call) const {
  return {call.tag(), timeout + kGrace, stream_ ? stream_->handle().handle : nullptr};
}

void GroupState::start_threads() {
  comm.start(shared_from_this());
  watchdog.start(shared_from_this());
}

WorkPtr GroupState::submit(CallRecord call, Run run) {
  const std::lock_guard lock(submit_mutex_);
  check_usable();
  call.sequence = next_sequence_++;
  history.add(call);
  if (size == 1) return run_now(call, run);
  if (on_device()) return submit_on_device(call, run);
  auto work = std::make_shared<CallWork>(shared_from_this(), call, std::move(run));
  comm.push(work);
  // A failure, or the end of the group, may have finished all queued works just before this one.
  if (failed()) work->finish(failure_);
  if (ended_) work->finish(ended_error(call));
  return work;
}

WorkPtr GroupState::run_now(const CallRecord& call, const Run& run) {
  history.set(call, CallHistory::State::kRunning);
  run(nullptr, {});
  history.set(call, CallHistory::State::kDone);
  auto work = std::make_shared<FinishableWork>(shared_from_this(), call);
  work->finish(nullptr);
  return work;
}

void GroupState::enter_stream() {
  const Device device = resolve(*options.device);
  if (!stream_) stream_ = std::make_unique<Stream>(device);
  Event ready(device.type());
  ready.record(Stream::current(device));
  ready.wait(*stream_);
}

// The call is submitted to the group's stream at once; the group's thread then waits for the device,
// under the watchdog.
WorkPtr GroupState::submit_on_device(const CallRecord& call, const Run& run) {
  const Device device = resolve(*options.device);
  const auto done = std::make_shared<Event>(device.type());
  {
    const Watched watched(watchdog, call, timeout);
    try {
      compare_calls(call);
      enter_stream();
      const StreamGuard guard(*stream_);
      executing_ = call;
      run(engine.get(), call_options(call));
      done->record(*stream_);
    } catch (const std::exception& error) {
      history.set(call, CallHistory::State::kFailed);
      std::rethrow_exception(fail({Failure::kEngine, call, watched.seconds(), error.what()}));
    }
  }
  // `run` keeps the tensors alive until the device has used them.
  auto inner = std::make_shared<CallWork>(shared_from_this(), call,
                                          [run, done](Engine*, const CallOptions&) { done->synchronize(); });
  comm.push(inner);
  if (failed()) inner->finish(failure_);
  return std::make_shared<DeviceWork>(std::move(inner), done, device);
}

void GroupState::execute(CallWork& work) {
  Run run = std::move(work.run);
  const CallRecord& call = work.call;
  history.set(call, CallHistory::State::kRunning);
  const std::exception_ptr error = failed() ? failure_ : perform(call, run);
  run = nullptr;  // who waits may count on the memory of what only the call has kept
  history.set(call, error ? CallHistory::State::kFailed : CallHistory::State::kDone);
  if (!error) calls_done_ = call.sequence + 1;
  work.finish(error);
}

std::exception_ptr GroupState::perform(const CallRecord& call, const Run& run) noexcept {
  const int64_t began = nanoseconds_now();
  try {
    const profiler::Record span(name(call.operation), "communication");
    const Watched watched(watchdog, call, timeout);
    if (!on_device()) compare_calls(call);
    const bool nothing = call.numel == 0 && !on_device();  // on any rank: the shapes have been compared
    executing_ = call;
    if (!nothing) run(engine.get(), call_options(call));
    return nullptr;
  } catch (const std::exception& thrown) {
    return fail({Failure::kEngine, call, 1e-9 * static_cast<double>(nanoseconds_now() - began), thrown.what()});
  }
}

// ---- comparing what the ranks do

void GroupState::compare_calls(const CallRecord& call) {
  const uint64_t fingerprint = call.fingerprint();
  if (!compare_always_ && compared_.contains(fingerprint)) return;
  const CallRecord::Words own = call.words();
  const std::vector<int64_t> all = exchange(call, -2, own);
  std::vector<CallRecord::Words> records(static_cast<std::size_t>(size));
  for (std::size_t other = 0; other < records.size(); ++other)
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(other * own.size()), own.size(), records[other].begin());
  if (std::any_of(records.begin(), records.end(), [&](const auto& other) { return other != own; }))
    std::rethrow_exception(fail({Failure::kMismatch, call, 0, differences(records, call)}));
  compared_.insert(fingerprint);
}

std::vector<int64_t> GroupState::exchange(const CallRecord& call, int purpose, ArrayRef<int64_t> own) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t bytes = own.size() * sizeof(int64_t);
  std::vector<int64_t> out(ranks * own.size());
  if (!on_device()) {
    CallRecord anything;  // so that the tag does not depend on what this rank does
    anything.sequence = call.sequence;
    anything.bucket = purpose;
    const std::vector<std::size_t> all_bytes(ranks, bytes);
    engine->all_gather(own.data(), out.data(), all_bytes.data(), call_options(anything));
    return out;
  }
  const auto key = [&](std::size_t other) { return concat(prefix, "call/", call.sequence, "/", -purpose, "/", other); };
  store->set(key(static_cast<std::size_t>(rank)), std::string_view(reinterpret_cast<const char*>(own.data()), bytes));
  for (std::size_t other = 0; other < ranks; ++other) {
    const std::string value = store->get(key(other), timeout);
    check(value.size() == bytes, "process group: rank ", other, " published ", value.size(), " bytes instead of ",
          bytes);
    std::memcpy(out.data() + other * own.size(), value.data(), bytes);
  }
  return out;
}

// ---- messages

// Forgets messages that are complete; returns whether others are in progress.
bool GroupState::poll_messages() {
  std::vector<std::shared_ptr<FinishableWork>> all, going;
  {
    const std::lock_guard lock(failure_mutex_);
    all = messages_;
  }
  for (const auto& message : all)
    // If more than messages_ and `all` hold it, the caller does, and will wait for it.
    if (message.use_count() > 2 ? !message->finished() : !message->is_completed()) going.push_back(message);
  const std::lock_guard lock(failure_mutex_);
  std::erase_if(messages_, [&](const auto& message) { return message->finished(); });
  return !going.empty();
}

std::unique_ptr<EngineRequest> GroupState::start_request(const CallRecord& call, const Tensor& tensor) {
  const auto start = [&] {
    return call.operation == Operation::kSend
               ? engine->send(tensor.data_ptr(), tensor.nbytes(), call.root, call_options(call))
               : engine->recv(tensor.data_ptr(), tensor.nbytes(), call.root, call_options(call));
  };
  if (!on_device()) return start();
  const std::lock_guard lock(submit_mutex_);  // a stream has one order
  enter_stream();
  return start();
}

WorkPtr GroupState::start_message(CallRecord call, const Tensor& tensor) {
  check_usable();
  poll_messages();
  std::unique_ptr<EngineRequest> request;
  try {
    request = start_request(call, tensor);
  } catch (const std::runtime_error& error) {
    std::rethrow_exception(fail({Failure::kEngine, call, 0, error.what()}));
  }
  auto work = std::make_shared<MessageWork>(shared_from_this(), call, tensor, std::move(request));
  const std::lock_guard lock(failure_mutex_);
  messages_.push_back(work);
  return work;
}

// ---- the end

void GroupState::leave() noexcept {
  if (left_.exchange(true) || failed() || size == 1 || process_ != detail::this_process()) return;
  try_briefly([](GroupState& group) { group.board.leave(group.calls_done_); });
}

void GroupState::wait_for_end() {
  if (size == 1 || failed()) return;
  comm.drain();
  if (failed()) return;
  board.arrive("end");
  const std::vector<int> missing = board.missing("end", timeout, [this] { return failed(); });
  if (failed()) return;
  if (!missing.empty())
    throw DistributedError(
        concat("destroy_process_group: ", rank_list(missing), " did not call it within ", timeout.count(), " ms"));
  left_ = true;
  board.arrive("bye");
  // Rank 0 usually serves the store, so it stays until the others have seen that all have arrived.
  if (rank == 0) board.missing("bye", Milliseconds(2000));
}

std::exception_ptr GroupState::ended_error(const CallRecord& call) noexcept {
  try {
    throw DistributedError(call.label() + ": the process group was destroyed before the call was done");
  } catch (const std::exception&) {  // this one, or out of memory
    return std::current_exception();
  }
}

void GroupState::end() noexcept {
  if (process_ != detail::this_process()) return;
  if (size > 1 && !failed()) comm.drain();
  leave();
  bool pending = !failed();
  try {
    pending = pending && poll_messages();
  } catch (const std::exception&) {
    // Out of memory: some may be in progress.
  }
  std::vector<std::shared_ptr<FinishableWork>> messages;
  {
    std::unique_lock lock(failure_mutex_);
    failure_set_.wait(lock, [this] { return !failing_ || failed_wholly_; });
    ended_ = true;
    messages.swap(messages_);  // they hold on to the group
  }
  watchdog.stop();
  if (engine && pending) engine->abort();
  for (const auto& work : messages) work->finish(ended_error(work->call));
  messages.clear();
  const bool stopped = comm.stop(Milliseconds(2000));
  if (const auto running = comm.running()) running->finish(ended_error(running->call));
  for (const auto& work : comm.take_queued()) work->finish(ended_error(work->call));
  if (stopped) engine.reset();
}

}  // namespace tandem::distributed
