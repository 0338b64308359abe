// Groups of three ranks that are threads.
#include <exception>
#include <functional>
#include <thread>

#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/distributed/store.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {
namespace {

using namespace tandem::distributed;

constexpr int kRanks = 3;

// What a rank computes with the others.
void collectives(ProcessGroup& group, Sum& sum) {
  const Tensor own = full({5}, group.rank() + 1.0), all = empty({kRanks * 5});
  group.all_reduce(own)->wait();
  group.broadcast(own, 1)->wait();
  group.all_gather(all, own)->wait();
  group.barrier()->wait();
  sum.add({own, all});
}

// At most one rank has the failure itself. The others name a rank, or succeed.
void judge(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr own, any;
  for (const std::exception_ptr& error : errors) try {
      if (error) std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
      any = error;
      if (std::string(thrown.what()).find("rank") != std::string::npos) continue;
      if (own) throw std::logic_error(std::string("a second rank names none: ") + thrown.what());
      own = error;
    }
  if (own) std::rethrow_exception(own);
  if (any) std::rethrow_exception(any);
}

using StoreOf = std::function<std::shared_ptr<Store>(int rank)>;

// What `rank` computes in a group.
void run_rank(const StoreOf& store_of, int rank, Sum& sum) {
  ProcessGroupOptions options;
  options.timeout = timeout();
  collectives(*ProcessGroup::make(store_of(rank), rank, kRanks, options), sum);
}

void run_ranks(const StoreOf& store_of, Sum& sum) {
  std::vector<std::exception_ptr> errors(kRanks);
  std::vector<Sum> sums(kRanks);
  std::vector<std::thread> threads;
  {
    const Pause own_threads;
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          run_rank(store_of, static_cast<int>(rank), sums[rank]);
        } catch (...) {
          errors[rank] = std::current_exception();
        }
      });
  }
  for (std::thread& thread : threads) thread.join();
  judge(errors);
  for (const Sum& each : sums) sum.add(std::to_string(each.value()));
}

void group(const std::string&, Sum& sum) {
  const auto store = std::make_shared<HashStore>();
  run_ranks([&](int) { return store; }, sum);
}

void group_of_tcp_store(const std::string&, Sum& sum) {
  TCPStoreOptions options{.port = 0, .is_server = true, .timeout = timeout()};
  const auto server = std::make_shared<TCPStore>("127.0.0.1", options);
  options.port = server->port();
  options.is_server = false;
  run_ranks(
      [&](int rank) -> std::shared_ptr<Store> {
        return rank == 0 ? server : std::make_shared<TCPStore>("127.0.0.1", options);
      },
      sum);
}

// Not those of Gloo's own threads: it ends the process then.
const std::vector<Kind> kKindsOfGroups = {Kind::kMemory, Kind::kMap,    Kind::kLibrary,  Kind::kRead,
                                          Kind::kThread, Kind::kSocket, Kind::kSend,     Kind::kReceive,
                                          Kind::kPoll,   Kind::kShort,  Kind::kInterrupt};

// Gloo leaves a socket or its poller open when it cannot connect.
Scenario of_group(const std::string& name, void (*run)(const std::string&, Sum&)) {
  return {
      .name = name, .kinds = kKindsOfGroups, .run = run, .weight = 12, .leaves_open = "cannot connect to the others"};
}

const AddScenarios added({of_group("group", group), of_group("group_of_tcp_store", group_of_tcp_store)});

}  // namespace
}  // namespace tandem::faults
