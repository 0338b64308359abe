// The default group of the process.
#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/group_state.h"

namespace tandem::distributed {

namespace {

// Never destroyed: threads may still communicate when the process ends. A forked child has the group of its parent
// until it destroys it: it knows its rank, and calls say why they are refused.
struct Default {
  detail::ForkMutex mutex;
  std::unique_ptr<const std::shared_ptr<ProcessGroup>> group;  // so that one write changes it
};
Default& state() {
  static auto& instance = *new Default;
  return instance;
}

std::shared_ptr<ProcessGroup> current() {
  const std::lock_guard lock(state().mutex);
  return state().group ? *state().group : nullptr;
}

void check_none() {
  check(!is_initialized(), "init_process_group: there is a default group already; call destroy_process_group()");
}

std::shared_ptr<ProcessGroup> keep(std::shared_ptr<ProcessGroup> group) {
  const std::lock_guard lock(state().mutex);
  check(state().group == nullptr, "init_process_group: another thread has made the default group meanwhile");
  state().group = std::make_unique<const std::shared_ptr<ProcessGroup>>(group);
  return group;
}

}  // namespace

std::shared_ptr<ProcessGroup> init_process_group(const ProcessGroupOptions& options) {
  check_none();
  const Environment environment = Environment::read();
  if (!environment.launched()) return keep(ProcessGroup::make(std::make_shared<HashStore>(), 0, 1, options));
  ProcessGroupOptions chosen = options;
  if (chosen.backend == "nccl" && !chosen.device) chosen.device = Device(kCUDA, environment.local_rank);
  std::shared_ptr<Store> store = std::make_shared<HashStore>();
  // A launcher's store outlives the processes that it restarts.
  if (environment.world_size > 1)
    store = std::make_shared<PrefixStore>(concat("run", environment.restart), make_store(environment, options.timeout));
  return keep(ProcessGroup::make(std::move(store), environment.rank, environment.world_size, chosen));
}

std::shared_ptr<ProcessGroup> init_process_group(std::shared_ptr<Store> store, int rank, int size,
                                                 const ProcessGroupOptions& options) {
  check_none();
  return keep(ProcessGroup::make(std::move(store), rank, size, options));
}

void destroy_process_group() {
  std::unique_ptr<const std::shared_ptr<ProcessGroup>> group;
  {
    const std::lock_guard lock(state().mutex);
    group.swap(state().group);
  }
  check(group != nullptr, "destroy_process_group: there is no default group");
  GroupState& inner = *(*group)->state_;
  if (!inner.is_own_process()) return;
  try {
    inner.wait_for_end();
  } catch (...) {
    inner.end();
    throw;
  }
  inner.end();
}

bool is_initialized() { return current() != nullptr; }

std::shared_ptr<ProcessGroup> default_group() {
  std::shared_ptr<ProcessGroup> group = current();
  check(group != nullptr, "default_group: there is none; call init_process_group() first");
  return group;
}

std::shared_ptr<ProcessGroup> given_or_default(const std::shared_ptr<ProcessGroup>& given, const char* caller,
                                               const char* cure) {
  check(given != nullptr || is_initialized(), caller, ": there is no process group; ", cure);
  std::shared_ptr<ProcessGroup> group = given ? given : default_group();
  group->check_member(caller);
  return group;
}

void abort_with(ProcessGroup& group, const std::exception_ptr& error, const char* unknown) noexcept {
  try {
    std::string reason = unknown;
    try {
      std::rethrow_exception(error);
    } catch (const DistributedError&) {
      return;
    } catch (const std::exception& thrown) {
      reason = thrown.what();
    } catch (...) {
    }
    group.abort(reason);
  } catch (...) {
  }
}

int get_rank() {
  const auto group = current();
  return group == nullptr ? 0 : group->rank();
}

int get_world_size() {
  const auto group = current();
  return group == nullptr ? 1 : group->size();
}

}  // namespace tandem::distributed
