// Scenarios of collective calls and messages, in the whole group and in groups made from it.
#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/simulation/scenario.h"

namespace tandem::simulation {

namespace {

using distributed::ReduceOp;
using distributed::WorkPtr;

enum class Kind {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kAllGatherRows,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kMessages,
  kNewGroup,
  kCount
};

struct Call {
  Kind kind = Kind::kBarrier;
  std::size_t group = 0;
  int64_t rows = 1, columns = 1;
  ScalarType dtype = kFloat32;
  ReduceOp op = ReduceOp::SUM;
  int root = 0;
  int shift = 1, messages = 1;  // of kMessages
  bool polls = false;           // waits with is_completed()
  bool waits = true;            // at once; otherwise at the end
  std::vector<int> members;     // of kNewGroup, as ranks of the job
  std::vector<int64_t> splits;  // rows of each rank
};

// Values whose sums depend on their order.
Tensor values(IntArrayRef sizes, ScalarType dtype, uint64_t seed) {
  Tensor wide = empty(sizes, kDouble);
  auto* at = wide.data_ptr<double>();
  for (int64_t i = 0; i < wide.numel(); ++i) {
    const uint64_t x = mix(seed * 977 + static_cast<uint64_t>(i));
    at[i] = static_cast<double>(x % 2001) / 7.0 - 140;
    if (is_integral(dtype, false)) at[i] = static_cast<double>(x % 100);
  }
  return wide.to(dtype);
}

struct Pending {
  std::vector<WorkPtr> works;
  std::vector<Tensor> results;
  int64_t place = 0;
  std::size_t group = 0;
  std::vector<int> members;
};

// Starts one call on one rank.
class Starter {
 public:
  Starter(ProcessGroup& group, const Call& call, int64_t place, int rank) : group_(group), call_(call) {
    seed_ = mix(static_cast<uint64_t>(place * 64 + rank));
    out_.place = place;
  }
  Pending run() {
    switch (call_.kind) {
      case Kind::kAllReduce:
      case Kind::kReduce:
      case Kind::kReduceScatter:
        reduce();
        break;
      case Kind::kAllGather:
      case Kind::kAllGatherRows:
      case Kind::kGather:
        gather();
        break;
      case Kind::kBroadcast:
      case Kind::kScatter:
      case Kind::kAllToAll:
        distribute();
        break;
      case Kind::kMessages:
        send_messages();
        break;
      default:
        add(group_.barrier(), {});
        break;
    }
    return std::move(out_);
  }

 private:
  void reduce() {
    const Tensor x = make(call_.kind == Kind::kReduceScatter ? call_.rows * ranks() : call_.rows);
    const Tensor part = room(call_.rows);
    if (call_.kind == Kind::kAllReduce) add(group_.all_reduce(x, call_.op), {x});
    if (call_.kind == Kind::kReduce) add(group_.reduce(x, call_.root, call_.op), of_root({x}));
    if (call_.kind == Kind::kReduceScatter) add(group_.reduce_scatter(part, x, call_.op), {part});
  }

  void gather() {
    if (call_.kind == Kind::kAllGatherRows) {
      const Tensor all = room(total(call_.splits));
      return add(group_.all_gather(all, make(own_split()), call_.splits), {all});
    }
    std::vector<Tensor> parts;
    for (int64_t k = 0; k < ranks(); ++k) parts.push_back(room(call_.rows));
    if (call_.kind == Kind::kAllGather) return add(group_.all_gather(parts, make(call_.rows)), parts);
    parts = of_root(parts);
    add(group_.gather(parts, make(call_.rows), call_.root), parts);
  }

  void distribute() {
    if (call_.kind == Kind::kBroadcast) {
      const Tensor x = make(call_.rows);
      return add(group_.broadcast(x, call_.root), {x});
    }
    if (call_.kind == Kind::kScatter) {
      std::vector<Tensor> parts;
      for (int64_t k = 0; k < ranks(); ++k) parts.push_back(make(call_.rows, static_cast<uint64_t>(k)));
      const Tensor part = room(call_.rows);
      return add(group_.scatter(part, of_root(parts), call_.root), {part});
    }
    // Rank i sends splits[j] rows to rank j.
    const Tensor all = room(own_split() * ranks());
    const std::vector<int64_t> expected(static_cast<std::size_t>(ranks()), own_split());
    add(group_.all_to_all(all, make(total(call_.splits)), expected, call_.splits), {all});
  }

  void send_messages() {
    const int size = group_.size(), self = group_.rank();
    if (size == 1) return;
    const int to = (self + call_.shift) % size, from = (self + size - call_.shift) % size;
    for (int k = 0; k < call_.messages; ++k) {
      const Tensor received = room(call_.rows + k);
      out_.works.push_back(group_.send(make(call_.rows + k, static_cast<uint64_t>(k)), to, k % 2));
      out_.works.push_back(group_.recv(received, from, k % 2));
      out_.results.push_back(received);
    }
  }

  void add(WorkPtr work, std::vector<Tensor> results) {
    out_.works.push_back(std::move(work));
    out_.results = std::move(results);
  }
  Tensor make(int64_t rows, uint64_t more = 0) const {
    return values({rows, call_.columns}, call_.dtype, seed_ + 1000 * more);
  }
  Tensor room(int64_t rows) const { return zeros({rows, call_.columns}, call_.dtype); }
  std::vector<Tensor> of_root(std::vector<Tensor> tensors) const {
    return group_.rank() == call_.root ? std::move(tensors) : std::vector<Tensor>{};
  }
  int64_t ranks() const { return group_.size(); }
  int64_t own_split() const { return call_.splits[static_cast<std::size_t>(group_.rank())]; }
  static int64_t total(const std::vector<int64_t>& rows) {
    return std::accumulate(rows.begin(), rows.end(), int64_t{0});
  }

