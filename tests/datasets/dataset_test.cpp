// Data sets and transforms: their results, and gathering whole batches is bitwise identical to stacking.
#include "tandem/datasets/dataset.h"

#include <doctest/doctest.h>

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/datasets/idx.h"
#include "tandem/datasets/mnist.h"
#include "tandem/datasets/sources.h"
#include "tandem/datasets/tensor_dataset.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using namespace tandem::data::datasets;
using namespace tandem::data::transforms;
using test::error_of;
using test::TempFolder;
using testing::identical;

namespace {

const std::vector<size_t> kSome = {3, 0, 4, 4, 1};

// The examples of `dataset`, stacked one by one.
template <class D>
auto stacked(D& dataset) {
  using E = typename D::BatchType::value_type;
  return Stack<E>().apply_batch(dataset.get_batch(kSome));
}

Tensor bytes(std::vector<int64_t> sizes, int64_t high) { return randint(0, high, sizes, Generator(5)).to(kUInt8); }

// Five training and two test images of 4 x 3.
void write_files(const std::string& folder, const char* ending = "") {
  std::filesystem::create_directories(folder);
  write_idx(folder + "/train-images-idx3-ubyte" + ending, bytes({5, 4, 3}, 256));
  write_idx(folder + "/train-labels-idx1-ubyte" + ending, bytes({5}, 10));
  write_idx(folder + "/t10k-images-idx3-ubyte" + ending, bytes({2, 4, 3}, 256));
  write_idx(folder + "/t10k-labels-idx1-ubyte" + ending, bytes({2}, 10));
}

struct CountingNormalize : Normalize<> {
  using Normalize::Normalize;
  Tensor operator()(Tensor input) override { return input.mul(2); }
};

}  // namespace

TEST_CASE("tensor data sets: examples, batches, sizes") {
  const Tensor x = randn({5, 3}, Generator(1)), y = randint(0, 9, {5}, Generator(2));
  PairDataset pairs(x, y);
  CHECK(*pairs.size() == 5);
  CHECK(identical(pairs.get(2).data, x[2]));
  CHECK(pairs.get(2).target.dim() == 0);
  auto mapped = pairs.map(Stack<>());
  static_assert(std::is_same_v<decltype(mapped)::BatchType, Example<>>);
  static_assert(datasets::detail::GathersFor<PairDataset, Stack<>>);
  CHECK(identical(mapped.get_batch(kSome).data, stacked(pairs).data));
  CHECK(identical(mapped.get_batch(kSome).target, stacked(pairs).target));
  CHECK(error_of([&] { pairs.get(5); }) == "data set: index 5 is out of range for 5 examples");
  CHECK(error_of([&] { PairDataset(x, y.slice(0, 1)); }) ==
        "data set: tensors have different lengths: [5, 3] float32 cpu and [4] int64 cpu");

  TensorDataset single(x);
  auto rows = single.map(Stack<TensorExample>());
  CHECK(identical(rows.get_batch(kSome), stacked(single)));
  CHECK(*TensorDataset({x, x, x}).size() == 3);

  TensorsDataset several({x, y, x});
  auto columns = several.map(Stack<std::vector<Tensor>>());
  CHECK(columns.get_batch(kSome).size() == 3);
  CHECK(identical(columns.get_batch(kSome)[1], stacked(several)[1]));
}

TEST_CASE("RandomDataset: 100 random vectors of length 5, determined by the seed") {
  RandomDataset dataset(5, 100);
  CHECK(*dataset.size() == 100);
  const Tensor first = dataset.get(0);
  CHECK((first.sizes() == IntArrayRef{5}));
  CHECK(identical(RandomDataset(5, 100).data, dataset.data));
  CHECK_FALSE(identical(RandomDataset(5, 100, 1).data, dataset.data));
}

TEST_CASE("MNIST from all supported folder layouts") {
  for (const char* layout : {"", "/MNIST/raw", "/raw"})
    for (const char* ending : {"", ".gz"}) {
      TempFolder folder;
      write_files(folder.path() + layout, ending);
      MNIST train(folder.path());
      MNIST test(folder.path(), MNIST::Mode::kTest);
      CHECK((train.is_train() && !test.is_train()));
      CHECK((*train.size() == 5 && *test.size() == 2));
      CHECK(train.images().describe() == "[5, 1, 4, 3] float32 cpu");
      CHECK(train.targets().describe() == "[5] int64 cpu");
      const Example<> example = train.get(3);
      CHECK(example.data.describe() == "[1, 4, 3] float32 cpu");
      CHECK(identical(example.data, train.images()[3]));
      CHECK(example.target.item<int64_t>() == train.targets()[3].item<int64_t>());
      CHECK(example.data.reshape({12})[7].item<float>() ==
            static_cast<float>(train.bytes().reshape({5, 12})[3][7].item<int>()) / 255.0f);
    }
}

