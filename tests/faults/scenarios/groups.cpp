// Groups of three ranks that are threads.
#include <exception>
#include <thread>

#include "tandem/parallel/distributed/process_group.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {
namespace {

using namespace tandem::distributed;

constexpr int kRanks = 3;
constexpr Milliseconds kTimeout{4'000};

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

void group(const std::string&, Sum& sum) {
  std::vector<std::exception_ptr> errors(kRanks);
  std::vector<Sum> sums(kRanks);
  std::vector<std::thread> threads;
  {
    const Pause own_threads;
    const auto store = std::make_shared<HashStore>();
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&errors, &sums, store, rank] {
        try {
          ProcessGroupOptions options;
          options.timeout = kTimeout;
          collectives(*ProcessGroup::make(store, static_cast<int>(rank), kRanks, options), sums[rank]);
        } catch (...) {
          errors[rank] = std::current_exception();
        }
      });
  }
  for (std::thread& thread : threads) thread.join();
  judge(errors);
  for (const Sum& each : sums) sum.add(std::to_string(each.value()));
}

// Without memory, threads and sockets, Gloo's own thread throws, which ends the process.
const AddScenarios added({{
    .name = "group",
    .kinds = {Kind::kMap, Kind::kLibrary, Kind::kRead, Kind::kPoll, Kind::kShort, Kind::kInterrupt},
    .run = group,
    .weight = 4,
}});

}  // namespace
}  // namespace tandem::faults
