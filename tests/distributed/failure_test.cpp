// What the ranks of a group report when one of them fails, is late, or does something else.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>

#include "tandem/parallel/distributed/diagnosis.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"

namespace tandem::distributed {
namespace {

void check_contains(const std::string& text, const std::string& part) {
  CHECK_MESSAGE(text.find(part) != std::string::npos, "\"", text, "\" lacks \"", part, "\"");
}

void check_all_contain(const std::vector<std::string>& errors, const std::string& part) {
  for (const std::string& error : errors) check_contains(error, part);
}

// The ranks notice a failure after a second or two, but wait 60 s for a call by default; so long a busy machine may take.
constexpr double kSoon = 30;

// The text has `part` before a number of seconds, which are at least so many.
void check_seconds(const std::string& text, const std::string& part, double least) {
  const std::size_t at = text.find(part);
  const double seconds = at == std::string::npos ? -1 : std::strtod(text.c_str() + at + part.size(), nullptr);
  CHECK_MESSAGE((seconds >= least && seconds < kSoon), "\"", text, "\" after \"", part, "\"");
}

void sleep_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// A store that calls before() before it asks another one.
class StoreBehind : public Store {
 public:
  explicit StoreBehind(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
  void set(const std::string& key, std::string_view value) override { inner().set(key, value); }
  std::string get(const std::string& key, Milliseconds timeout) override { return inner().get(key, timeout); }
  int64_t add(const std::string& key, int64_t amount) override { return inner().add(key, amount); }
  bool check(const std::vector<std::string>& keys) override { return inner().check(keys); }
  std::string compare_set(const std::string& key, std::string_view expected, std::string_view desired) override {
    return inner().compare_set(key, expected, desired);
  }
  bool delete_key(const std::string& key) override { return inner().delete_key(key); }

 private:
  virtual void before() = 0;
  Store& inner() {
    before();
    return *inner_;
  }
  std::shared_ptr<Store> inner_;
};

}  // namespace

TEST_CASE("different calls are found before the first use") {
  if (!available()) return;
  const auto shapes = run_ranks(3, [&](ProcessGroup& group) {
    group.barrier()->wait();
    group.all_reduce(zeros({group.rank() == 1 ? 4 : 10}))->wait();
  });
  for (const std::string& error : shapes)
    CHECK(error ==
          "all_reduce 1: ranks do different things\n  ranks 0, 2: all_reduce [10] float32 sum\n"
          "  rank 1: all_reduce [4] float32 sum");
  const auto operations = run_ranks(2, [&](ProcessGroup& group) {
    group.rank() == 0 ? group.all_reduce(zeros({10}))->wait() : group.broadcast(zeros({4}), 0)->wait();
  });
  for (const std::string& error : operations)
    CHECK(error ==
          "all_reduce 0: ranks do different things\n  rank 0: all_reduce [10] float32 sum\n"
          "  rank 1: broadcast [4] float32 from rank 0");
  const auto dtypes = run_ranks(
      2, [&](ProcessGroup& group) { group.all_reduce(zeros({10}, group.rank() == 0 ? kFloat32 : kInt32))->wait(); });
  check_all_contain(dtypes, "rank 1: all_reduce [10] int32 sum");
  const auto roots = run_ranks(2, [&](ProcessGroup& group) { group.broadcast(zeros({1}), group.rank())->wait(); });
  check_all_contain(roots, "rank 1: broadcast [1] float32 from rank 1");
}

TEST_CASE("different calls that have been used before end in a timeout") {
  if (!available()) return;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks(
      3,
      [&](ProcessGroup& group) {
        group.all_reduce(zeros({10}))->wait();
        group.broadcast(zeros({400}), 0)->wait();
        group.rank() == 1 ? group.broadcast(zeros({400}), 0)->wait() : group.all_reduce(zeros({10}))->wait();
      },
      with_timeout(1000));
  CHECK(seconds_since(begin) < kSoon);
  check_all_contain(errors, "ranks wait in different calls");
  check_all_contain(errors, "\n  ranks 0, 2: all_reduce 2: all_reduce [10] float32 sum");
  check_all_contain(errors, "\n  rank 1: broadcast 2: broadcast [400] float32 from rank 0");
}

TEST_CASE("a rank that is late") {
  if (!available()) return;
  std::atomic<int> have_failed{0};
  const auto errors = run_ranks(
      4,
      [&](ProcessGroup& group) {
        group.all_reduce(zeros({10}))->wait();
        const auto begin = std::chrono::steady_clock::now();
        while (group.rank() == 3 && have_failed < 3 && seconds_since(begin) < kSoon) sleep_seconds(0.01);
        const Tensor x = ones({8});
        const WorkPtr work = group.all_reduce(x, ReduceOp::SUM, 2), later = group.barrier();
        CHECK_THROWS_AS(later->wait(), DistributedError);
        ++have_failed;
        if (group.rank() == 3) CHECK(have_failed == 4);  // the others did not wait for it
        CHECK(work->is_completed());
        CHECK(work->exception() != nullptr);
        CHECK_THROWS_AS(group.barrier(), DistributedError);
        check_contains(group.recent_calls(), "1 all_reduce [8] float32 sum (bucket 2): failed");
        work->wait();
      },
      with_timeout(1000));
  for (const std::string& error : errors)
    check_seconds(error, "rank 3 did not reach all_reduce 1 (bucket 2); ranks 0-2 wait since ", 1);
  check_all_contain(errors, "\n  (ProcessGroupOptions::timeout sets how long ranks wait)");
}

TEST_CASE("a wait with a timeout of its own fails the group") {
  if (!available()) return;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks(2, [&](ProcessGroup& group) {
    if (group.rank() == 1) sleep_seconds(2.5);
    group.barrier()->wait(Milliseconds(300));
  });
  CHECK(seconds_since(begin) < kSoon);
  for (const std::string& error : errors)
    check_seconds(error, "rank 1 did not reach barrier 0; rank 0 waits since ", 0.3);
}

TEST_CASE("a rank that leaves") {
  if (!available()) return;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks(3, [&](ProcessGroup& group) {
    group.barrier()->wait();
    if (group.rank() != 1) group.all_reduce(zeros({3}))->wait();
  });
  CHECK(seconds_since(begin) < kSoon);
  CHECK(errors[1].empty());
  for (const int rank : {0, 2}) check_contains(errors[static_cast<std::size_t>(rank)], "rank 1 left the group");
}

TEST_CASE("abort") {
  if (!available()) return;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks(3, [&](ProcessGroup& group) {
    group.barrier()->wait();
    if (group.rank() == 2) {
      sleep_seconds(0.3);
      group.abort("the data is bad");
    }
    group.all_reduce(zeros({3}))->wait();
  });
  CHECK(seconds_since(begin) < kSoon);
  for (const std::string& error : errors) CHECK(error == "rank 2 aborted: the data is bad");
}

TEST_CASE("messages that nobody answers") {
  if (!available()) return;
  const auto errors = run_ranks(
      3,
      [&](ProcessGroup& group) {
        if (group.rank() == 0) group.recv(zeros({5}), 1, 3)->wait();
        if (group.rank() == 1) sleep_seconds(3);
      },
      with_timeout(1000));
  check_seconds(errors[0],
                "recv from rank 1 (tag 3): recv [5] float32 from rank 1: rank 1 made no matching call within ", 1);
  const auto sizes = run_ranks(
      2,
      [&](ProcessGroup& group) {
        group.rank() == 0 ? group.recv(zeros({5}), 1)->wait() : group.send(zeros({6}), 0)->wait();
        group.barrier()->wait();
      },
      with_timeout(1000));
  check_contains(sizes[0], "recv");
  CHECK(!sizes[1].empty());
}

TEST_CASE("ranks that never connect") {
  if (!available()) return;
  const auto store = std::make_shared<HashStore>();
  const auto begin = std::chrono::steady_clock::now();
  std::string message;
  std::thread other([&] { CHECK_THROWS_AS(ProcessGroup::make(store, 3, 4, with_timeout(1000)), DistributedError); });
  try {
    ProcessGroup::make(store, 0, 4, with_timeout(1000));
  } catch (const DistributedError& error) {
    message = error.what();
  }
  other.join();
  CHECK(seconds_since(begin) < kSoon);
  CHECK(message ==
        "process group: ranks 1-2 of 4 did not connect within 1000 ms\n  (ProcessGroupOptions::timeout sets "
        "how "
        "long ranks wait)");
}

TEST_CASE("a rank that ends while the ranks connect") {
  if (!available()) return;
  const auto store = std::make_shared<HashStore>();
  std::vector<std::string> messages(2);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        ProcessGroup::make(store, rank, 3, with_timeout(1000));
      } catch (const DistributedError& error) {
        messages[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  // What rank 2 leaves in the store if it ends before its engine connects.
  store->add("groups/2", 1);
  store->set("group1/join/2", "1");
  for (std::thread& rank : ranks) rank.join();
  check_contains(messages[0], "of 3 cannot connect to the others from 127.0.0.1: ");
  check_contains(messages[0], "\n  rank 2 has neither connected nor failed: still trying, or ended");
  CHECK(messages[0] == messages[1]);
}

TEST_CASE("a rank that leaves the group at once, while another still connects") {
  if (!available()) return;
  class SlowStore final : public StoreBehind {
    using StoreBehind::StoreBehind;
    void before() override { sleep_seconds(0.05); }
  };
  const std::shared_ptr<Store> fast = std::make_shared<HashStore>(), slow = std::make_shared<SlowStore>(fast);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      // Either rank may be the one that connects, and that one could leave first.
      for (const int late : {0, 1, 0, 1})
        CHECK_NOTHROW(ProcessGroup::make(rank == late ? slow : fast, rank, 2, with_timeout(60'000)));
    });
  for (std::thread& rank : ranks) rank.join();
}

TEST_CASE("a store that stops to answer") {
  if (!available()) return;
  // Behaves until `dead`, then blocks until `ended`, as one on a machine that has lost its network.
  class DyingStore final : public StoreBehind {
   public:
    DyingStore() : StoreBehind(std::make_shared<HashStore>()) {}
    std::atomic<bool> dead{false}, ended{false};
    void wait_for_end() const {
      const auto begin = std::chrono::steady_clock::now();
      while (!ended && seconds_since(begin) < 2 * kSoon) sleep_seconds(0.01);
    }

   private:
    void before() override {
      if (!dead) return;
      wait_for_end();
      throw DistributedError("no answer");
    }
  };
  const auto store = std::make_shared<DyingStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([store, rank] {
      const auto group = ProcessGroup::make(store, rank, 2, with_timeout(1000));
      group->barrier()->wait();
      store->dead = true;
      const auto begin = std::chrono::steady_clock::now();
      if (rank == 1) return store->wait_for_end();
      try {
        group->barrier()->wait();
        CHECK(false);
      } catch (const DistributedError& error) {
        check_seconds(error.what(), "barrier 1 failed after ", 1);
        check_contains(error.what(), "the store cannot say which rank is missing");
      }
      CHECK(seconds_since(begin) < kSoon);
      store->ended = true;
    });
  for (std::thread& rank : ranks) rank.join();
}

TEST_CASE("the rank that finds out why a call failed ends before it has") {
  double seconds = 60;
  for (int i = 0; i < 10 && seconds >= 1.8; ++i) {  // callers give up after 1.9 s; again if the machine was too busy
    const auto store = std::make_shared<HashStore>();
    store->set("group/trouble", "1");
    Board board(store, "group/", 0, 3);
    const auto begin = std::chrono::steady_clock::now();
    CHECK(board.settle(Status{}).starts_with("ranks 1-2 did not reach barrier 0"));
    seconds = seconds_since(begin);
  }
  CHECK(seconds < 1.8);
}

TEST_CASE("explanations") {
  const auto waiting = [](int64_t sequence, double seconds) {
    Status status;
    status.call.operation = Operation::kAllReduce;
    status.call.dtype = kFloat32;
    status.call.reduces = true;
    status.call.sequence = sequence;
    status.call.set_shape({10});
    status.seconds = seconds;
    return status;
  };
  Status left;
  left.left = true;
  Status saw = waiting(41, 5);
  saw.lost = {3};
  CHECK(explain({waiting(41, 5), waiting(41, 4), nullopt, left}, 0) ==
        "rank 3 left the group (it destroyed the group or exited) before all_reduce 41; rank 2 did not reach "
        "all_reduce 41; ranks 0-1 wait since 5.0 s\n"
        "  (ranks with different numbers of batches can train in DistributedDataParallel::join)");
  left.call.sequence = 42;  // it has done this call, so it is not the one that is missing
  CHECK(
      explain({waiting(41, 5), waiting(41, 4), nullopt, left}, 0).starts_with("rank 2 did not reach all_reduce 41; "));
  CHECK(explain({saw, waiting(41, 4), waiting(41, 4), nullopt}, 0) ==
        "rank 3 ended without a word (its connections are closed); ranks 0-2 wait since 5.0 s");
  saw.error = "reset by peer";
  CHECK(explain({saw, waiting(41, 4), waiting(41, 4), waiting(41, 4)}, 0) ==
        "all_reduce 41 failed after 5.0 s: rank 0 has lost its connection to rank 3: reset by peer");
  saw.lost.clear();
  CHECK(explain({waiting(41, 5), saw, waiting(41, 4), waiting(41, 4)}, 1) ==
        "all_reduce 41 failed after 5.0 s: rank 1: reset by peer");
  saw.lost = {3};
  saw.error.clear();
  CHECK(explain({waiting(41, 5), waiting(40, 4)}, 0) ==
        "ranks wait in different calls\n  rank 1: all_reduce 40: all_reduce [10] float32 sum\n"
        "  rank 0: all_reduce 41: all_reduce [10] float32 sum");
  Status receiving = waiting(7, 5);
  receiving.call.operation = Operation::kRecv;
  receiving.call.reduces = false;
  receiving.call.root = 0;
  const std::string begin = receiving.call.label() + ": " + receiving.call.description();
  CHECK(explain({waiting(41, 5), receiving, nullopt}, 1) ==
        begin + ": rank 0 waits in all_reduce 41, all_reduce [10] float32 sum; rank 2 did not reach all_reduce 41");
  Status further = receiving;
  further.call.root = 1;
  CHECK(explain({nullopt, receiving, further}, 2)
            .ends_with(": rank 1 waits in " + begin.substr(0, begin.find(':')) + ", " + receiving.call.description() +
                       ": rank 0 made no matching call within 5.0 s; tag, dtype and number of elements must agree\n  "
                       "(ProcessGroupOptions::timeout sets how long ranks wait)"));
  Status circle = receiving;
  circle.call.root = 1;
  CHECK(explain({circle, receiving}, 1)
            .ends_with(": rank 0 waits in " + circle.call.label() + ", " + circle.call.description()));
  const auto round_trip = Status::parse(saw.text());
  REQUIRE(round_trip);
  CHECK(round_trip->lost == saw.lost);
  CHECK(round_trip->call.words() == saw.call.words());
  for (const char* text : {"", "left", "waiting 1 2", "nonsense 1 2 3", "waiting x"}) CHECK(!Status::parse(text));
  std::string huge = "waiting";
  for (int i = 0; i < 17; ++i) huge += " 9223372036854775807";
  REQUIRE(Status::parse(huge));
  CHECK(!explain({Status::parse(huge)}, 0).empty());
  CHECK(rank_list({7, 0, 1, 2, 5}) == "ranks 0-2, 5, 7");
}

}  // namespace tandem::distributed
