// Samplers: complete orders that are functions of seed and epoch, and the shares of distributed processes.
#include "tandem/datasets/samplers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tandem/core/generator.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data::samplers;
using test::error_of;
using Indices = std::vector<size_t>;

namespace {

Indices counting(size_t n) {
  Indices out(n);
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}
Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}
// All remaining indices of the current epoch.
template <class S>
Indices rest(S& sampler, size_t batch_size = 3) {
  Indices out;
  while (auto batch = sampler.next(batch_size)) {
    CHECK(batch->size() <= batch_size);
    out.insert(out.end(), batch->begin(), batch->end());
  }
  return out;
}
template <class S>
Indices epoch(S& sampler) {
  sampler.reset();
  return rest(sampler);
}

}  // namespace

TEST_CASE("SequentialSampler counts") {
  SequentialSampler sampler(7);
  CHECK(*sampler.next(3) == Indices{0, 1, 2});
  CHECK(*sampler.next(3) == Indices{3, 4, 5});
  CHECK(sampler.index() == 6);
  CHECK(*sampler.next(3) == Indices{6});
  CHECK_FALSE(sampler.next(3).has_value());
  CHECK(epoch(sampler) == counting(7));
  sampler.reset(2);
  CHECK(rest(sampler) == counting(2));
}

TEST_CASE("RandomSampler visits every index, in a different order each epoch, reproducibly for a seed") {
  RandomSampler a(50, 7), b(50, 7), c(50, 8);
  const Indices first = epoch(a), second = epoch(a);
  CHECK(sorted(first) == counting(50));
  CHECK(sorted(second) == counting(50));
  CHECK(first != second);
  CHECK(a.epoch() == 1);
  CHECK(epoch(b) == first);
  CHECK(epoch(c) != first);
  b.set_epoch(1);
  CHECK(epoch(b) == second);
  RandomSampler fresh(50, 7);
  CHECK(rest(fresh) == first);  // without reset
  CHECK(epoch(fresh) == second);
}

TEST_CASE("without a seed, manual_seed determines the order") {
  manual_seed(11);
  RandomSampler a(30);
  const Indices first = epoch(a);
  RandomSampler b(30);
  CHECK(epoch(b) != first);
  manual_seed(11);
  RandomSampler c(30);
  CHECK(epoch(c) == first);
}

TEST_CASE("SubsetRandomSampler returns its indices") {
  SubsetRandomSampler sampler({10, 20, 30, 40, 50, 60}, 1);
  const Indices first = epoch(sampler);
  CHECK(sorted(first) == Indices{10, 20, 30, 40, 50, 60});
  CHECK(epoch(sampler) != first);
  CHECK(error_of([&] { sampler.reset(3); }) ==
        "SubsetRandomSampler: new size 3 does not match the 6 given indices");
}

TEST_CASE("distributed samplers divide the indices into runs of equal length") {
  for (const size_t size : {1u, 2u, 7u, 12u, 13u})
    for (const size_t replicas : {1u, 2u, 3u, 5u})
      for (const bool duplicates : {false, true}) {
        std::map<size_t, size_t> random, sequential;
        const size_t expected = duplicates ? (size + replicas - 1) / replicas : size / replicas;
        for (size_t rank = 0; rank < replicas; ++rank) {
          DistributedRandomSampler r(size, replicas, rank, duplicates);
          DistributedSequentialSampler s(size, replicas, rank, duplicates);
          const Indices mine = epoch(r), run = epoch(s);
          CHECK(mine.size() == expected);
          CHECK(run.size() == expected);
          for (const size_t i : mine) ++random[i];
          for (const size_t i : run) ++sequential[i];
          for (size_t k = 0; k < run.size(); ++k) CHECK(run[k] == (rank * expected + k) % size);
        }
        CHECK(random.size() == (duplicates ? size : expected * replicas));
        CHECK(sequential.size() == random.size());
        // Padding repeats indices as little as possible.
        const size_t most = (expected * replicas + size - 1) / size;
        for (const auto& [index, count] : random) CHECK((index < size && count <= most));
      }
  CHECK(error_of([] { DistributedRandomSampler(10, 2, 2); }) ==
        "DistributedSampler: rank 2 is out of range for 2 replicas");
}

TEST_CASE("DistributedRandomSampler obeys set_epoch, and all ranks share one order") {
  DistributedRandomSampler a(20, 2, 0), b(20, 2, 1);
  a.set_epoch(4);
  b.set_epoch(4);
  Indices all = epoch(a);
  const Indices other = epoch(b);
  all.insert(all.end(), other.begin(), other.end());
  CHECK(sorted(all) == counting(20));
  a.set_epoch(5);
  const Indices fifth = epoch(a);
  CHECK(fifth != Indices(all.begin(), all.begin() + 10));
  a.set_epoch(4);
  CHECK(epoch(a) == Indices(all.begin(), all.begin() + 10));
  CHECK(a.epoch() == 4);
  CHECK(epoch(a) == fifth);  // the epoch advances automatically
}

TEST_CASE("BatchSampler and StreamSampler") {
  BatchSampler batches(SequentialSampler(7), 3), even(SequentialSampler(7), 3, true);
  CHECK(batches.next()->size() == 3);
  CHECK(batches.next(100)->size() == 3);
  CHECK(*batches.next() == Indices{6});
  CHECK_FALSE(batches.next().has_value());
  CHECK(rest(even).size() == 6);
  StreamSampler stream(7);
  size_t sum = 0;
  for (int epoch = 0; epoch < 2; ++epoch, stream.reset())
    while (auto count = stream.next(3)) sum += *count;
  CHECK(sum == 14);
}
