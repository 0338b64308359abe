// Subset and random_split: their examples, Python's arithmetic of fractions, reproducible parts, through loaders.
#include "tandem/datasets/subset.h"

#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/core/warning.h"
#include "tandem/datasets/data.h"
#include "tandem/testing.h"
#include "tandem/tests/datasets/orders.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using namespace tandem::test;
using testing::identical;

namespace {

using Sizes = std::vector<size_t>;

// Example i is the number i. Counts its copies.
struct Names : datasets::Dataset<Names, std::string> {
  explicit Names(size_t count) {
    for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  }
  Names(const Names& other) : datasets::Dataset<Names, std::string>(other), names(other.names), copies(other.copies) {
    ++*copies;
  }
  Names(Names&&) = default;
  std::string get(size_t index) override { return names.at(index); }
  optional<size_t> size() const override { return names.size(); }

  std::vector<std::string> names;
  std::shared_ptr<int> copies = std::make_shared<int>(0);
};

// Of unknown size.
struct Endless : datasets::Dataset<Endless, size_t> {
  size_t get(size_t index) override { return index; }
  optional<size_t> size() const override { return nullopt; }
};

datasets::PairDataset pairs(int64_t count) { return {arange(2 * count).to(kFloat).reshape({count, 2}), arange(count)}; }

template <class D>
Sizes sizes(const std::vector<Subset<D>>& parts) {
  Sizes out;
  for (const auto& part : parts) out.push_back(*part.size());
  return out;
}
template <class D>
Indices all_indices(const std::vector<Subset<D>>& parts) {
  Indices out;
  for (const auto& part : parts) out.insert(out.end(), part.indices().begin(), part.indices().end());
  return out;
}
Sizes fractions(size_t count, const std::vector<double>& lengths) { return sizes(random_split(Names(count), lengths)); }

template <class Loader>
std::vector<int64_t> targets(Loader& loader) {
  std::vector<int64_t> out;
  for (auto& batch : loader)
    for (int64_t i = 0; i < batch.target.numel(); ++i) out.push_back(batch.target[i].template item<int64_t>());
  return out;
}

struct Collected : WarningHandler {
  Collected() { WarningUtils::set_warning_handler(this); }
  ~Collected() override { WarningUtils::set_warning_handler(nullptr); }
  void process(const Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

}  // namespace

TEST_CASE("a Subset has the examples at its indices, in their order and as often as they occur") {
  Subset subset(pairs(5), {3, 0, 3});
  static_assert(std::is_same_v<decltype(subset), data::datasets::Subset<datasets::PairDataset>>);
  CHECK(*subset.size() == 3);
  CHECK(subset.indices() == Indices{3, 0, 3});
  CHECK(*subset.dataset().size() == 5);
  CHECK(subset.get(0).target.item<int64_t>() == 3);
  CHECK(identical(subset.get(1).data, subset.dataset().data[0]));
  const auto batch = subset.get_batch(Indices{2, 1});
  CHECK(batch.size() == 2);
  CHECK(batch[0].target.item<int64_t>() == 3);
  CHECK(batch[1].target.item<int64_t>() == 0);

  Subset nested(subset, std::vector<size_t>{1});
  CHECK(nested.get(0).target.item<int64_t>() == 0);
  Subset none(pairs(5), std::vector<int>());
  CHECK(*none.size() == 0);
  CHECK(none.get_batch({}).empty());
}

TEST_CASE("a Subset is mapped as its data set, gathers whole batches, and has mapped data sets") {
  Subset subset(pairs(6), {5, 4, 1});
  auto stacked = subset.map(transforms::Stack<>());
  static_assert(datasets::detail::GathersFor<decltype(subset), transforms::Stack<>>);
  static_assert(!datasets::detail::Gathers<Subset<Names>>);
  CHECK(identical(stacked.get_batch(Indices{2, 0}).data, subset.dataset().data.index_select(0, tensor({1, 5}))));
  CHECK(identical(stacked.get_batch(Indices{2, 0}).target, tensor({1, 5})));

  auto doubled = pairs(6).map(transforms::TensorLambda<>([](Tensor t) { return t * 2; }));
  Subset part(doubled, {4, 2});
  CHECK(identical(part.get_batch(Indices{1})[0].data, subset.dataset().data[2] * 2));
  auto normalized = pairs(6).map(transforms::Normalize<>(1, 2));
  Subset fast(normalized, {4, 2});
  static_assert(datasets::detail::GathersFor<decltype(fast), transforms::Stack<>>);
  auto one_by_one = fast.get_batch(Indices{0, 1});
  CHECK(identical(fast.map(transforms::Stack<>()).get_batch(Indices{0, 1}).data,
                  transforms::Stack<>().apply_batch(one_by_one).data));
  Subset of_batches(pairs(6).map(transforms::Stack<>()), {4, 2});
  CHECK(identical(of_batches.get_batch(Indices{0, 1}).target, tensor({4, 2})));
}

TEST_CASE("subsets share their data set") {
  Names names(100);
  const auto copies = names.copies;
  auto parts = random_split(std::move(names), {50, 30, 20});
  const auto again = parts;
  Subset<Names> more = parts[0];
  CHECK(*copies == 0);
  CHECK(&parts[0].dataset() == &parts[2].dataset());
  CHECK(&again[1].dataset() == &parts[1].dataset());
  auto loader = make_data_loader(parts[0], DataLoaderOptions(8).workers(2));
  size_t seen = 0;
  for (auto& batch : *loader) seen += batch.size();
  CHECK(seen == 50);
  CHECK(*copies == 0);

  const auto shared = std::make_shared<Names>(10);
  Subset first(shared, {0, 1}), second(shared, {2});
  static_assert(std::is_same_v<decltype(first), Subset<Names>>);
  CHECK(&first.dataset() == shared.get());
  CHECK(second.get(0) == "2");
}

TEST_CASE("indices outside of a data set or a Subset are errors") {
  CHECK(error_of([] { Subset(Names(5), {0, 5}); }) == "Subset: index 5 is out of range for a data set of 5 examples");
  CHECK(error_of([] { Subset(Names(5), {1, -1}); }) == "Subset: index -1 is negative; indices count from 0");
  CHECK(error_of([] { Subset(Endless(), {1, -1}); }) == "Subset: index -1 is negative; indices count from 0");
  CHECK(Subset(Endless(), {1, 7}).get(1) == 7);
  Subset subset(Names(5), {4, 2, 0});
  CHECK(error_of([&] { subset.get(3); }) == "Subset: index 3 is out of range for 3 examples");
  CHECK_THROWS_AS(subset.get_batch(Indices{0, 3}), IndexError);
}

TEST_CASE("a Subset goes through the loaders with every sampler") {
  Subset subset(pairs(20), {19, 3, 5, 7, 11});
  auto in_order = make_data_loader<samplers::SequentialSampler>(subset.map(transforms::Stack<>()), 2);
  CHECK(targets(*in_order) == std::vector<int64_t>{19, 3, 5, 7, 11});
  std::multiset<int64_t> expected = {3, 5, 7, 11, 19};
  for (const size_t workers : {0u, 2u}) {
    auto shuffled = make_data_loader(subset.map(transforms::Stack<>()), DataLoaderOptions(2).workers(workers));
    const auto seen = targets(*shuffled);
    CHECK(std::multiset<int64_t>(seen.begin(), seen.end()) == expected);
    DataLoader simple(subset, {.batch_size = 2, .num_workers = workers});
    CHECK(targets(simple) == std::vector<int64_t>{19, 3, 5, 7, 11});
    CHECK(simple.size() == 3);
  }
  auto weighted = make_data_loader(subset.map(transforms::Stack<>()), WeightedRandomSampler({0, 0, 1, 0, 0}, 4), 3);
  CHECK(targets(*weighted) == std::vector<int64_t>{5, 5, 5, 5});
}

TEST_CASE("random_split by counts: every example is in one part") {
  auto parts = random_split(pairs(10), {5, 0, 3, 2}, Generator(1));
  CHECK(sizes(parts) == Sizes{5, 0, 3, 2});
  CHECK(sorted(all_indices(parts)) == counting(10));
  CHECK(all_indices(parts) != counting(10));
  CHECK(sizes(random_split(Names(3), std::vector<int64_t>{1, 2})) == Sizes{1, 2});
  CHECK(sizes(random_split(Names(3), std::vector<size_t>{3})) == Sizes{3});
  CHECK(sizes(random_split(Names(0), {0, 0})) == Sizes{0, 0});
  CHECK(sizes(random_split(Names(1), {1})) == Sizes{1});
}

// The expected sizes are those of torch.utils.data.random_split.
TEST_CASE("random_split by fractions rounds down and deals out the rest, as in Python") {
  CHECK(fractions(10, {0.3, 0.3, 0.4}) == Sizes{3, 3, 4});
  CHECK(fractions(10, {0.33, 0.33, 0.34}) == Sizes{4, 3, 3});
  CHECK(fractions(10, {0.6, 0.3, 0.1}) == Sizes{6, 3, 1});
  CHECK(fractions(7, {0.5, 0.5}) == Sizes{4, 3});
  CHECK(fractions(100, {0.29, 0.71}) == Sizes{29, 71});
  CHECK(fractions(19, {0.2, 0.2, 0.2, 0.2, 0.2}) == Sizes{4, 4, 4, 4, 3});
  CHECK(fractions(11, std::vector<double>(10, 0.1)) == Sizes{2, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(fractions(60000, {0.9, 0.1}) == Sizes{54000, 6000});
  CHECK(fractions(5, {1.0}) == Sizes{5});
  CHECK(sizes(random_split(Names(10), {0.7, 0.2, 0.1})) == Sizes{7, 2, 1});
  CHECK(fractions(10, {0.1, 0.7, 0.2 + 1e-12}) == Sizes{1, 7, 2});  // up to rounding
  const Collected warnings;
  CHECK(fractions(3, {0.25, 0.25, 0.25, 0.25}) == Sizes{1, 1, 1, 0});
  CHECK(warnings.texts == std::vector<std::string>{"random_split: subset 3 is empty"});
  CHECK(fractions(0, {0.5, 0.5}) == Sizes{0, 0});
  CHECK(warnings.texts.size() == 3);
}

TEST_CASE("random_split names wrong lengths") {
  CHECK(error_of([] {
          random_split(Names(10), {3, 6});
        }) == "random_split: the lengths sum to 9, but the data set has 10 examples");
  CHECK(error_of([] {
          random_split(Names(10), {6, 6});
        }) == "random_split: the lengths sum to 12, but the data set has 10 examples");
  CHECK(error_of([] {
          random_split(Names(10), {11, -1});
        }) == "random_split: the length 11 is not between 0 and 10, the size of the data set");
  CHECK(error_of([] {
          random_split(Names(10), {-1, 11});
        }) == "random_split: the length -1 is not between 0 and 10, the size of the data set");
  CHECK(error_of([] { random_split(Names(10), std::vector<int64_t>()); }) ==
        "random_split: the lengths sum to 0, but the data set has 10 examples");
  CHECK(error_of([] { random_split(Names(10), {0.5, 0.4}); }) == "random_split: the fractions must sum to 1, got 0.9");
  CHECK(error_of([] { random_split(Names(10), {0.8, 0.8}); }) == "random_split: the fractions must sum to 1, got 1.6");
  CHECK(error_of([] { random_split(Names(10), std::vector<double>()); }) ==
        "random_split: the fractions must sum to 1, got 0");
  CHECK(error_of([] {
          random_split(Names(10), {7.0, 3.0});
        }) == "random_split: the fraction 7 is not between 0 and 1; counts of examples are integers");
  CHECK(error_of([] { random_split(Names(10), {-0.5, 1.5}); }).find("the fraction -0.5") != std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(error_of([nan] { random_split(Names(10), {nan, 0.5}); }).find("not between 0 and 1") != std::string::npos);
  CHECK(error_of([] {
          random_split(Endless(), {0.5, 0.5});
        }) == "random_split: the size of the data set is unknown; split one with a size");
}

TEST_CASE("a generator's seed determines the split, on any number of threads") {
  const auto split = [](const optional<Generator>& generator = nullopt) {
    return all_indices(random_split(Names(5000), {0.8, 0.2}, generator));
  };
  const Indices first = split(Generator(42));
  CHECK(split(Generator(42)) == first);
  CHECK(split(Generator(43)) != first);
  const Generator generator(42);
  CHECK(split(generator) == first);
  CHECK(split(generator) != first);  // its next numbers
  const int threads = get_num_threads();
  for (const int n : {1, 3}) {
    set_num_threads(n);
    CHECK(split(Generator(42)) == first);
  }
  set_num_threads(threads);
  manual_seed(42);
  CHECK(split() == first);
  CHECK(split() != first);
}

TEST_CASE("with PyTorch's generator, the split is PyTorch's") {
  set_generator_mode(GeneratorMode::kPyTorch);
  const auto parts = random_split(Names(10), {7, 3}, Generator(42));
  set_generator_mode(GeneratorMode::kPhilox);
  CHECK(parts[0].indices() == Indices{2, 6, 1, 8, 4, 5, 0});  // torch.Generator().manual_seed(42)
  CHECK(parts[1].indices() == Indices{9, 3, 7});
}
