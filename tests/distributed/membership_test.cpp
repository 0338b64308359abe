// Groups of which this rank is not a member: nothing may be done with them. Ranks are threads.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/distributed_data_parallel/sync_batch_norm.h"
#include "tandem/parallel/sharded/zero_redundancy_optimizer.h"
#include "tandem/parallel/shared/collectives.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

void check_refused(const std::string& members, int rank, const std::string& call, const std::function<void()>& f) {
  const std::string text = concat(call, ": rank ", rank, " is not in the group of ", members,
                                  "; only its members may use it (ProcessGroup::is_member() says which are)");
  CHECK_THROWS_WITH_AS(f(), text.c_str(), Error);
}

}  // namespace

TEST_CASE("a rank that is not in a group cannot use it") {
  if (!available()) return;
  const auto errors = run_ranks(4, [&](ProcessGroup& group) {
    const auto some = group.new_group({3, 1, 2});
    if (group.rank() == 0) {
      CHECK(some->rank() == -1);
      CHECK(some->size() == -1);
      const Tensor x = ones({2});
      check_refused("ranks 1-3", 0, "all_reduce", [&] { some->all_reduce(x); });
      check_refused("ranks 1-3", 0, "reduce", [&] { some->reduce(x, 0); });
      check_refused("ranks 1-3", 0, "reduce_scatter", [&] { some->reduce_scatter(x, x); });
      check_refused("ranks 1-3", 0, "broadcast", [&] { some->broadcast(x, 0); });
      check_refused("ranks 1-3", 0, "all_gather", [&] { some->all_gather(x, x); });
      check_refused("ranks 1-3", 0, "all_gather", [&] { some->all_gather({x}, x); });
      check_refused("ranks 1-3", 0, "all_to_all", [&] { some->all_to_all(x, x); });
      check_refused("ranks 1-3", 0, "all_to_all_table", [&] { some->all_to_all_table(x, x, {{2}}); });
      check_refused("ranks 1-3", 0, "gather", [&] { some->gather({x}, x, 0); });
      check_refused("ranks 1-3", 0, "scatter", [&] { some->scatter(x, {x}, 0); });
      check_refused("ranks 1-3", 0, "send", [&] { some->send(x, 1); });
      check_refused("ranks 1-3", 0, "recv", [&] { some->recv(x, 1); });
      check_refused("ranks 1-3", 0, "barrier", [&] { some->barrier(); });
      check_refused("ranks 1-3", 0, "new_group", [&] { some->new_group({0}); });
      check_refused("ranks 1-3", 0, "abort", [&] { some->abort("for no reason"); });
      CHECK(x.sum().item<float>() == 2);
    } else {
      some->barrier()->wait();
    }
    group.barrier()->wait();
  });
  check_no_errors(errors);
}

// The default group would be a wrong guess: the other members wait for nobody,
// and this rank for those of the default one.
TEST_CASE("a group without this rank is not taken for the default group") {
  struct DefaultGroup {
    DefaultGroup() { init_process_group(std::make_shared<HashStore>(), 0, 1); }
    ~DefaultGroup() { destroy_process_group(); }
  } const in_this_process;
  on_ranks(3, [&](const GroupPtr& group) {
    const auto some = group->new_group({0, 2});
    if (some->is_member()) {
      some->barrier()->wait();  // the other may still connect
      return;
    }
    const auto net = nn::Sequential(nn::Linear(9, 4), nn::BatchNorm1d(4)).ptr();
    const Tensor x = ones({2, 9});
    check_refused("ranks 0, 2", 1, "DistributedDataParallel",
                  [&] { DistributedDataParallel<nn::SequentialImpl>(net, {.process_group = some}); });
    check_refused("ranks 0, 2", 1, "ZeroRedundancyOptimizer",
                  [&] { ZeroRedundancyOptimizer<optim::SGD>(net->parameters(), optim::SGDOptions(0.1), some); });
    check_refused("ranks 0, 2", 1, "ParameterServer",
                  [&] { parallel::ParameterServer<nn::SequentialImpl>(net, {kCPU}, {.group = some}); });
    check_refused("ranks 0, 2", 1, "SyncBatchNorm", [&] { SyncBatchNorm(nn::BatchNormOptions(9), some)->forward(x); });
    check_refused("ranks 0, 2", 1, "SyncBatchNorm", [&] { convert_sync_batchnorm(*net, some); });
    check_refused("ranks 0, 2", 1, "all_reduce", [&] { functional::all_reduce(x, ReduceOp::SUM, some); });
    check_refused("ranks 0, 2", 1, "recv", [&] { functional::recv({2}, kFloat, 0, some); });
  });
}
