// Batches of a data set on the device, memory statistics, and non-blocking copies.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/data.h"
#include "tandem/core/cuda.h"
#include "tandem/datasets/device_feeder.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/loader.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;

namespace {

const Device kDevice("cuda:0");

data::ImageData pictures(int64_t count, int64_t height, int64_t width) {
  manual_seed(1);
  return {randint(0, 256, {count, height, width}, TensorOptions(kUInt8)), randint(0, 10, {count}), 10};
}
data::ImageData on_device(const data::ImageData& data) {
  return {data.images.to(kDevice), data.labels.to(kDevice), data.classes};
}

// The result of the path through the host.
std::vector<std::vector<Tensor>> expected(const data::ImageData& data, const data::BatchLoaderOptions& options) {
  data::BatchLoader loader({data.images, data.labels}, options,
                           [](std::vector<Tensor>& batch) { batch[0] = batch[0].unsqueeze(1).to(kFloat).div_(255); });
  std::vector<std::vector<Tensor>> out;
  while (auto batch = loader.next()) out.push_back(*batch);
  return out;
}

data::BatchLoader image_loader(const data::ImageData& data, data::BatchLoaderOptions options) {
  options.pixels = PixelScale();
  return {{data.images, data.labels}, options};
}

void check_loader(const data::ImageData& data, const data::ImageData& there, const data::BatchLoaderOptions& options) {
  const auto batches = expected(data, options);
  data::BatchLoader loader = image_loader(there, options);
  CHECK(loader.batches() - options.first_batch == static_cast<int64_t>(batches.size()));
  for (const auto& batch : batches) {
    const auto found = loader.next();
    REQUIRE(found.has_value());
    CHECK(found->at(0).device() == there.images.device());
    CHECK(testing::identical(found->at(0).cpu(), batch[0]));
    CHECK(testing::identical(found->at(1).cpu(), batch[1]));
  }
  CHECK_FALSE(loader.next().has_value());
}

}  // namespace

TEST_CASE("batches gathered on a device equal the host's for the same seed and epoch") {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>(8, 8), {5, 3}}) {
    const data::ImageData data = pictures(37, height, width);
    std::vector<data::ImageData> places{data};
    if (has_devices(1)) places.push_back(on_device(data));
    for (const auto& there : places)
      for (const int64_t epoch : {0, 3}) {
        check_loader(data, there, {.batch_size = 10, .shuffle = true, .seed = 9, .epoch = epoch});
        check_loader(data, there, {.batch_size = 10, .shuffle = true, .drop_last = true, .seed = 9, .epoch = epoch});
        check_loader(data, there, {.batch_size = 16, .seed = 9, .first_batch = 1});
      }
  }
}

TEST_CASE("arguments that a loader of images rejects") {
  const data::ImageData data = pictures(5, 2, 2);
  CHECK_THROWS_AS(image_loader({data.images.to(kFloat), data.labels, 10}, {}), Error);
  CHECK_THROWS_AS(image_loader({data.images, data.labels.narrow(0, 0, 4), 10}, {}), Error);
  CHECK_THROWS_AS(image_loader(data, {.batch_size = 0}), Error);
  CHECK_THROWS_AS(image_loader(data, {.batch_size = 2, .first_batch = 4}), Error);
}

TEST_CASE("an index out of range") {
  const data::ImageData data = pictures(5, 2, 2);
  const auto gather = [](const data::ImageData& d, Device device) {
    const Tensor index = tensor({0, 5}, TensorOptions(kLong)).to(device);
    const Tensor out = empty({2, 1, 2, 2}, TensorOptions(device)),
                 labels = empty({2}, TensorOptions(device).dtype(kLong));
    backend(device).data.gather_normalized(out, labels, d.images, d.labels, index, {});
    synchronize(device);
  };
  CHECK_THROWS_AS(gather(data, Device("cpu:0")), IndexError);
  if (has_devices(1)) CHECK_THROWS_AS(gather(on_device(data), kDevice), IndexError);
}

