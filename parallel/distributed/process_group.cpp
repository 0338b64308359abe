#include "tandem/parallel/distributed/process_group.h"

#include <cstdlib>
#include <set>

#include "tandem/core/base/suggest.h"
#include "tandem/parallel/distributed/engine_loader.h"
#include "tandem/parallel/distributed/group_state.h"
#include "tandem/parallel/distributed/interface.h"

namespace tandem::distributed {

namespace {

// The groups that this process has made, so that the others hear of its end.
struct GroupRegistry {
  GroupRegistry() = default;
  GroupRegistry(const GroupRegistry&) {}  // a forked child has made none
  std::mutex mutex;
  std::vector<std::weak_ptr<GroupState>> groups;
};
GroupRegistry& registry() {
  static constinit detail::PerProcess<GroupRegistry> instance;
  return instance.get();
}

void leave_all() {
  std::vector<std::weak_ptr<GroupState>> groups;
  {
    const std::lock_guard lock(registry().mutex);
    groups = registry().groups;
  }
  for (const auto& weak : groups)
    if (const auto group = weak.lock()) group->leave();
}

void register_group(const std::shared_ptr<GroupState>& group) {
  static const int registered = std::atexit(leave_all);
  static_cast<void>(registered);
  const std::lock_guard lock(registry().mutex);
  std::erase_if(registry().groups, [](const auto& weak) { return weak.expired(); });
  registry().groups.push_back(group);
}

// The engine's view of the store.
class StoreForEngine final : public EngineStore {
 public:
  StoreForEngine(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}
  void set(const std::string& key, std::string_view value) override { store_.set(prefix_ + key, value); }
  std::string get(const std::string& key, Milliseconds timeout) override { return store_.get(prefix_ + key, timeout); }