  ProcessGroup& group_;
  const Call& call_;
  uint64_t seed_ = 0;
  Pending out_;
};

class Collectives final : public Scenario {
 public:
  Collectives(Random& random, int size);
  void run(const Rank& rank) const override;
  int64_t steps() const override { return static_cast<int64_t>(calls_.size()); }
  std::string text() const override { return concat("collectives, ", calls_.size(), " calls"); }

 private:
  Call draw_call(Random& random, int size);
  static void finish(const Rank& rank, Pending& pending, bool polls);
  void finish_all(const Rank& rank, std::vector<Pending>& later) const;

  std::vector<Call> calls_;
  std::vector<std::vector<int>> groups_;  // members of the groups drawn so far
  uint64_t order_ = 0;
};

Collectives::Collectives(Random& random, int size) {
  std::vector<int> everyone(static_cast<std::size_t>(size));
  std::iota(everyone.begin(), everyone.end(), 0);
  groups_.push_back(everyone);
  order_ = random.next();
  const int64_t count = random.between(2, 8);
  for (int64_t k = 0; k < count; ++k) calls_.push_back(draw_call(random, size));
}

Call Collectives::draw_call(Random& random, int size) {
  constexpr ScalarType kTypes[] = {kFloat32, kDouble, kLong, kHalf, kBFloat16, kByte, kInt32};
  constexpr ReduceOp kOps[] = {ReduceOp::SUM, ReduceOp::AVG,  ReduceOp::PRODUCT, ReduceOp::MIN,
                               ReduceOp::MAX, ReduceOp::BAND, ReduceOp::BXOR};
  Call call;
  call.kind = static_cast<Kind>(random.below(static_cast<uint64_t>(Kind::kCount)));
  if (call.kind == Kind::kNewGroup && (groups_.size() > 2 || !random.one_in(2))) call.kind = Kind::kAllReduce;
  if (call.kind == Kind::kNewGroup) {
    std::vector<int> order = groups_[0];
    for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
    order.resize(static_cast<std::size_t>(random.between(1, size)));
    call.members = order;
    groups_.push_back(order);
    return call;
  }
  call.group = random.below(groups_.size());
  const auto ranks = static_cast<int64_t>(groups_[call.group].size());
  call.rows = random.one_in(20) ? 0 : random.between(1, 3);
  call.columns = random.between(1, random.one_in(8) ? 50 : 4);
  call.dtype = kTypes[random.below(std::size(kTypes))];
  do {
    call.op = kOps[random.below(std::size(kOps))];
  } while (is_integral(call.dtype, false) ? call.op == ReduceOp::AVG : call.op > ReduceOp::MAX);
  call.root = static_cast<int>(random.below(static_cast<uint64_t>(ranks)));
  call.shift = static_cast<int>(random.between(1, std::max<int64_t>(1, ranks - 1)));
  call.messages = static_cast<int>(random.between(1, 3));
  call.polls = random.one_in(4);
  call.waits = !random.one_in(3);
  for (int64_t k = 0; k < ranks; ++k) call.splits.push_back(random.between(0, 3));
  return call;
}

void Collectives::finish(const Rank& rank, Pending& pending, bool polls) {
  rank.in_group(pending.group, pending.members);
  for (const WorkPtr& work : pending.works) {
    for (int k = 0; polls && k < 20 && !work->is_completed(); ++k) std::this_thread::sleep_for(Milliseconds(1));
    work->wait();
  }
  rank.digest(pending.place, pending.results);
}

// In an order of this rank's own.
void Collectives::finish_all(const Rank& rank, std::vector<Pending>& later) const {
  Random order(order_, static_cast<uint64_t>(rank.rank));
  while (!later.empty()) {
    const std::size_t k = order.below(later.size());
    Pending pending = std::move(later[k]);
    later.erase(later.begin() + static_cast<std::ptrdiff_t>(k));
    finish(rank, pending, order.one_in(4));
  }
}

void Collectives::run(const Rank& rank) const {
  rank.in_group(0, groups_[0]);
  std::vector<GroupPtr> groups{rank.make_group()};
  std::vector<Pending> later;
  for (std::size_t k = 0; k < calls_.size(); ++k) {
    const Call& call = calls_[k];
    const auto place = static_cast<int64_t>(k);
    const bool other = rank.step(place, *groups[0]);
    rank.in_group(0, groups_[0]);
    if (other) groups[0]->all_reduce(zeros({7, 7, 7}))->wait();
    if (call.kind == Kind::kNewGroup) {
      rank.in_group(groups.size(), call.members);
      groups.push_back(groups[0]->new_group(call.members));
      continue;
    }
    if (!groups[call.group]->is_member()) continue;
    rank.in_group(call.group, groups_[call.group]);
    Pending pending = Starter(*groups[call.group], call, place, rank.rank).run();
    pending.group = call.group;
    pending.members = groups_[call.group];
    if (call.waits)
      finish(rank, pending, call.polls);
    else
      later.push_back(std::move(pending));
  }
  finish_all(rank, later);
  // So that no rank ends while others still need it.
  rank.in_group(0, groups_[0]);
  groups[0]->barrier()->wait();
  rank.digest(steps(), {});
}

}  // namespace

std::unique_ptr<Scenario> draw_collectives(Random& random, int size) {
  return std::make_unique<Collectives>(random, size);
}

}  // namespace tandem::simulation