TEST_CASE("MNIST without files reports the searched folders") {
  TempFolder folder;
  const std::string text = error_of([&] { MNIST missing(folder.path()); });
  CHECK(text.find("no train-images-idx3-ubyte[.gz]") != std::string::npos);
  CHECK(text.find(folder.path() + "/MNIST/raw") != std::string::npos);
  // Only the files of the mode are required.
  write_files(folder.path());
  std::filesystem::remove(folder / "t10k-images-idx3-ubyte");
  CHECK(error_of([&] { MNIST train(folder.path()); }) == "");
  CHECK(error_of([&] { MNIST test(folder.path(), MNIST::Mode::kTest); }).find("no t10k-images") != std::string::npos);
}

TEST_CASE("FashionMNIST accepts a folder, torchvision's layout or the name") {
  TempFolder folder;
  write_files(folder.path() + "/FashionMNIST/raw");
  FashionMNIST small(folder.path(), FashionMNIST::Mode::kTest);
  CHECK(*small.size() == 2);
  if (error_of([] { find_dataset("fashion-mnist"); }) != "") {
    MESSAGE("skipped: Fashion-MNIST was not found on this machine");
    return;
  }
  FashionMNIST real;
  CHECK(*real.size() == 60000);
  CHECK(real.get(0).target.item<int64_t>() == 9);
  CHECK(real.get(59999).data.describe() == "[1, 28, 28] float32 cpu");
}

TEST_CASE("normalising whole batches is bitwise identical to normalising single examples") {
  TempFolder folder;
  write_files(folder.path());
  MNIST mnist(folder.path());
  auto normalized = mnist.map(Normalize<>(0.1307, 0.3081));
  auto fast = normalized.map(Stack<>());
  static_assert(datasets::detail::GathersFor<decltype(normalized), Stack<>>);
  CHECK(identical(fast.get_batch(kSome).data, stacked(normalized).data));
  CHECK(identical(fast.get_batch(kSome).target, stacked(normalized).target));
  CHECK((fast.get_batch(kSome).data.sizes() == IntArrayRef{5, 1, 4, 3}));
  // Three channels; images without a channel dimension.
  PairDataset colour(randn({5, 3, 4, 4}, Generator(1)), bytes({5}, 10));
  auto a = colour.map(Normalize<>({0.1, 0.2, 0.3}, {1.5, 2.5, 3.5}));
  CHECK(identical(a.map(Stack<>()).get_batch(kSome).data, stacked(a).data));
  PairDataset flat(randn({5, 3, 4}, Generator(1)), bytes({5}, 10));
  auto b = flat.map(Normalize<>({0.1, 0.2}, {1.5, 2.5}));
  CHECK((b.map(Stack<>()).get_batch(kSome).data.sizes() == IntArrayRef{5, 2, 3, 4}));
  CHECK(identical(b.map(Stack<>()).get_batch(kSome).data, stacked(b).data));
}

TEST_CASE("overrides in classes derived from a data set or transform are not bypassed") {
  const Tensor x = randn({5, 1, 2, 2}, Generator(1)), y = bytes({5}, 9);
  PairDataset pairs(x, y);
  auto doubled = pairs.map(CountingNormalize(0.5, 1.0));
  static_assert(!datasets::detail::Gathers<MapDataset<PairDataset, CountingNormalize>> ||
                !datasets::detail::GathersFor<decltype(doubled), Stack<>>);
  CHECK(identical(doubled.map(Stack<>()).get_batch(kSome).data,
                  PairDataset(x.mul(2), y).map(Stack<>()).get_batch(kSome).data));
}

TEST_CASE("lambdas transform examples, data and batches") {
  PairDataset pairs(randn({5, 2}, Generator(1)), bytes({5}, 9));
  auto by_example = pairs.map(Lambda<Example<>>([](Example<> e) {
    e.target = e.target.add(100);
    return e;
  }));
  CHECK(by_example.get_batch(kSome)[1].target.item<int64_t>() >= 100);
  auto by_tensor = pairs.map(TensorLambda<>([](Tensor t) { return t.mul(0); }));
  CHECK(by_tensor.get_batch(kSome)[0].data[0].item<float>() == 0);
  auto to_sizes = pairs.map(Lambda<Example<>, int>([](Example<> e) { return static_cast<int>(e.data.numel()); }));
  CHECK(to_sizes.get_batch(kSome) == std::vector<int>{2, 2, 2, 2, 2});
  auto collated =
      pairs.map(BatchLambda<std::vector<Example<>>, size_t>([](std::vector<Example<>> b) { return b.size(); }));
  CHECK(collated.get_batch(kSome) == 5);
  auto chain = map(map(pairs, TensorLambda<>([](Tensor t) { return t.add(1); })), Stack<>());
  CHECK((chain.get_batch(kSome).data.sizes() == IntArrayRef{5, 2}));
  CHECK(*chain.size() == 5);
}
