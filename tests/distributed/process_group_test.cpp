// Collectives of groups whose ranks are threads, on Gloo.
#include "tandem/parallel/distributed/process_group.h"

#include <doctest/doctest.h>

#include "tandem/parallel/distributed/call_record.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"

namespace tandem::distributed {
namespace {

void check_none(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) CHECK(error == "");
}

Tensor filled(std::vector<int64_t> sizes, int64_t value) { return full(sizes, value, kFloat32); }

// Small integers, which every dtype holds exactly, also after a sum or product over five ranks.
Tensor values(int rank, int64_t n, ScalarType dtype) {
  const Tensor out = arange(n, kInt64).add(rank).remainder(3);
  return dtype == kBool ? out.ne(0) : out.to(dtype);
}

int64_t combined(ReduceOp op, int64_t a, int64_t b) {
  switch (op) {
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return std::min(a, b);
    case ReduceOp::MAX:
      return std::max(a, b);
    case ReduceOp::BAND:
      return a & b;
    case ReduceOp::BOR:
      return a | b;
    case ReduceOp::BXOR:
      return a ^ b;
    default:
      return a + b;
  }
}

Tensor expected(ReduceOp op, int size, int64_t n, ScalarType dtype) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) {
    const auto value = [&](int rank) {
      const int64_t x = (i + rank) % 3;
      return dtype == kBool ? int64_t{x != 0} : x;
    };
    int64_t sum = value(0);
    for (int rank = 1; rank < size; ++rank) sum = combined(op, sum, value(rank));
    if (dtype == kBool) sum = sum != 0;
    out.push_back(op == ReduceOp::AVG ? static_cast<double>(sum) / size : static_cast<double>(sum));
  }
  return tensor(out, TensorOptions(kFloat64)).to(dtype);
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && equal(a.to(kFloat64), b.to(kFloat64));
}

constexpr ScalarType kDtypes[] = {kUInt8, kInt8, kInt16, kInt32, kInt64, kHalf, kFloat32, kFloat64, kBool, kBFloat16};
constexpr ReduceOp kOps[] = {ReduceOp::SUM, ReduceOp::AVG,  ReduceOp::PRODUCT, ReduceOp::MIN,
                             ReduceOp::MAX, ReduceOp::BAND, ReduceOp::BOR,     ReduceOp::BXOR};

bool has(ScalarType dtype, ReduceOp op) {
  const bool bits = op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR;
  return is_floating_point(dtype) ? !bits : op != ReduceOp::AVG;
}

}  // namespace

