// Parts of global batches: joined over the processes they are the batches of a single process, with samplers
// and with all loaders.
#include "tandem/datasets/batch_part.h"

#include <doctest/doctest.h>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/core/shards.h"
#include "tandem/datasets/data.h"
#include "tandem/nn/files/archive.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using test::error_of;
using testing::identical;

namespace {

using Batch = std::vector<int64_t>;
using Batches = std::vector<Batch>;

struct Case {
  int64_t examples, batch_size, shards;
  int size;
  bool drop_last;
};

// Cases of all numbers of processes, with epochs that divide into batches and epochs that do not.
std::vector<Case> cases() {
  std::vector<Case> out;
  for (const int64_t shards : {5, 8})
    for (int size = 1; size <= shards; ++size)
      for (const auto& [examples, batch_size] :
           {std::pair<int64_t, int64_t>{96, 32}, {103, 25}, {83, 16}, {7, 20}, {40, 9}})
        for (const bool drop_last : {false, true}) out.push_back({examples, batch_size, shards, size, drop_last});
  return out;
}

// Checks that the parts of all ranks, joined, are the batches in `whole`, without a last one that is smaller
// than the number of processes.
void check_parts(const Case& c, const Batches& whole, const std::vector<Batches>& parts) {
  Batches expected = whole;
  if (!expected.empty() && static_cast<int>(expected.back().size()) < c.size) expected.pop_back();
  REQUIRE(static_cast<int64_t>(expected.size()) ==
          batch_count(c.examples, c.batch_size, c.drop_last, {.size = c.size}));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) REQUIRE(parts[rank].size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    Batch joined;
    for (int rank = 0; rank < c.size; ++rank) {
      const Batch& part = parts[static_cast<std::size_t>(rank)][k];
      const auto [begin, end] = shard_range(static_cast<int64_t>(expected[k].size()), c.shards, c.size, rank);
      CHECK(static_cast<int64_t>(part.size()) == end - begin);
      CHECK(!part.empty());
      joined.insert(joined.end(), part.begin(), part.end());
    }
    CHECK(joined == expected[k]);
  }
}

// `load(part)` returns the batches that a process with this part loads.
template <class Load>
void check_case(const Case& c, const Load& load) {
  std::vector<Batches> parts;
  for (int rank = 0; rank < c.size; ++rank) parts.push_back(load(BatchPart{rank, c.size, c.shards}));
  check_parts(c, load(BatchPart{}), parts);
}

template <class S>
Batches batches_of(S sampler) {
  Batches out;
  sampler.reset();
  while (auto batch = sampler.next()) out.emplace_back(batch->begin(), batch->end());
  return out;
}

Batch values(const Tensor& t) { return {t.data_ptr<int64_t>(), t.data_ptr<int64_t>() + t.numel()}; }

// Example i has data {i, i} and target i.
struct Numbers : datasets::Dataset<Numbers> {
  explicit Numbers(int64_t count, bool noisy = false) : count(count), noisy(noisy) {}
  Example<> get(size_t index) override {
    const Tensor data = full({2}, static_cast<double>(index));
    return {noisy ? data + rand({2}) : data, full({}, static_cast<int64_t>(index), kLong)};
  }
  optional<size_t> size() const override { return static_cast<size_t>(count); }
  int64_t count;
  bool noisy;
};

template <class Loader>
Batches targets(Loader& loader) {
  Batches out;
  for (auto& batch : loader) {
    REQUIRE(batch.data.size(0) == batch.target.size(0));
    out.push_back(values(batch.target));
  }
  return out;
}

// Columns {i, i + 0.5} and i.
std::vector<Tensor> columns(int64_t count) {
  const Tensor i = arange(count, TensorOptions(kLong));
  return {stack({i.to(kFloat), i.to(kFloat) + 0.5}, 1), i};
}

void add_noise(std::vector<Tensor>& batch) { batch[0] = batch[0] + rand({batch[0].size(0), 2}); }

}  // namespace

TEST_CASE("parts of samplers' batches") {
  for (const Case& c : cases()) {
    const auto batch_size = static_cast<size_t>(c.batch_size);
    const auto check_base = [&](const auto& base) {
      check_case(c, [&](const BatchPart& part) {
        return batches_of(samplers::ShardedBatchSampler(base, batch_size, part, c.drop_last));
      });
      // Without parts they are BatchSampler's batches.
      CHECK(batches_of(samplers::ShardedBatchSampler(base, batch_size, {}, c.drop_last)) ==
            batches_of(samplers::BatchSampler(base, batch_size, c.drop_last)));
    };
    check_base(samplers::SequentialSampler(static_cast<size_t>(c.examples)));
    samplers::RandomSampler random(c.examples, uint64_t{5});
    random.set_epoch(3);
    check_base(random);
  }
}