 private:
  Store& store_;
  const std::string prefix_;
};

std::string master_of(const Store& store) {
  if (std::string host = store.host(); !host.empty()) return host;
  const char* given = std::getenv("MASTER_ADDR");
  return given == nullptr ? "" : given;
}

// Throws the message that the first rank published, so that all name the same ranks. Rank 0 usually serves the store,
// so the others read it first.
[[noreturn]] void fail_together(GroupState& group, const std::string& own) {
  const std::string message = group.board.settle(own);
  if (group.rank == 0) group.board.missing("seen", Milliseconds(300));
  throw DistributedError(message);
}

// The first rank whose time is up notifies the others.
void meet(GroupState& group) {
  Board& board = group.board;
  board.arrive("join");
  const auto given_up = [&] { return group.store->check({board.key("failure")}); };
  const std::vector<int> missing = board.missing("join", group.timeout, given_up);
  if (missing.empty()) return;
  fail_together(group, concat("process group: ", rank_list(missing), " of ", group.size, " did not connect within ",
                              group.timeout.count(), " ms", kTimeoutCure));
}

// Every rank says when it has tried to connect, so those that say nothing may be the cause.
std::string silent_ranks(GroupState& group) {
  group.board.arrive("tried");
  const std::vector<int> silent = group.board.missing("tried", Milliseconds(1200));
  if (silent.empty()) return "";
  return concat("\n  ", rank_list(silent), silent.size() == 1 ? " has" : " have",
                " neither connected nor failed: still trying, or ended");
}

[[noreturn]] void explain_connecting(GroupState& group, const std::string& own) {
  std::string silent;
  try {
    silent = silent_ranks(group);
  } catch (const DistributedError& error) {
    throw DistributedError(concat(own, "\n  the store cannot say which ranks are missing: ", error.what()));
  }
  fail_together(group, own + silent);
}

void connect(GroupState& group) {
  const EnginePlugin& plugin = load_engine(group.options.backend);
  const std::string address = choose_interface(group.options.interface, master_of(*group.store));
  meet(group);
  StoreForEngine store(*group.store, group.prefix + "engine/");
  EngineOptions options{group.rank, group.size, &store, group.timeout, address};
  if (group.options.device) options.device_index = group.options.device->index();
  try {
    group.engine.reset(plugin.make(options));
  } catch (const std::runtime_error& error) {
    explain_connecting(
        group, concat("process group: rank ", group.rank, " of ", group.size, " cannot connect to the others from ",
                      address, ": ", error.what(), "; set TANDEM_INTERFACE to the network that joins the machines"));
  }
  group.board.arrive("tried");
}

ProcessGroupOptions checked(ProcessGroupOptions options) {
  if (options.backend.empty()) options.backend = "gloo";
  check(options.timeout.count() > 0, "process group: expected a positive timeout, got ", options.timeout.count(),
        " ms");
  if (options.backend == "nccl" && !options.device) {
    const char* local = std::getenv("LOCAL_RANK");
    options.device = Device(kCUDA, local == nullptr ? 0 : std::atoi(local));
  }
  return options;
}

}  // namespace

std::shared_ptr<ProcessGroup> ProcessGroup::make(std::shared_ptr<Store> store, int rank, int size,
                                                 const ProcessGroupOptions& given) {
  check(store != nullptr, "process group: the store is null");
  check(size >= 1 && rank >= 0 && rank < size, "process group: expected a rank from 0 to ", size - 1, ", got ", rank,
        " of ", size);
  const ProcessGroupOptions options = checked(given);
  // Groups that are made one after another from one store do not see each other's keys.
  const int64_t number = size == 1 ? 0 : store->add(concat("groups/", rank), 1);
  auto state = std::make_shared<GroupState>(std::move(store), concat("group", number, "/"), rank, size, options);
  if (size > 1) connect(*state);
  // Before the threads, so that its destructor ends those that started if another one cannot.
  std::shared_ptr<ProcessGroup> group(new ProcessGroup(state));
  if (size > 1) {
    state->start_threads();
    register_group(state);
  }
  return group;
}

ProcessGroup::~ProcessGroup() {
  if (state_->is_own_process())
    state_->end();
  else
    new std::shared_ptr<GroupState>(state_);  // after a fork its threads and connections are the parent's
}

int ProcessGroup::rank() const { return is_member() ? state_->rank : -1; }
int ProcessGroup::size() const { return is_member() ? state_->size : -1; }
bool ProcessGroup::is_member() const { return state_->outside.empty(); }
void ProcessGroup::check_member(const char* caller) const { state_->check_member(caller); }
const std::string& ProcessGroup::backend() const { return state_->options.backend; }
Device ProcessGroup::device() const {
  return state_->options.backend == "nccl" ? *state_->options.device : Device(kCPU);
}
Milliseconds ProcessGroup::timeout() const { return state_->timeout; }
const std::shared_ptr<Store>& ProcessGroup::store() const { return state_->store; }
std::string ProcessGroup::recent_calls() const {
  check_member("recent_calls");
  return state_->history.text();
}

std::shared_ptr<ProcessGroup> ProcessGroup::new_group(const std::vector<int>& ranks) {
  GroupState& state = *state_;
  state.check_member("new_group");
  check(!ranks.empty(), "new_group: no ranks given");
  int own = -1;
  std::set<int> seen;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    check(ranks[i] >= 0 && ranks[i] < state.size, "new_group: rank ", ranks[i], " is not in this group of ",
          state.size);
    check(seen.insert(ranks[i]).second, "new_group: rank ", ranks[i], " appears twice");
    if (ranks[i] == state.rank) own = static_cast<int>(i);
  }
  const int64_t number = state.groups++;
  if (own < 0) {
    auto outside =
        std::make_shared<GroupState>(state.store, "", 0, 1, state.options,
                                     concat("rank ", state.rank, " is not in the group of ", rank_list(ranks)));
    return std::shared_ptr<ProcessGroup>(new ProcessGroup(std::move(outside)));
  }
  auto store = std::make_shared<PrefixStore>(concat(state.prefix, "new", number), state.store);
  return make(std::move(store), own, static_cast<int>(ranks.size()), state.options);
}

void ProcessGroup::abort(const std::string& reason) {
  check_member("abort");
  const std::string text = concat("rank ", rank(), " aborted: ", reason.substr(0, 2000));
  state_->fail({Failure::kAborted, {}, 0, text});
}

}  // namespace tandem::distributed