// The engine chooses another algorithm by the number of ranks and of bytes, and cuts the elements in other ways.
TEST_CASE("all_reduce of few and of many elements") {
  if (!available()) return;
  for (const int size : {2, 3, 4, 8}) {
    CAPTURE(size);
    check_none(run_ranks(size, [size](ProcessGroup& group) {
      for (const int64_t n : {1, 2, 3, 5, 7, 8, 9, 17, 1000, 262'144, 262'145, 600'011}) {
        const Tensor all = arange(n + size, kInt64).remainder(1009),
                     x = all.slice(0, group.rank(), group.rank() + n).clone();
        group.all_reduce(x)->wait();
        Tensor sum = zeros({n}, kInt64);
        for (int rank = 0; rank < size; ++rank) sum.add_(all.slice(0, rank, rank + n));
        check(equal(x, sum), "wrong sum of ", n, " elements on rank ", group.rank());
      }
    }));
  }
}

TEST_CASE("all_reduce and reduce of every dtype with every operation") {
  if (!available()) return;
  for (const int size : {1, 2, 3, 5}) {
    CAPTURE(size);
    const auto errors = run_ranks(size, [&](ProcessGroup& group) {
      for (const ScalarType dtype : kDtypes)
        for (const ReduceOp op : kOps) {
          const Tensor x = values(group.rank(), 67, dtype), y = x.clone();
          if (!has(dtype, op)) {
            CHECK_THROWS_AS(group.all_reduce(x, op), Error);
            continue;
          }
          group.all_reduce(x, op)->wait();
          const int root = size / 2;
          group.reduce(y, root, op)->wait();
          const Tensor right = expected(op, size, 67, dtype);
          CHECK_MESSAGE(same(x, right), name(dtype), " op ", static_cast<int>(op), " rank ", group.rank());
          if (group.rank() == root) CHECK_MESSAGE(same(y, right), name(dtype), " op ", static_cast<int>(op));
        }
    });
    check_none(errors);
  }
}

TEST_CASE("complex tensors are summed as their parts") {
  if (!available()) return;
  const auto errors = run_ranks(2, [&](ProcessGroup& group) {
    for (const ScalarType dtype : {kComplexFloat, kComplexDouble}) {
      const Tensor x = complex(arange(6, kDouble), arange(6, kDouble).mul(-2)).to(dtype);
      const Tensor sum = x.clone(), mean = x.mul(group.rank() + 1), one = x.clone();
      group.all_reduce(sum)->wait();
      CHECK(equal(sum, x * 2));
      group.all_reduce(mean, ReduceOp::AVG)->wait();
      CHECK(equal(mean, x * 1.5));
      group.reduce(one, 1)->wait();
      if (group.rank() == 1) CHECK(equal(one, x * 2));
      const Tensor half = empty({3}, dtype);
      group.reduce_scatter(half, x)->wait();
      CHECK(equal(half, x.narrow(0, 3 * group.rank(), 3) * 2));
      CHECK_THROWS_WITH_AS(group.all_reduce(sum, ReduceOp::MAX), doctest::Contains("has no max"), Error);
    }
  });
  check_none(errors);
}

TEST_CASE("large sums, which Gloo cuts into segments") {
  if (!available()) return;
  const auto errors = run_ranks(3, [&](ProcessGroup& group) {
    const int64_t n = 3'000'001;
    const Tensor x = arange(n, kFloat64).add(group.rank());
    group.all_reduce(x, ReduceOp::AVG)->wait();
    CHECK(equal(x, arange(n, kFloat64).add(1)));
  });
  check_none(errors);
}

TEST_CASE("data movement of every dtype") {
  if (!available()) return;
  for (const int size : {1, 2, 3, 5}) {
    CAPTURE(size);
    const auto errors = run_ranks(size, [&](ProcessGroup& group) {
      const int rank = group.rank(), last = size - 1;
      for (const ScalarType dtype : kDtypes) {
        CAPTURE(name(dtype));
        const auto rows = [&](int of) { return values(of, 10, dtype).view({2, 5}); };
        const Tensor x = rows(rank).clone();
        group.broadcast(x, last)->wait();
        CHECK(same(x, rows(last)));
        Tensors all;
        for (int i = 0; i < size; ++i) all.push_back(zeros({2, 5}, TensorOptions(dtype)));
        group.all_gather(all, rows(rank))->wait();
        for (int i = 0; i < size; ++i) CHECK(same(all[static_cast<std::size_t>(i)], rows(i)));
        const Tensor flat = zeros({2 * size, 5}, TensorOptions(dtype));
        group.all_gather(flat, rows(rank))->wait();
        for (int i = 0; i < size; ++i) CHECK(same(flat.narrow(0, 2 * i, 2), rows(i)));
        const Tensor turned = zeros({2 * size, 5}, TensorOptions(dtype));
        group.all_to_all(turned, flat)->wait();
        for (int i = 0; i < size; ++i) CHECK(same(turned.narrow(0, 2 * i, 2), rows(rank)));
        Tensors gathered;
        if (rank == last) gathered = all;
        for (const Tensor& one : gathered) one.detach().zero_();
        group.gather(gathered, rows(rank), last)->wait();
        for (std::size_t i = 0; i < gathered.size(); ++i) CHECK(same(gathered[i], rows(static_cast<int>(i))));
        const Tensor part = zeros({2, 5}, TensorOptions(dtype));
        Tensors parts;
        for (int i = 0; rank == last && i < size; ++i) parts.push_back(rows(i));
        group.scatter(part, parts, last)->wait();
        CHECK(same(part, rows(rank)));
      }
      group.barrier()->wait();
    });
    check_none(errors);
  }
}

TEST_CASE("reduce_scatter adds in rank order") {
  if (!available()) return;
  for (const int64_t count : {4, 500'001})  // the larger blocks of 3 or more ranks are sent in rounds
    for (const int size : {1, 2, 3, 5}) {
      const auto errors = run_ranks(size, [&](ProcessGroup& group) {
        const auto input = [&](int rank) {
          return arange(count * size, kFloat32).remainder(40).mul(0.1f * static_cast<float>(rank + 1)).exp();
        };
        const auto own = [&](int rank) { return input(rank).narrow(0, count * group.rank(), count).clone(); };
        Tensor right = own(0);
        for (int i = 1; i < size; ++i) right = right + own(i);
        const Tensor out = zeros({count});
        group.reduce_scatter(out, input(group.rank()))->wait();
        CHECK(equal(out, right));
        group.reduce_scatter(out, input(group.rank()), ReduceOp::AVG)->wait();
        CHECK(equal(out, right / size));
      });
      check_none(errors);
    }
}

TEST_CASE("all_to_all with splits, some of them empty") {
  if (!available()) return;
  const auto errors = run_ranks(3, [&](ProcessGroup& group) {
    const int rank = group.rank();
    // Rank r sends (r + i) % 3 rows to rank i.
    std::vector<int64_t> in, out;
    for (int i = 0; i < 3; ++i) in.push_back((rank + i) % 3), out.push_back((i + rank) % 3);
    const Tensor x = filled({3, 2}, rank), y = zeros({3, 2});
    group.all_to_all(y, x, out, in)->wait();
    int64_t at = 0;
    for (int i = 0; i < 3; ++i) {
      CHECK(equal(y.narrow(0, at, out[static_cast<std::size_t>(i)]), filled({out[static_cast<std::size_t>(i)], 2}, i)));
      at += out[static_cast<std::size_t>(i)];
    }
    const std::vector<int64_t> none = {0, 0, 0};
    group.all_to_all(zeros({0, 2}), zeros({0, 2}), none, none)->wait();
    CHECK_THROWS_AS(group.all_to_all(y, x, {1, 1, 0}, {3, 0, 0}), Error);
  });
  check_none(errors);
  const auto wrong = run_ranks(3, [&](ProcessGroup& group) {
    const std::vector<int64_t> one = {1, 1, 1}, other = {2, 1, 0};
    group.all_to_all(zeros({3}), zeros({3}), one, group.rank() == 1 ? other : one)->wait();
  });
  for (const std::string& error : wrong) CHECK(error == "all_to_all 0: rank 1 sends 2 rows to rank 0, which expects 1");
}

TEST_CASE("empty tensors") {
  if (!available()) return;
  const auto errors = run_ranks(3, [&](ProcessGroup& group) {
    const Tensor none = zeros({0, 4});
    group.all_reduce(none)->wait();
    group.broadcast(none, 1)->wait();
    group.all_gather(none, zeros({0, 4}))->wait();
    group.reduce_scatter(none, zeros({0, 4}))->wait();
    group.all_to_all(none, zeros({0, 4}))->wait();
    group.all_gather({zeros({0}), zeros({0}), zeros({0})}, zeros({0}))->wait();
    const int next = (group.rank() + 1) % 3, before = (group.rank() + 2) % 3;
    const WorkPtr got = group.recv(zeros({0}), before);
    group.send(zeros({0}), next)->wait();
    got->wait();
    const Tensor one = ones({1});
    group.all_reduce(one)->wait();
    CHECK(one.item<float>() == 3);
  });
  check_none(errors);
}

TEST_CASE("calls run in order and may be waited for in any order") {
  if (!available()) return;
  const auto errors = run_ranks(2, [&](ProcessGroup& group) {
    Tensors tensors;
    std::vector<WorkPtr> works;
    for (int i = 0; i < 300; ++i) {
      tensors.push_back(filled({i % 7 + 1}, i));
      works.push_back(group.all_reduce(tensors.back(), ReduceOp::SUM, i % 3));
    }
    for (int i = 299; i >= 0; --i) {
      works[static_cast<std::size_t>(i)]->wait();
      CHECK(works[static_cast<std::size_t>(i)]->is_completed());
      CHECK(works[static_cast<std::size_t>(i)]->exception() == nullptr);
      CHECK(tensors[static_cast<std::size_t>(i)][0].item<float>() == 2 * i);
    }
    const std::string calls = group.recent_calls();
    CHECK(std::count(calls.begin(), calls.end(), '\n') == 256);
    CHECK(calls.starts_with("44 all_reduce [3] float32 sum (bucket 2): done, "));
    CHECK(calls.find("\n299 all_reduce [6] float32 sum (bucket 2): done, ") != std::string::npos);
  });
  check_none(errors);
}

TEST_CASE("sends and receives in both directions at once") {
  if (!available()) return;
  const auto errors = run_ranks(3, [&](ProcessGroup& group) {
    const int rank = group.rank(), next = (rank + 1) % 3, before = (rank + 2) % 3;
    const int64_t n = 700'000;
    std::vector<WorkPtr> works;
    Tensors got;
    for (const int tag : {0, 1, 7}) {
      for (const int peer : {next, before}) {
        got.push_back(zeros({n}));
        works.push_back(group.recv(got.back(), peer, tag));
        works.push_back(group.send(filled({n}, rank * 10 + tag), peer, tag));
      }
    }
    const Tensor sum = ones({5});
    group.all_reduce(sum)->wait();  // meanwhile
    CHECK(sum[4].item<float>() == 3);
    for (const WorkPtr& work : works) work->wait();
    std::size_t i = 0;
    for (const int tag : {0, 1, 7})
      for (const int peer : {next, before}) CHECK(equal(got[i++], filled({n}, peer * 10 + tag)));
    const Tensor small = zeros({2}, kInt64);
    const WorkPtr polled = group.recv(small, before);
    const WorkPtr sent = group.send(filled({2}, rank).to(kInt64), next);
    while (!polled->is_completed()) std::this_thread::yield();
    CHECK(small[1].item<int64_t>() == before);
    sent->wait();
    polled->wait();
    CHECK_THROWS_AS(group.send(small, rank), Error);
    CHECK_THROWS_AS(group.send(small, next, -1), Error);
  });
  check_none(errors);
}

TEST_CASE("groups of some ranks") {
  if (!available()) return;
  const auto errors = run_ranks(5, [&](ProcessGroup& group) {
    const auto odd = group.new_group({3, 1}), all = group.new_group({4, 3, 2, 1, 0}), one = group.new_group({2});
    CHECK(odd->is_member() == (group.rank() % 2 == 1));
    CHECK(one->is_member() == (group.rank() == 2));
    if (one->is_member()) {
      const Tensor alone = ones({2});
      one->all_reduce(alone)->wait();
      CHECK(alone[0].item<float>() == 1);
    }
    const Tensor x = filled({3}, group.rank()), y = x.clone(), z = x.clone();
    const WorkPtr first = group.all_reduce(x), second = all->broadcast(y, 1);
    if (odd->is_member()) {
      CHECK(odd->rank() == (group.rank() == 3 ? 0 : 1));
      odd->all_reduce(z)->wait();
      CHECK(z[0].item<float>() == 4);
    }
    second->wait();
    first->wait();
    CHECK(x[0].item<float>() == 10);
    CHECK(y[0].item<float>() == 3);
    CHECK_THROWS_AS(group.new_group({0, 0}), Error);
    CHECK_THROWS_AS(group.new_group({5}), Error);
  });
  check_none(errors);
}

TEST_CASE("a group ends although nobody waits for its messages") {
  if (!available()) return;
  std::weak_ptr<Store> left;
  {
    const auto store = std::make_shared<HashStore>();
    left = store;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 2; ++rank)
      ranks.emplace_back([rank, store] {
        const auto group = ProcessGroup::make(store, rank, 2, with_timeout(30'000));
        group->recv(zeros({3}), 1 - rank, 5);  // nobody sends
        group->barrier()->wait();
      });
    for (std::thread& thread : ranks) thread.join();
  }
  // The threads of the groups may need a moment.
  for (int i = 0; i < 500 && !left.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(left.expired());
}

TEST_CASE("wrong arguments") {
  CHECK_THROWS_WITH_AS(ProcessGroup::make(nullptr, 0, 1), "process group: the store is null", Error);
  const auto store = std::make_shared<HashStore>();
  CHECK_THROWS_AS(ProcessGroup::make(store, 2, 2), Error);
  ProcessGroupOptions options;
  options.backend = "glo";
  CHECK_THROWS_WITH_AS(ProcessGroup::make(store, 0, 2, options),
                       "process group: there is no backend \"glo\"; expected gloo, mpi or nccl; did you mean gloo?",
                       Error);
  const auto group = ProcessGroup::make(store, 0, 1);
  CHECK_THROWS_WITH_AS(group->all_reduce(Tensor()), "all_reduce: tensor is undefined", Error);
  CHECK_THROWS_AS(group->all_reduce(zeros({3, 4}).t()), Error);
  CHECK_THROWS_WITH_AS(group->all_reduce(zeros({2}, kInt64), ReduceOp::AVG),
                       "all_reduce: int64 has no avg; use sum, or a floating-point dtype", Error);
  CHECK_THROWS_AS(group->broadcast(zeros({2}), 1), Error);
  CHECK_THROWS_AS(group->all_gather({zeros({2}), zeros({2})}, zeros({2})), Error);
  CHECK_THROWS_AS(group->all_gather(zeros({3}), zeros({2})), Error);
}

TEST_CASE("every call says which argument is wrong, and the group goes on") {
  if (!available()) return;
  check_none(run_ranks(2, [](ProcessGroup& group) {
    const int rank = group.rank();
    const std::string here = concat("on rank ", rank);
    const auto says = [](const std::function<WorkPtr()>& call, const std::string& text) {
      CHECK_THROWS_WITH_AS(call(), doctest::Contains(text.c_str()), Error);
    };
    const Tensor two = zeros({2}), four = zeros({4}), number = zeros({}), rows = zeros({4, 3}), none;
    const Tensor turned = zeros({3, 4}).t(), whole_numbers = zeros({2}, kInt64);
    const std::vector<int64_t> halves = {2, 2}, others = {1, 3};

    for (const int root : {-1, 2}) {
      const std::string text = concat(": root ", root, " is not in the group of 2");
      says([&] { return group.broadcast(two, root); }, "broadcast" + text);
      says([&] { return group.reduce(two, root); }, "reduce" + text);
      says([&] { return group.gather({}, two, root); }, "gather" + text);
      says([&] { return group.scatter(two, {}, root); }, "scatter" + text);
    }
    for (const int peer : {-1, 2, rank}) {
      const std::string text = concat(": expected another rank from 0 to 1, got ", peer, " ", here);
      says([&] { return group.send(two, peer); }, "send" + text);
      says([&] { return group.recv(two, peer); }, "recv" + text);
    }
    says([&] { return group.recv(two, 1 - rank, -1); }, "recv: expected a tag that is not negative, got -1");

    says([&] { return group.reduce(none, 0); }, "reduce: tensor is undefined");
    says([&] { return group.broadcast(none, 0); }, "broadcast: tensor is undefined");
    says([&] { return group.reduce_scatter(none, four); }, "reduce_scatter: output is undefined");
    says([&] { return group.reduce_scatter(two, none); }, "reduce_scatter: input is undefined");
    says([&] { return group.all_gather(four, none); }, "all_gather: input is undefined");
    says([&] { return group.all_gather({two, none}, two); }, "all_gather: outputs is undefined");
    says([&] { return group.all_to_all(none, four); }, "all_to_all: output is undefined");
    says([&] { return group.send(none, 1 - rank); }, "send: tensor is undefined");
    says([&] { return group.all_reduce(turned); },
         concat("all_reduce: tensor must be contiguous, got ", turned, " with strides [1, 4]; call contiguous()"));
    says([&] { return group.all_gather(zeros({8, 3}), turned); }, "all_gather: input must be contiguous");

    for (const ReduceOp op : {ReduceOp::BAND, ReduceOp::BOR, ReduceOp::BXOR}) {
      const std::string text = concat(": float32 has no ", name(op));
      says([&] { return group.all_reduce(two, op); }, "all_reduce" + text);
      says([&] { return group.reduce(two, 0, op); }, "reduce" + text);
      says([&] { return group.reduce_scatter(two, four, op); }, "reduce_scatter" + text);
    }
    says([&] { return group.reduce(whole_numbers, 0, ReduceOp::AVG); },
         "reduce: int64 has no avg; use sum, or a floating-point dtype");

    says([&] { return group.all_gather(Tensors{two}, two); },
         concat("all_gather: expected 2 outputs ", here, ", got 1"));
    says([&] { return group.gather({two}, two, rank); }, concat("gather: expected 2 outputs ", here, ", got 1"));
    says(
        [&] {
          return group.gather({two, two}, two, 1 - rank);
        },
        concat("gather: expected 0 outputs ", here, ", got 2"));
    says(
        [&] {
          return group.scatter(two, {two, two, two}, rank);
        },
        concat("scatter: expected 2 inputs ", here, ", got 3"));
    says([&] { return group.scatter(two, {two}, 1 - rank); }, concat("scatter: expected 0 inputs ", here, ", got 1"));
    for (const Tensor& wrong : {four, whole_numbers}) {
      const std::string text =
          concat(" must have the shape and dtype of the other tensors\n  expected ", two, "\n  got      ", wrong);
      says([&] { return group.all_gather({two, wrong}, two); }, "all_gather: outputs" + text);
      says([&] { return group.gather({wrong, two}, two, rank); }, "gather: outputs" + text);
      says([&] { return group.scatter(two, {two, wrong}, rank); }, "scatter: inputs" + text);
    }

    for (const Tensor& block : {zeros({3}), whole_numbers, zeros({2, 1}), number, zeros({4})})
      says([&] { return group.reduce_scatter(block, four); },
           concat("reduce_scatter: input must hold 2 blocks along dimension 0\n  block ", block, "\n  whole ", four));
    says([&] { return group.all_gather(number, number); }, "all_gather: output must hold 2 blocks");
    says([&] { return group.all_gather(zeros({4, 3}), zeros({2, 4})); }, "all_gather: output must hold 2 blocks");

    for (const Tensor& input : {zeros({3, 3}), zeros({2, 4}), zeros({2}), zeros({2, 3}, kDouble)})
      says([&] { return group.all_gather(rows, input, halves); },
           concat("all_gather: input must be the 2 rows of this rank\n  input  ", input, "\n  output ", rows));
    says(
        [&] {
          return group.all_gather(rows, zeros({2, 3}), others);
        },
        concat("all_gather: input must be the ", rank == 0 ? 1 : 3, " rows of this rank"));

    const std::vector<std::vector<int64_t>> wrong_splits = {{4}, {2, 1, 1}, {5, -1}, {-1, 5}, {1, 2}, {3, 2}};
    for (const std::vector<int64_t>& wrong : wrong_splits) {
      const std::string text = concat(" ", rows, " that sum to its rows, got ", IntArrayRef(wrong));
      says(
          [&] {
            return group.all_gather(rows, zeros({2, 3}), wrong);
          },
          "all_gather: expected 2 splits of output" + text);
      says([&] { return group.all_to_all(rows, rows, wrong, halves); },
           "all_to_all: expected 2 splits of output" + text);
      says([&] { return group.all_to_all(rows, rows, halves, wrong); },
           "all_to_all: expected 2 splits of input" + text);
    }
    says([&] { return group.all_to_all(number, number); },
         concat("all_to_all: output needs at least 1 dimension, got ", number));
    says([&] { return group.all_to_all(zeros({3}), zeros({3})); },
         concat("all_to_all: output ", zeros({3}), " cannot be split into 2 equal parts; give splits"));
    says([&] { return group.all_to_all(four, zeros({4}, kInt64)); }, "all_to_all: rows differ");
    says([&] { return group.all_to_all(rows, zeros({4, 2}), halves, halves); }, "all_to_all: rows differ");
    says([&] { return group.all_to_all(four, two); }, "all_to_all: output must have the shape and dtype");
    says([&] { return group.all_to_all_table(rows, rows, {halves}); }, "all_to_all_table: expected 2 lists, got 1");
    says(
        [&] {
          return group.all_to_all_table(rows, rows, {halves, {4}});
        },
        "all_to_all_table: expected 2 splits per rank, got 1");

    const Tensor sum = ones({3});
    group.all_reduce(sum)->wait();
    CHECK(equal(sum, full({3}, 2.0)));
  }));
  check_none(run_ranks(1, [](ProcessGroup& group) {
    CHECK_THROWS_WITH_AS(group.all_to_all(zeros({2}), zeros({3}), {2}, {3}),
                         "all_to_all: this rank sends [3] rows to itself and expects [2]", Error);
  }));
}

TEST_CASE("backends") {
  const auto all = backends();
  REQUIRE(all.size() == 3);
  for (const BackendInfo& info : all) {
    CHECK(info.description.empty() != info.missing.empty());
    CHECK(is_backend_available(info.name) == info.missing.empty());
    MESSAGE(info.name, ": ", info.description, info.missing);
  }
}

TEST_CASE("the default group") {
  CHECK(!is_initialized());
  CHECK(get_rank() == 0);
  CHECK(get_world_size() == 1);
  CHECK_THROWS_AS(default_group(), Error);
  CHECK_THROWS_AS(destroy_process_group(), Error);
  const auto group = init_process_group(std::make_shared<HashStore>(), 0, 1);
  CHECK(default_group() == group);
  CHECK_THROWS_AS(init_process_group(std::make_shared<HashStore>(), 0, 1), Error);
  destroy_process_group();
  CHECK(!is_initialized());
  CHECK_THROWS_WITH_AS(group->barrier(), "process group: it has been destroyed", Error);
}

TEST_CASE("a step that calls other processes is not recorded on the CPU") {
  const auto group = init_process_group(std::make_shared<HashStore>(), 0, 1);
  CapturedStep step([&](const Tensor& x) {
    Tensor y = x * 2;
    group->all_reduce(y)->wait();
    return y;
  });
  for (int i = 0; i < 6; ++i) CHECK(equal(step(filled({4}, i))[0], filled({4}, 2 * i)));
  CHECK(step.message() == "tandem: captured step: the step calls all_reduce: it runs uncaptured from now on");
  destroy_process_group();
}

}  // namespace tandem::distributed
