// Samplers: complete orders that are functions of seed and epoch, and their state in archives.
#include "tandem/datasets/samplers.h"

#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/core/random/generator.h"
#include "tandem/datasets/data_loader.h"
#include "tandem/datasets/tensor_dataset.h"
#include "tandem/nn/files/archive.h"
#include "tandem/testing.h"
#include "tandem/tests/as_pytorch.h"
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

TEST_CASE("WeightedRandomSampler draws no index of weight 0, and new ones in each epoch") {
  WeightedRandomSampler sampler({0, 1, 0, 3, 0.5}, 200, true, Generator(3));
  const Indices first = epoch(sampler), second = epoch(sampler);
  for (const Indices& drawn : {first, second}) {
    CHECK(drawn.size() == 200);
    CHECK(std::set<size_t>(drawn.begin(), drawn.end()) == std::set<size_t>{1, 3, 4});
    CHECK(std::count(drawn.begin(), drawn.end(), 3) > std::count(drawn.begin(), drawn.end(), 1));
  }
  CHECK(first != second);
  WeightedRandomSampler one({0, 0, 1e-300, 0}, 5);
  CHECK(epoch(one) == Indices{2, 2, 2, 2, 2});
}

TEST_CASE("WeightedRandomSampler without replacement draws an index once") {
  WeightedRandomSampler all({1, 2, 3, 4, 5, 6, 7, 8}, 8, false, Generator(3)), some({1, 0, 1, 0, 1}, 3, false);
  const Indices first = epoch(all), second = epoch(all);
  CHECK(sorted(first) == counting(8));
  CHECK(sorted(second) == counting(8));
  CHECK(first != second);
  CHECK(sorted(epoch(some)) == Indices{0, 2, 4});
  some.reset(2);
  CHECK(rest(some).size() == 2);
  CHECK(error_of([&] { some.reset(4); }) ==
        "WeightedRandomSampler: 4 samples without replacement, but only 3 weights are not 0");
  CHECK(epoch(some).size() == 2);
}

TEST_CASE("WeightedRandomSampler: the generator determines the draws; weights may be a tensor of any real dtype") {
  const std::vector<double> weights = {1, 2, 3, 4};
  const Generator generator(5);
  data::WeightedRandomSampler a(weights, 50, true, Generator(5)), b(weights, 50, true, generator),
      next(weights, 50, true, generator);
  const Indices first = epoch(a);
  CHECK(epoch(b) == first);
  CHECK(epoch(next) != first);
  Tensor numbers = tensor({1, 2, 3, 4}, kInt);
  WeightedRandomSampler c(numbers, 50, true, Generator(5)),
      d(tensor(weights, kFloat).expand({3, 4})[1], 50, true, Generator(5));
  numbers.zero_();  // they are copied
  CHECK(c.weights().describe() == "[4] float64 cpu");
  CHECK(epoch(c) == first);
  CHECK(epoch(d) == first);
  manual_seed(7);
  WeightedRandomSampler e(weights, 50);
  const Indices drawn = epoch(e);
  manual_seed(7);
  WeightedRandomSampler f(weights, 50);
  CHECK(epoch(f) == drawn);
  f.set_seed(*a.seed());
  f.set_epoch(0);
  CHECK(epoch(f) == first);
}

TEST_CASE("WeightedRandomSampler names wrong arguments") {
  const auto error = [](const std::vector<double>& weights, int64_t samples, bool replacement = true) {
    return error_of([&] { WeightedRandomSampler(weights, samples, replacement); });
  };
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(error({1, -2}, 1) == "WeightedRandomSampler: weight 1 is -2; weights must be finite and not negative");
  CHECK(error({inf, 1}, 1) == "WeightedRandomSampler: weight 0 is inf; weights must be finite and not negative");
  CHECK(error({inf - inf}, 1).find("must be finite") != std::string::npos);
  CHECK(error({0, 0}, 1) == "WeightedRandomSampler: all weights are 0");
  CHECK(error({1e308, 1e308}, 1) == "WeightedRandomSampler: the sum of the weights is not finite; scale them down");
  CHECK(error({1, 1}, 0) == "WeightedRandomSampler: num_samples must be at least 1, got 0");
  CHECK(error({1, 1}, -3) == "WeightedRandomSampler: num_samples must be at least 1, got -3");
  CHECK(error({1, 0, 1}, 3, false) ==
        "WeightedRandomSampler: 3 samples without replacement, but only 2 weights are not 0");
  CHECK(error({}, 1) == "WeightedRandomSampler: expected real weights [N] with N > 0, got [0] float64 cpu");
  CHECK(error_of([] {
          WeightedRandomSampler(ones({2, 2}), 1);
        }) == "WeightedRandomSampler: expected real weights [N] with N > 0, got [2, 2] float32 cpu");
}