TEST_CASE("a number out of an operation's range") {
  struct Case {
    const char* message;
    double below, low, high, above;  // what it refuses and takes
    std::function<void(const Tensor&)> call;
  };
  constexpr double kInf = std::numeric_limits<double>::infinity(), kMost = std::numeric_limits<float>::max();
  const Case cases[] = {
      {"binary_cross_entropy: all elements of input should be between 0 and 1", -1e-6, 0, 1, 1 + 1e-6,
       [](const Tensor& x) { binary_cross_entropy(x, zeros_like(x)); }},
      {"binary_cross_entropy: all elements of target should be between 0 and 1", -1e-6, 0, 1, 1 + 1e-6,
       [](const Tensor& x) { binary_cross_entropy(zeros_like(x), x); }},
      {"bernoulli: probabilities must be in [0, 1]", -1e-6, 0, 1, 1 + 1e-6, [](const Tensor& x) { x.bernoulli(); }},
      {"normal: expected standard deviations >= 0", -1e-6, 0, kInf, -kInf, [](const Tensor& x) { normal(0.0, x); }},
      {"poisson: rates must be finite and not negative", -1e-6, 0, 1e4, kInf, [](const Tensor& x) { poisson(x); }},
      {"_standard_gamma: expected finite numbers > 0", 0, 1e-30, kMost, kInf,
       [](const Tensor& x) { _standard_gamma(x); }},
  };
  std::vector<Device> devices{kCPU};
  if (has_devices(1)) devices.push_back(kDevice);
  for (const Case& c : cases)
    for (const Device device : devices)
      for (const ScalarType dtype : {kFloat, kDouble}) {
        CAPTURE(c.message);
        CAPTURE(device);
        CAPTURE(dtype);
        const auto error = [&](double bad) {
          const Tensor x = full({70001}, c.high, TensorOptions(dtype).device(device));
          x[3] = c.low;
          x[70000] = bad;
          return test::error_of([&] {
            c.call(x);
            synchronize(device);
          });
        };
        CHECK_EQ(error(c.low), "");
        for (const double bad : {c.below, c.above, std::nan("")}) {
          CAPTURE(bad);
          CHECK_EQ(error(bad).substr(0, std::strlen(c.message)), c.message);
        }
        c.call(empty({0}, TensorOptions(dtype).device(device)));
      }
  for (const Device device : devices)
    for (const ScalarType dtype : {kHalf, kBFloat16}) {
      const Tensor x = full({1000}, 0.5, TensorOptions(dtype).device(device)), kept = x.clone();
      normal(0.0, x);
      binary_cross_entropy(x, x);
      CHECK(testing::identical(x.cpu(), kept.cpu()));
      x[999] = -1;
      CHECK_NE(test::error_of([&] {
                 normal(0.0, x);
                 synchronize(device);
               }),
               "");
    }
}

TEST_CASE("host batches on their way to a device") {
  if (!has_devices(1)) return;
  const data::ImageData data = pictures(50, 6, 6);
  const data::BatchLoaderOptions options{.batch_size = 8, .shuffle = true, .workers = 2, .seed = 4, .pin_memory = true};
  const auto batches = expected(data, options);
  data::BatchLoader loader({data.images, data.labels}, options,
                           [](std::vector<Tensor>& batch) { batch[0] = batch[0].unsqueeze(1).to(kFloat).div_(255); });
  const Stream side(kDevice);
  data::DeviceFeeder feeder(loader, side);
  std::vector<Tensor> sums;
  for (const auto& batch : batches) {
    const auto found = feeder.next();
    REQUIRE(found.has_value());
    sums.push_back((*found)[0] * 2);  // read after the memory is free again
    CHECK(testing::identical((*found)[1].cpu(), batch[1]));
  }
  CHECK_FALSE(feeder.next().has_value());
  for (std::size_t i = 0; i < batches.size(); ++i) CHECK(testing::identical(sums[i].cpu(), batches[i][0] * 2));
}

TEST_CASE("memory statistics of a device") {
  if (!has_devices(1)) {
    CHECK_THROWS_AS(cuda::memory_allocated(), Error);
    return;
  }
  synchronize(kDevice);
  cuda::empty_cache();
  cuda::reset_peak_memory_stats(0);
  const int64_t before = cuda::memory_allocated(0), reserved = cuda::memory_reserved(0);
  CHECK(cuda::max_memory_allocated(0) == before);
  {
    const Tensor x = empty({int64_t{1} << 22}, TensorOptions(kDevice));
    CHECK(cuda::memory_allocated(0) == before + (16 << 20));
    CHECK(cuda::memory_reserved(0) >= reserved);
  }
  CHECK(cuda::memory_allocated(0) == before);
  CHECK(cuda::max_memory_allocated(0) == before + (16 << 20));
  CHECK(cuda::max_memory_reserved(0) >= cuda::memory_reserved(0));
  cuda::reset_peak_memory_stats();
  CHECK(cuda::max_memory_allocated() == before);
  cuda::empty_cache();
  CHECK(cuda::memory_reserved(0) == reserved);
}

TEST_CASE("copies between the host and a device, across dtypes and strides") {
  if (!has_devices(1)) return;
  const Tensor m = arange(24).view({4, 6});
  for (const bool non_blocking : {false, true})
    for (const Tensor& x : {m, m.t(), m.to(kFloat).pin_memory(), m.to(kUInt8)})
      for (const ScalarType dtype : {kLong, kFloat, kDouble, kUInt8}) {
        const Tensor there = x.to(kDevice, dtype, non_blocking);
        CHECK(testing::identical(there.cpu(), x.to(dtype).contiguous()));
        CHECK(testing::identical(there.t().to(Device("cpu:0"), x.dtype()), x.t().contiguous()));
        Tensor target = zeros({4, 6}, TensorOptions(kDevice).dtype(dtype));
        target.copy_(x.sizes() == target.sizes() ? x : x.t(), non_blocking);
        CHECK(testing::identical(target.cpu(), (x.sizes() == target.sizes() ? x : x.t()).to(dtype).contiguous()));
      }
}
