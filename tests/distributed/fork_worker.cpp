// One rank of a job whose processes fork while they communicate, for fork_test.py. The child is refused by everything
// that it inherited, makes its own group, and leaves its parent's calls alone.
//
// Exit code 0: parent and child saw what they should; otherwise stderr says what was wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/shared/collectives.h"
#include "tandem/tandem.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

int wrong = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  ++wrong;
  std::fprintf(stderr, "rank %d, process %d: %s\n", get_rank(), static_cast<int>(::getpid()), what.c_str());
}

void expect_refused(const char* what, const std::function<void()>& f) {
  std::string said = "no error";
  try {
    f();
  } catch (const Error& error) {
    said = error.what();
  }
  expect(said.find(": the process group belongs to the process that made it; a forked child must make its own") !=
             std::string::npos,
         concat(what, ": ", said));
}

using Model = DistributedDataParallel<nn::LinearImpl>;

// What the parent was doing when it forked.
struct Inherited {
  std::shared_ptr<ProcessGroup> group;
  Model model;
  WorkPtr collective, message;
};

void try_group(Inherited& inherited) {
  ProcessGroup& group = *inherited.group;
  const Tensor x = ones({4});
  expect(get_rank() == group.rank() && get_world_size() == group.size(), "the rank is another one");
  expect_refused("abort", [&] { group.abort("the child is in trouble"); });
  expect_refused("all_reduce", [&] { group.all_reduce(x); });
  expect_refused("barrier", [&] { group.barrier(); });
  expect_refused("send", [&] { group.send(x, (group.rank() + 1) % group.size()); });
  expect_refused("recv", [&] { group.recv(x, (group.rank() + 1) % group.size()); });
  expect_refused("new_group", [&] { group.new_group({0, 1}); });
  expect_refused("recent_calls", [&] { group.recent_calls(); });
  if (inherited.collective) expect_refused("wait for a collective", [&] { inherited.collective->wait(); });
  expect_refused("wait for a message", [&] { inherited.message->wait(); });
  expect_refused("question for a message", [&] { inherited.message->is_completed(); });
  expect_refused("functional::all_reduce", [&] { functional::all_reduce(x); });
  expect_refused("a new model", [&] { Model(nn::Linear(4, 2)); });
  expect_refused("backward", [&] { inherited.model->forward(x.unsqueeze(0)).sum().backward(); });
}

void child(Inherited& inherited) {
  try_group(inherited);
  inherited.message.reset();
  inherited.collective.reset();
  inherited.group.reset();
  destroy_process_group();
  expect(!is_initialized(), "the inherited group is still there");
  const auto own = init_process_group(std::make_shared<HashStore>(), 0, 1);
  const Tensor x = ones({4});
  own->all_reduce(x)->wait();
  expect(x.sum().item<float>() == 4, "the child's own group does not work");
  destroy_process_group();
  inherited.model = nullptr;
}

void parent(Inherited& inherited, pid_t pid) {
  int status = -1;
  const bool ended = ::waitpid(pid, &status, 0) == pid;
  expect(ended && status == 0, concat("the child ended with ", status));
  ProcessGroup& group = *inherited.group;
  group.barrier()->wait();
  group.send(full({4}, static_cast<float>(group.rank())), (group.rank() + 1) % group.size())->wait();
  inherited.collective->wait();
  inherited.message->wait();
  for (int i = 0; i < 50; ++i) {
    const Tensor x = ones({1000});
    group.all_reduce(x)->wait();
    expect(x.sum().item<float>() == 1000.f * static_cast<float>(group.size()), "a sum is wrong");
  }
  inherited.model->forward(ones({1, 4})).sum().backward();
}

}  // namespace

int main() {
  try {
    ProcessGroupOptions options;
    options.timeout = Milliseconds(20'000);
    init_process_group(options);
    Inherited inherited{default_group(), Model(nn::Linear(4, 2)), nullptr, nullptr};
    ProcessGroup& group = *inherited.group;
    const Tensor received = zeros({4}), sum = ones({4});
    const int before = (group.rank() + group.size() - 1) % group.size();
    inherited.message = group.recv(received, before);
    // The last rank comes when all have forked, the others during the call.
    const bool last = group.rank() == group.size() - 1;
    if (!last) inherited.collective = group.all_reduce(sum);
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(15);
      child(inherited);
      std::exit(wrong == 0 ? 0 : 1);
    }
    group.store()->set(concat("forked/", group.rank()), "");
    if (last) {
      for (int rank = 0; rank < group.size(); ++rank) group.store()->get(concat("forked/", rank), options.timeout);
      inherited.collective = group.all_reduce(sum);
    }
    parent(inherited, pid);
    expect(sum.sum().item<float>() == 4.f * static_cast<float>(group.size()), "the sum of that time is wrong");
    expect(received.sum().item<float>() == 4.f * static_cast<float>(before), "the message is wrong");
    destroy_process_group();
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    return 2;
  }
}