TEST_CASE("WeightedRandomSampler continues where it was saved, and through a loader") {
  const std::vector<double> weights = {1, 2, 3, 4};
  WeightedRandomSampler original(weights, 11, true, Generator(1)), other(weights, 11);
  original.set_epoch(4);
  original.reset();
  original.next(5);
  serialize::OutputArchive out;
  original.save(out);
  serialize::InputArchive in(out.tensors(), out.metadata());
  other.load(in);
  CHECK((other.index() == 5 && other.epoch() == 4));
  CHECK(rest(other) == rest(original));
  CHECK(epoch(other) == epoch(original));

  const auto targets = [&weights](uint64_t seed) {
    data::datasets::TensorDataset rows(arange(4));
    auto loader = data::make_data_loader(rows.map(data::transforms::Stack<data::TensorExample>()),
                                         WeightedRandomSampler(weights, 20), data::DataLoaderOptions(6).seed(seed));
    std::vector<Tensor> batches;
    for (auto& batch : *loader) batches.push_back(batch.data);
    return cat(batches);
  };
  CHECK(targets(1).numel() == 20);
  CHECK(equal(targets(1), targets(1)));
  CHECK_FALSE(equal(targets(1), targets(2)));
  WeightedRandomSampler direct(weights, 20);
  direct.set_seed(1);
  const Tensor seen = targets(1);
  CHECK(epoch(direct) == Indices(seen.data_ptr<int64_t>(), seen.data_ptr<int64_t>() + 20));
}

namespace {

// Each example has a random number of its own.
struct Noisy : data::datasets::Dataset<Noisy> {
  data::Example<> get(size_t i) override { return {full({1}, static_cast<double>(i)) + rand({1}), zeros({1})}; }
  optional<size_t> size() const override { return 6; }
};

}  // namespace

TEST_CASE("in GeneratorMode::kPyTorch, samplers without a seed and their loaders draw LibTorch's orders") {
  const auto next = [] { return rand({1}).item<double>(); };
  {
    const AsPyTorch mode(0);
    RandomSampler sampler(20);
    CHECK(*sampler.next(20) == Indices{4, 5, 13, 19, 7, 14, 3, 6, 9, 17, 11, 2, 16, 18, 10, 12, 15, 8, 1, 0});
    CHECK(next() == doctest::Approx(0.2823).epsilon(1e-3));
    sampler.reset();
    CHECK(*sampler.next(20) == Indices{6, 19, 1, 8, 12, 16, 7, 9, 17, 18, 11, 10, 15, 0, 4, 14, 13, 2, 3, 5});
    CHECK(next() == doctest::Approx(0.7423).epsilon(1e-3));
    RandomSampler chosen(20, 5);
    set_generator_mode(GeneratorMode::kPhilox);
    RandomSampler same(20, 5);
    CHECK(rest(chosen) == rest(same));  // a seed has its orders in every mode
  }
  {
    const AsPyTorch mode(0);
    DistributedRandomSampler share(20, 2, 0);
    CHECK(*share.next(20) == Indices{0, 13, 1, 17, 9, 11, 4, 16, 6, 10});
    share.set_epoch(1);
    share.reset();
    CHECK(*share.next(20) == Indices{9, 10, 16, 12, 18, 4, 6, 3, 17, 19});
    CHECK(next() == doctest::Approx(0.4963).epsilon(1e-3));
  }
  const AsPyTorch mode(3);
  auto loader = data::make_data_loader<RandomSampler>(Noisy().map(data::transforms::Stack<>()), 4);
  std::vector<double> seen;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& batch : *loader) {
      for (int64_t i = 0; i < batch.data.size(0); ++i) seen.push_back(batch.data[i].item<double>());
      seen.push_back(next());
    }
  const std::vector<double> expected = {0.451031, 1.799491, 3.149841, 4.401469, 0.054177, 5.459405, 2.175605, 0.949183,
                                        2.012109, 5.180877, 0.187715, 1.292745, 0.599699, 3.121255, 4.114796, 0.260880};
  REQUIRE(seen.size() == expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("the state of a sampler whose orders are drawn has the order") {
  const AsPyTorch mode(4);
  RandomSampler sampler(7), other(7);
  sampler.reset();
  sampler.next(3);
  serialize::OutputArchive out;
  sampler.save(out);
  const auto load = [&](auto&& change) {
    auto tensors = out.tensors();
    change(tensors);
    serialize::InputArchive in(tensors, out.metadata());
    other.load(in);
  };
  load([](auto&) {});
  CHECK(rest(other) == rest(sampler));
  CHECK(other.index() == 7);
  CHECK(other.epoch() == 0);
  other.reset();
  CHECK(other.epoch() == 1);
  load([](auto& tensors) { tensors["index"] = zeros({}, kLong); });
  other.reset();  // begins the epoch of which nothing was taken
  CHECK(other.epoch() == 1);
  // LibTorch's archive has these two entries alone.
  load([](auto& tensors) {
    tensors.erase("epoch");
    tensors.erase("seed");
  });
  CHECK(other.index() == 3);
  CHECK_THROWS_WITH_AS(load([](auto& tensors) { tensors["indices"] = full({7}, 7, kLong); }),
                       doctest::Contains("the loaded indices have 7"), Error);
  CHECK_THROWS_WITH_AS(load([](auto& tensors) { tensors["indices"] = ones({7}); }),
                       doctest::Contains("not a list of integers"), Error);
  CHECK_THROWS_WITH_AS(load([](auto& tensors) { tensors["index"] = full({}, 8, kLong); }),
                       doctest::Contains("the loaded index 8 is above"), Error);
  CHECK(other.index() == 3);
  // A state with a seed, from the other mode.
  RandomSampler seeded(7, 11);
  seeded.next(2);
  serialize::OutputArchive state;
  seeded.save(state);
  serialize::InputArchive in(state.tensors(), state.metadata());
  other.load(in);
  CHECK_FALSE(other.draws());
  CHECK(rest(other) == rest(seeded));
}