TEST_CASE("processes agree on an order without a seed") {
  Batch all;
  for (int rank = 0; rank < 3; ++rank) {
    manual_seed(static_cast<uint64_t>(rank));
    samplers::ShardedBatchSampler sampler(samplers::RandomSampler(12), 12, {rank, 3});
    CHECK(sampler.seed() == 0);
    CHECK(sampler.rank() == static_cast<size_t>(rank));
    const Batches mine = batches_of(sampler);
    all.insert(all.end(), mine.at(0).begin(), mine.at(0).end());
  }
  CHECK(Batches{all} == batches_of(samplers::BatchSampler(samplers::RandomSampler(12, uint64_t{0}), 12)));
}

TEST_CASE("a sampler of parts continues in the middle of an epoch, with another number of processes, too") {
  samplers::ShardedBatchSampler one(samplers::RandomSampler(50, uint64_t{2}), 8, {});
  one.set_epoch(4);
  one.reset();
  one.next();
  one.next();
  serialize::OutputArchive out;
  one.save(out);
  std::vector<samplers::ShardedBatchSampler<samplers::RandomSampler>> parts;
  for (int rank = 0; rank < 3; ++rank) {
    parts.emplace_back(samplers::RandomSampler(50), 8, BatchPart{rank, 3, 8});
    serialize::InputArchive in(out.tensors(), out.metadata());
    parts.back().load(in);
    CHECK(parts.back().epoch() == 4);
  }
  int batches = 0;
  while (const auto whole = one.next()) {
    if (whole->size() < 3) break;
    std::vector<size_t> joined;
    for (auto& part : parts) {
      const auto mine = part.next();
      REQUIRE(mine.has_value());
      joined.insert(joined.end(), mine->begin(), mine->end());
    }
    CHECK(joined == *whole);
    ++batches;
  }
  CHECK(batches == 4);
  for (auto& part : parts) CHECK_FALSE(part.next().has_value());
}

TEST_CASE("parts with make_data_loader and DataLoader") {
  for (const Case& c : cases()) {
    if (c.examples != 103 && c.examples != 83) continue;
    const auto batch_size = static_cast<size_t>(c.batch_size);
    check_case(c, [&](const BatchPart& part) {
      auto loader = make_data_loader(Numbers(c.examples).map(transforms::Stack<>()),
                                     samplers::ShardedBatchSampler(samplers::RandomSampler(c.examples, uint64_t{6}),
                                                                   batch_size, part, c.drop_last),
                                     DataLoaderOptions().workers(static_cast<size_t>(c.size % 3)));
      Batches out = targets(*loader);
      loader->seek(0, 1);  // resumes after the first batch
      const Batches resumed = targets(*loader);
      CHECK(resumed == Batches(out.begin() + 1, out.end()));
      return out;
    });
    check_case(c, [&](const BatchPart& part) {
      DataLoader loader(
          Numbers(c.examples),
          {.batch_size = batch_size, .shuffle = true, .drop_last = c.drop_last, .seed = 11, .part = part});
      const Batches out = targets(loader);
      CHECK(loader.size() == out.size());
      return out;
    });
  }
}

TEST_CASE("data sets draw other random numbers on each rank") {
  const auto first = [](const BatchPart& part) {
    DataLoader loader(Numbers(8, true), {.batch_size = 8, .seed = 1, .part = part});
    const Tensor data = loader.begin()->data;
    return data.select(0, 0) - static_cast<double>(part.rank * 4);
  };
  CHECK(identical(first({0, 2}), first({0, 1})));
  CHECK_FALSE(identical(first({0, 2}), first({1, 2})));
  CHECK(identical(first({1, 2}), first({1, 2})));
}

