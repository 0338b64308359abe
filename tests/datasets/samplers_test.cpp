// Samplers: complete orders that are functions of seed and epoch, and their state in archives.
#include "tandem/datasets/samplers.h"

#include <doctest/doctest.h>

#include "tandem/core/random/generator.h"
#include "tandem/nn/files/archive.h"
#include "tandem/tests/datasets/orders.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data::samplers;
using namespace tandem::test;

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
  CHECK(error_of([&] { sampler.reset(3); }) == "SubsetRandomSampler: new size 3 does not match the 6 given indices");
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

TEST_CASE("a sampler continues in another process where it was saved") {
  for (const size_t taken : {0u, 1u, 4u, 11u}) {
    RandomSampler original(11, 3), other(11, 99);
    original.set_epoch(5);
    original.reset();
    if (taken > 0) original.next(taken);
    serialize::OutputArchive out;
    BatchSampler(original, 2).save(out);
    serialize::InputArchive in(out.tensors(), out.metadata());
    other.load(in);
    CHECK(other.index() == taken);
    CHECK(other.epoch() == 5);
    CHECK(rest(other) == rest(original));
    if (taken > 0) CHECK(epoch(other) == epoch(original));
  }
  serialize::OutputArchive out;
  SequentialSampler sequential(9);
  sequential.next(7);
  sequential.save(out);
  serialize::InputArchive in(out.tensors(), out.metadata()), empty;
  SequentialSampler small(6), unsized(0);
  unsized.load(in);
  CHECK(unsized.index() == 7);
  CHECK_FALSE(unsized.next(1).has_value());
  CHECK(error_of([&] { small.load(in); }) ==
        "sampler: the loaded index 7 is above the number of indices, 6; load the state of a sampler of the "
        "same size");
  CHECK(error_of([&] { small.load(empty); }) ==
        "sampler: the loaded state has no 'index'; load an archive that this kind of sampler has saved");
}

TEST_CASE("a state saved before the first reset, or between set_epoch and reset, is the begin of that epoch") {
  RandomSampler a(20, 1), b(20, 1), c(20, 1);
  const Indices zeroth = epoch(c), first = epoch(c);
  serialize::OutputArchive before, chosen;
  a.save(before);
  serialize::InputArchive in(before.tensors(), before.metadata());
  b.load(in);
  CHECK(epoch(b) == zeroth);
  a.next(3);
  a.set_epoch(1);
  a.save(chosen);
  serialize::InputArchive in_chosen(chosen.tensors(), chosen.metadata());
  b.load(in_chosen);
  CHECK(rest(b) == first);

  RandomSampler unseeded(20), other(20);  // save() draws the seed
  serialize::OutputArchive drawn;
  unseeded.save(drawn);
  serialize::InputArchive in_drawn(drawn.tensors(), drawn.metadata());
  other.load(in_drawn);
  CHECK(rest(other) == epoch(unseeded));
}
