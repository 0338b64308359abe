// Distributed samplers: the shares of all replicas, epochs, and their state in archives.
#include "tandem/datasets/distributed_samplers.h"

#include <doctest/doctest.h>

#include <map>

#include "tandem/core/random/generator.h"
#include "tandem/nn/files/archive.h"
#include "tandem/tests/datasets/orders.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data::samplers;
using namespace tandem::test;

namespace {

constexpr size_t kSizes[] = {0, 1, 2, 3, 7, 12, 13, 40}, kReplicas[] = {1, 2, 3, 5, 8};

template <class S>
serialize::InputArchive saved(const S& sampler) {
  serialize::OutputArchive out;
  sampler.save(out);
  return {out.tensors(), out.metadata()};
}

// The shares of all replicas, one after another, in epoch `number`.
template <class S>
Indices all_shares(size_t size, size_t replicas, bool duplicates, size_t number) {
  const size_t expected = duplicates ? (size + replicas - 1) / replicas : size / replicas;
  Indices all;
  for (size_t rank = 0; rank < replicas; ++rank) {
    manual_seed(rank);  // the order does not depend on the default generator
    S sampler(size, replicas, rank, duplicates);
    sampler.set_epoch(number);
    const Indices mine = epoch(sampler);
    CHECK(mine.size() == expected);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return all;
}

}  // namespace

TEST_CASE("runs of all replicas contain each sample, the first ones twice or the last ones never") {
  for (const size_t size : kSizes)
    for (const size_t replicas : kReplicas)
      for (const bool duplicates : {false, true}) {
        const Indices run = all_shares<DistributedSequentialSampler>(size, replicas, duplicates, 0);
        for (size_t k = 0; k < run.size(); ++k) CHECK(run[k] == k % size);
        for (const size_t number : {0u, 3u})
          CHECK(sorted(all_shares<DistributedRandomSampler>(size, replicas, duplicates, number)) == sorted(run));
      }
  CHECK(error_of([] { DistributedRandomSampler(10, 2, 2); }) ==
        "DistributedSampler: rank 2 is out of range for 2 replicas");
  CHECK(error_of([] { DistributedSequentialSampler(10, 0, 0); }) ==
        "DistributedSampler: rank 0 is out of range for 0 replicas");
}

TEST_CASE("a random order depends on seed and epoch, and epochs advance at each reset but the first") {
  const Indices fourth = all_shares<DistributedRandomSampler>(20, 2, true, 4);
  CHECK(fourth != all_shares<DistributedRandomSampler>(20, 2, true, 5));
  CHECK(fourth != sorted(fourth));
  DistributedRandomSampler a(20, 2, 0);
  CHECK(a.epoch() == 0);
  a.set_epoch(4);
  CHECK(a.epoch() == 4);
  const Indices first(fourth.begin(), fourth.begin() + 10);
  CHECK(epoch(a) == first);
  const Indices fifth = epoch(a);
  CHECK(a.epoch() == 5);
  CHECK(fifth != first);
  a.set_epoch(4);
  CHECK(epoch(a) == first);
  CHECK(epoch(a) == fifth);
  DistributedRandomSampler seeded(20, 2, 0, true, 7);
  CHECK(seeded.seed() == 7);
  seeded.set_epoch(4);
  CHECK(epoch(seeded) != first);
  seeded.set_seed(0);
  seeded.set_epoch(4);
  CHECK(epoch(seeded) == first);
  DistributedRandomSampler fresh(20, 2, 0), reset(20, 2, 0);
  CHECK(rest(fresh) == epoch(reset));  // next() starts epoch 0
  CHECK(epoch(fresh) == epoch(reset));
  CHECK(fresh.epoch() == 1);
}

TEST_CASE("index counts from the begin of the run, and reset changes the size") {
  DistributedSequentialSampler sampler(10, 3, 1);
  sampler.reset();
  CHECK(sampler.index() == 4);
  CHECK(*sampler.next(3) == Indices{4, 5, 6});
  CHECK(sampler.index() == 7);
  CHECK(*sampler.next(3) == Indices{7});
  CHECK_FALSE(sampler.next(3).has_value());
  sampler.reset(6);
  CHECK(rest(sampler) == Indices{2, 3});
}

TEST_CASE("a saved sampler continues in the middle of an epoch") {
  for (const size_t replicas : {1u, 3u})
    for (size_t rank = 0; rank < replicas; ++rank)
      for (const size_t taken : {0u, 1u, 5u, 7u}) {
        DistributedRandomSampler a(20, replicas, rank, true, 3), b(20, replicas, rank);
        DistributedSequentialSampler s(20, replicas, rank), t(20, replicas, rank);
        a.set_epoch(2);
        a.reset();
        s.reset();
        s.reset();
        if (taken > 0) a.next(taken), s.next(taken);
        auto random = saved(a), sequential = saved(s);
        b.load(random);
        t.load(sequential);
        CHECK(b.index() == a.index());
        CHECK(b.epoch() == 2);
        CHECK(b.seed() == 3);
        CHECK(t.epoch() == 1);
        CHECK(rest(b) == rest(a));
        CHECK(rest(t) == rest(s));
        if (taken > 0) CHECK(epoch(b) == epoch(a));
      }
}

TEST_CASE("a state saved before an epoch has begun is the begin of that epoch") {
  DistributedRandomSampler a(20, 2, 1), b(20, 2, 1), c(20, 2, 1);
  c.set_epoch(6);
  const Indices sixth = epoch(c);
  a.next(3);
  a.set_epoch(6);
  auto state = saved(a);
  b.load(state);
  CHECK(epoch(b) == sixth);
  CHECK(b.epoch() == 6);
}

TEST_CASE("states that a distributed sampler rejects") {
  DistributedRandomSampler a(20, 2, 1), b(20, 2, 0);
  a.next(1);
  auto state = saved(a);
  CHECK(error_of([&] { b.load(state); }) ==
        "DistributedSampler: the loaded position 11 is outside 0 … 10, the run of rank 0; load the state "
        "that this "
        "rank saved with the same size and number of replicas");
  serialize::InputArchive empty;
  CHECK(error_of([&] { b.load(empty); }).starts_with("sampler: the loaded state has no 'sample_index_'"));
  serialize::OutputArchive wrong;
  wrong.write("sample_index_", empty_raw({2}, kLong, Device(kCPU, 0)));
  serialize::InputArchive in(wrong.tensors(), wrong.metadata());
  CHECK(error_of([&] { b.load(in); }).starts_with("sampler: expected one int64 as 'sample_index_'"));
  // LibTorch's archives have no seed.
  serialize::OutputArchive theirs;
  Tensor two = empty_raw({}, kLong, Device(kCPU, 0));
  *two.data_ptr<int64_t>() = 2;
  theirs.write("sample_index_", two, true);
  theirs.write("epoch_", two, true);
  serialize::InputArchive in_theirs(theirs.tensors(), theirs.metadata());
  b.load(in_theirs);
  CHECK(b.index() == 2);
  CHECK(b.epoch() == 2);
}

TEST_CASE("ReplicaSampler deals the order out, and pads, drops or keeps what is left") {
  for (const size_t size : kSizes)
    for (const size_t replicas : kReplicas)
      for (const bool shuffle : {false, true})
        for (const Uneven uneven : {Uneven::kPad, Uneven::kDrop, Uneven::kKeep}) {
          RandomSampler order(static_cast<int64_t>(size), uint64_t{8});
          order.set_epoch(2);
          const Indices whole = shuffle ? epoch(order) : counting(size);
          const size_t low = size / replicas, high = (size + replicas - 1) / replicas;
          for (size_t rank = 0; rank < replicas; ++rank) {
            ReplicaSampler sampler(
                size, {.num_replicas = replicas, .rank = rank, .shuffle = shuffle, .seed = 8, .uneven = uneven});
            sampler.set_epoch(2);
            const Indices mine = epoch(sampler);
            CHECK(sampler.count() == mine.size());
            CHECK(mine.size() == (uneven == Uneven::kPad    ? high
                                  : uneven == Uneven::kDrop ? low
                                                            : (rank < size % replicas ? high : low)));
            for (size_t k = 0; k < mine.size(); ++k) CHECK(mine[k] == whole[(rank + k * replicas) % size]);
          }
        }
  CHECK(error_of([] { ReplicaSampler(10, {.num_replicas = 2, .rank = 2}); }) ==
        "ReplicaSampler: rank 2 is out of range for 2 replicas");
}

TEST_CASE("a saved ReplicaSampler continues in the middle of an epoch") {
  const DistributedSamplerOptions options{.num_replicas = 3, .rank = 1, .seed = 4};
  ReplicaSampler a(20, options), b(20, options);
  a.reset();
  a.reset();
  a.next(4);
  auto state = saved(a);
  b.load(state);
  CHECK(b.epoch() == 1);
  CHECK(rest(b) == rest(a));
  CHECK(epoch(b) == epoch(a));
}