TEST_CASE("parts with BatchLoader") {
  for (const Case& c : cases())
    for (const bool shuffle : {false, true})
      for (const int workers : {0, 2}) {
        if (workers > 0 && c.examples != 103) continue;
        check_case(c, [&](const BatchPart& part) {
          BatchLoader loader(columns(c.examples), {.batch_size = c.batch_size,
                                                   .shuffle = shuffle,
                                                   .drop_last = c.drop_last,
                                                   .workers = workers,
                                                   .seed = 3,
                                                   .epoch = 2,
                                                   .part = part});
          Batches out;
          while (auto batch = loader.next()) {
            out.push_back(values((*batch)[1]));
            CHECK(identical((*batch)[0].select(1, 1), (*batch)[1].to(kFloat) + 0.5));
          }
          CHECK(loader.batches() == static_cast<int64_t>(out.size()));
          CHECK(loader.position() == loader.batches());
          return out;
        });
      }
}

TEST_CASE("random transforms of BatchLoader depend on the shards, not on the processes or workers") {
  const auto load = [](const BatchPart& part, int workers, int64_t first) {
    BatchLoader loader(columns(53),
                       {.batch_size = 20, .shuffle = true, .workers = workers, .first_batch = first, .part = part},
                       add_noise);
    std::vector<Tensor> out;
    while (auto batch = loader.next()) out.push_back((*batch)[0]);
    return out;
  };
  const std::vector<Tensor> whole = load({0, 1, 8}, 0, 0);
  REQUIRE(whole.size() == 3);
  for (int size = 2; size <= 8; ++size) {
    std::vector<std::vector<Tensor>> parts(3);
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<Tensor> mine = load({rank, size, 8}, rank % 3, 0);
      REQUIRE(mine.size() == 3);
      for (std::size_t k = 0; k < 3; ++k) parts[k].push_back(mine[k]);
    }
    for (std::size_t k = 0; k < 3; ++k) CHECK(identical(cat(parts[k]), whole[k]));
  }
  CHECK(identical(load({1, 2, 8}, 2, 1).at(0), load({1, 2, 8}, 0, 0).at(1)));
  // Shards do not repeat each other's numbers.
  const Tensor noise = whole[0] - BatchLoader(columns(53), {.batch_size = 20, .shuffle = true}).next()->at(0);
  CHECK_FALSE(noise.select(0, 0).allclose(noise.select(0, 3), 1e-3, 1e-3));
}

TEST_CASE("parts with pixels") {
  for (const Case& c : cases())
    for (const bool shuffle : {false, true}) {
      manual_seed(1);
      const ImageData data{randint(0, 256, {c.examples, 2, 3}, TensorOptions(kUInt8)), arange(c.examples), 10};
      check_case(c, [&](const BatchPart& part) {
        BatchLoader loader({data.images, data.labels}, {.batch_size = c.batch_size,
                                                        .shuffle = shuffle,
                                                        .drop_last = c.drop_last,
                                                        .seed = 3,
                                                        .part = part,
                                                        .pixels = PixelScale()});
        Batches out;
        while (auto batch = loader.next()) {
          out.push_back(values(batch->at(1)));
          const Tensor rows = data.images.index_select(0, batch->at(1)).unsqueeze(1).to(kFloat).div_(255);
          CHECK(identical(batch->at(0), rows));
        }
        CHECK(loader.batches() == static_cast<int64_t>(out.size()));
        return out;
      });
    }
}

TEST_CASE("parts that leave a process without examples are rejected") {
  const auto error = [](const BatchPart& part, int64_t batch_size) {
    const std::string message = error_of([&] { BatchLoader(columns(10), {.batch_size = batch_size, .part = part}); });
    CHECK(error_of([&] {
            samplers::ShardedBatchSampler(samplers::SequentialSampler(10), static_cast<size_t>(batch_size), part);
          }) == (message.empty() ? "" : "ShardedBatchSampler" + message.substr(11)));
    return message;
  };
  CHECK(error({0, 1}, 1) == "");
  CHECK(error({7, 8, 8}, 8) == "");
  CHECK(error({2, 2}, 8) == "BatchLoader: part of rank 2 of 2 processes, expected a rank in [0, size)");
  CHECK(error({-1, 2}, 8) == "BatchLoader: part of rank -1 of 2 processes, expected a rank in [0, size)");
  CHECK(error({0, 0}, 8) == "BatchLoader: part of rank 0 of 0 processes, expected a rank in [0, size)");
  CHECK(error({0, 6, 5}, 8) == "BatchLoader: 5 shards are too few for 6 processes; each needs at least one");
  CHECK(error({0, 6}, 5) ==
        "BatchLoader: a batch of 5 is too small for 6 processes; batch_size counts the examples of all "
        "processes");
}
