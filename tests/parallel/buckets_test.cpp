// How parameters are grouped into buckets, where each lies, and in which order buckets start.
#include "tandem/parallel/shared/buckets.h"

#include <doctest/doctest.h>

#include "tandem/nn/flat.h"
#include "tandem/tests/parallel/logical_devices.h"

using namespace tandem;
using namespace tandem::parallel;

namespace {

using Groups = std::vector<std::vector<std::size_t>>;

std::vector<Tensor> floats(std::initializer_list<int64_t> sizes) {
  std::vector<Tensor> out;
  for (const int64_t n : sizes) out.push_back(zeros({n}));
  return out;
}

}  // namespace

TEST_CASE("parameters begin at multiples of 64 bytes, in a buffer of their dtype and device") {
  const LogicalDevices devices(2);
  std::vector<Tensor> parameters = floats({1, 16, 17, 15, 2});
  parameters.push_back(zeros({2, 4}, TensorOptions(kDouble).device(cpu_device(1))));
  const std::vector<Bucket> buckets = make_buckets(parameters, {0, 1, 2, 3, 4, 5}, 1 << 20, 1 << 20);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].buffer.sizes() == Dims{16 + 16 + 32 + 16 + 16});
  const float* base = buckets[0].buffer.data_ptr<float>();
  const int64_t begin[] = {0, 16, 32, 64, 80};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(buckets[0].views[i].data_ptr<float>() == base + begin[i]);
    CHECK(buckets[0].views[i].sizes() == parameters[i].sizes());
  }
  CHECK(buckets[1].buffer.sizes() == Dims{8});
  CHECK(buckets[1].buffer.dtype() == kDouble);
  CHECK(buckets[1].buffer.device() == cpu_device(1));
  CHECK(buckets[1].views[0].sizes() == Dims{2, 4});
}

TEST_CASE("a group ends once it holds its bytes; the first one has its own limit") {
  const std::vector<Tensor> parameters = floats({1, 1, 1, 1, 1, 1, 1});  // 64 bytes each
  const std::vector<std::size_t> order = backward_order(parameters.size());
  CHECK(order == std::vector<std::size_t>{6, 5, 4, 3, 2, 1, 0});
  CHECK(group_parameters(parameters, order, 128, 192) == Groups{{6, 5}, {4, 3, 2}, {1, 0}});
  CHECK(group_parameters(parameters, order, 129, 191) == Groups{{6, 5, 4}, {3, 2, 1}, {0}});
  CHECK(group_parameters(parameters, order, 1, 1 << 20) == Groups{{6}, {5, 4, 3, 2, 1, 0}});
}

TEST_CASE("consecutive parameters of one dtype and device share a group") {
  const LogicalDevices devices(2);
  const TensorOptions other = TensorOptions(kFloat).device(cpu_device(1));
  const std::vector<Tensor> parameters{zeros({1}),        zeros({1}, kDouble), zeros({1}, kDouble), zeros({1}),
                                       zeros({1}, other), zeros({1}, other),   zeros({1})};
  CHECK(group_parameters(parameters, {0, 1, 2, 3, 4, 5, 6}, 1 << 20, 1 << 20) == Groups{{0}, {1, 2}, {3}, {4, 5}, {6}});
}

TEST_CASE("buckets of flat parameters follow each other from the end of the buffer to its front") {
  const nn::FlatParameters flat(floats({16, 32, 16, 48}));
  const std::vector<Bucket> buckets = cut_buckets(flat, 193, 256);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].parameters == std::vector<std::size_t>{3, 2});
  CHECK(buckets[1].parameters == std::vector<std::size_t>{1, 0});
  const int64_t begin[] = {48, 0}, size[] = {64, 48};
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(buckets[k].begin == begin[k]);
    CHECK(buckets[k].buffer.numel() == size[k]);
    CHECK(buckets[k].buffer.data_ptr<float>() == flat.grad().data_ptr<float>() + begin[k]);
  }
  const std::vector<BucketPlace> places = places_of(buckets, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(places[i].bucket == 1 - i / 2);
    CHECK(places[i].index == 1 - i % 2);
  }
  CHECK(cut_buckets(flat, 192, 256)[0].parameters == std::vector<std::size_t>{3});
}

TEST_CASE("buckets start in their order, whichever is complete first") {
  const std::vector<Bucket> buckets = make_buckets(floats({1, 1, 1}), {0, 1, 2}, 1, 128);
  REQUIRE(buckets.size() == 2);
  std::vector<std::size_t> started;
  const auto start = [&](std::size_t bucket) { started.push_back(bucket); };
  BucketQueue queue;
  for (int pass = 0; pass < 2; ++pass) {
    started.clear();
    queue.begin(buckets);
    CHECK(queue.started() == 0);
    queue.arrived(1);
    queue.arrived(1);
    queue.start_complete(start);
    CHECK(started.empty());
    CHECK(!queue.all_started());
    queue.arrived(0);
    queue.start_complete(start);
    CHECK(started == std::vector<std::size_t>{0, 1});
    CHECK(queue.all_started());
  }
}

TEST_CASE("a replica's parameter may receive several gradients until its bucket is complete") {
  const std::vector<Bucket> buckets = make_buckets(floats({1, 1, 1}), {0, 1, 2}, 1, 128);
  std::vector<std::size_t> started;
  const auto start = [&](std::size_t bucket) { started.push_back(bucket); };
  ReplicaArrivals arrivals;
  for (int pass = 0; pass < 2; ++pass) {
    started.clear();
    arrivals.begin(buckets);
    arrivals.arriving(0);
    arrivals.arrived(0, start);
    CHECK(started == std::vector<std::size_t>{0});
    CHECK_THROWS_WITH_AS(arrivals.arriving(0), doctest::Contains("parameter 0 would receive another gradient"), Error);
    for (const std::size_t parameter : {1, 1, 1}) {
      arrivals.arriving(parameter);
      arrivals.arrived(parameter, start);
    }
    CHECK(started.size() == 1);
    arrivals.start_all(start);
    CHECK(started == std::vector<std::size_t>{0, 1});
    CHECK_THROWS_AS(arrivals.arriving(2), Error);
  }
}
