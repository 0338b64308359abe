// One rank of a job, for group_processes_test.py. Sums tensors with the other ranks, and reports what goes wrong.
//
//   group_worker COUNT [end|exit|leave=RANK|late=RANK]
//   group_worker time BYTES CALLS
//
// Prints "step N" after every sum. Exit code 3: a DistributedError, whose message is on stderr.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tandem/core/base/clock.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/tandem.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

int rank_after(const std::string& mode, const char* word) {
  return mode.starts_with(word) ? std::atoi(mode.c_str() + std::string(word).size()) : -1;
}

void measure(ProcessGroup& group, int64_t bytes, int calls) {
  const Tensor x = zeros({bytes / 4});
  for (int i = 0; i < 5; ++i) group.all_reduce(x)->wait();
  group.barrier()->wait();
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    const double begin = seconds_now();
    group.all_reduce(x)->wait();
    times.push_back(1e3 * (seconds_now() - begin));
  }
  std::sort(times.begin(), times.end());
  if (group.rank() == 0)
    std::printf("%lld bytes: median %.3f ms, best %.3f ms\n", static_cast<long long>(bytes), times[times.size() / 2],
                times[0]);
}

// Returns whether the process is to end at once.
bool work(ProcessGroup& group, int count, const std::string& mode) {
  for (int i = 0; i < count; ++i) {
    if (i == 20 && group.rank() == rank_after(mode, "leave=")) return true;
    if (i == 20 && group.rank() == rank_after(mode, "late=")) std::this_thread::sleep_for(std::chrono::seconds(60));
    const Tensor x = full({1000}, static_cast<float>(group.rank() + i));
    group.all_reduce(x, ReduceOp::SUM, i % 2)->wait();
    const auto size = static_cast<float>(group.size());
    check(x[999].item<float>() == size * (static_cast<float>(i) + (size - 1) / 2), "wrong sum ", x[999]);
    std::printf("step %d\n", i);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return mode == "exit";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    ProcessGroupOptions options;
    options.timeout = Milliseconds(5000);
    const auto group = init_process_group(options);
    if (argc > 3)
      measure(*group, std::atoll(argv[2]), std::atoi(argv[3]));
    else if (argc > 1 && work(*group, std::atoi(argv[1]), argc > 2 ? argv[2] : "end"))
      std::exit(0);
    destroy_process_group();
    return 0;
  } catch (const DistributedError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    return 4;
  }
}
