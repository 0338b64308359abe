// Communication: values, gradients, errors.
#include "tandem/parallel/shared/device_copies.h"

#include <doctest/doctest.h>

#include "tandem/core/logical_devices.h"

#include "tandem/testing.h"
#include "tandem/tests/parallel/logical_devices.h"

using namespace tandem;
using namespace tandem::parallel;
using testing::identical;

namespace {
using Sizes = std::vector<int64_t>;
}

TEST_CASE("chunk sizes as in the DataParallel tour") {
  CHECK(chunk_sizes(30, 1) == Sizes{30});
  CHECK(chunk_sizes(30, 2) == Sizes{15, 15});
  CHECK(chunk_sizes(30, 3) == Sizes{10, 10, 10});
  CHECK(chunk_sizes(10, 3) == Sizes{4, 4, 2});
  CHECK(chunk_sizes(30, 8) == Sizes{4, 4, 4, 4, 4, 4, 4, 2});
  CHECK(chunk_sizes(10, 8) == Sizes{2, 2, 2, 2, 2});
  CHECK(chunk_sizes(0, 4) == Sizes{0});
  CHECK(balanced_sizes(10, 8) == Sizes{2, 2, 1, 1, 1, 1, 1, 1});
  CHECK(balanced_sizes(3, 8) == Sizes{1, 1, 1});
}

TEST_CASE("scatter splits, gather joins") {
  LogicalDevices three(3);
  const Tensor x = arange(20).reshape({4, 5}).to(kDouble);
  const auto rows = scatter(x, {cpu_device(0), cpu_device(1)});
  CHECK(identical(rows[0], x.narrow(0, 0, 2)));
  CHECK(identical(rows[1], x.narrow(0, 2, 2)));
  CHECK(rows[1].device() == cpu_device(1));
  CHECK(identical(gather(rows, cpu_device(2)), x));
  CHECK(gather(rows, cpu_device(2)).device() == cpu_device(2));
  const auto columns = scatter(x, {cpu_device(2), cpu_device(0)}, {1, 4}, 1);
  CHECK(identical(columns[0], x.narrow(1, 0, 1)));
  CHECK(identical(gather(columns, cpu_device(0), 1), x));
  CHECK(scatter(x, cpu_devices(3)).size() == 2);
  const Tensor numbers = gather({tensor(1.0), tensor(2.0).to(cpu_device(1))}, cpu_device(0));
  CHECK(identical(numbers, tensor({1.0, 2.0})));
}

TEST_CASE("gradients of scatter and gather equal those of chunk and cat") {
  LogicalDevices three(3);
  const Tensor x = randn({7, 3}, kDouble).requires_grad_();
  const auto f = [](const std::vector<Tensor>& in) {
    auto pieces = scatter(in[0], cpu_devices(3));
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = pieces[i].pow(2 + static_cast<int>(i));
    return std::vector<Tensor>{gather(pieces, cpu_device(1))};
  };
  testing::gradcheck(f, {x});
  testing::gradgradcheck(f, {x});
}

TEST_CASE("broadcast and reduce") {
  LogicalDevices four(4);
  const Tensor x = randn({3, 2}).requires_grad_(), w = randn({5}).requires_grad_(), n = arange(4);
  const auto copies = broadcast_coalesced({x, n, w}, cpu_devices(4));
  for (int i = 0; i < 4; ++i) {
    const auto& list = copies[static_cast<std::size_t>(i)];
    CHECK((identical(list[0], x) && identical(list[1], n) && identical(list[2], w)));
    CHECK((list[0].device() == cpu_device(i) && list[1].device() == cpu_device(i)));
  }
  CHECK(copies[0][0].is_same(x));
  Tensor sum = reduce_add({copies[0][0] * 1, copies[1][0] * 2, copies[2][0] * 3, copies[3][0] * 4}, cpu_device(2));
  CHECK(sum.device() == cpu_device(2));
  sum.sum().backward();
  CHECK(identical(x.grad(), full({3, 2}, 10.0f)));
  const auto sums = reduce_add_coalesced(copies, cpu_device(1));
  CHECK(identical(sums[1], arange(4) * 4));
  CHECK(testing::close(sums[2].detach().cpu(), w.detach() * 4, 1e-6));
}

TEST_CASE("all_reduce: [1, 1] and [2, 2] become [3, 3] on both") {
  LogicalDevices two(2);
  const Tensor a = ones({1, 2}), b = full({1, 2}, 2.0f).to(cpu_device(1));
  all_reduce({a, b});
  CHECK(identical(a, full({1, 2}, 3.0f)));
  CHECK(identical(b, full({1, 2}, 3.0f)));
  CHECK(b.device() == cpu_device(1));
  const std::vector<Tensors> lists{{ones({3}), arange(2)},
                                   {full({3}, 5.0f).to(cpu_device(1)), arange(2).to(cpu_device(1))}};
  all_reduce_coalesced(lists);
  for (const Tensors& list : lists) {
    CHECK(identical(list[0], full({3}, 6.0f)));
    CHECK(identical(list[1], arange(2) * 2));
  }
}

TEST_CASE("errors state the reason") {
  LogicalDevices two(2);
  const Tensor x = ones({4, 2});
  const auto says = [](auto&& f, const char* text) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(f(), doctest::Contains(text), Error);
  };
  says([&] { scatter(x, ArrayRef<Device>()); }, "scatter: no devices given");
  says([&] { scatter(x, {cpu_device(0), cpu_device(0)}); }, "scatter: device cpu:0 appears twice");
  says([&] { scatter(x, {cpu_device(0), cpu_device(5)}); }, "no device cpu:5: this process has 2 logical CPU devices");
  says([&] { scatter(x, cpu_devices(2), {1, 2}); }, "sum to 3, but dimension 0");
  says([&] { scatter(x, cpu_devices(2), Sizes{4}); }, "1 sizes for 2 devices");
  says([&] { scatter(tensor(1.0), cpu_devices(2)); }, "scatter: expected at least 1 dimension");
  says([&] { gather(TensorList(), cpu_device(0)); }, "gather: no tensors");
  const std::vector<Tensor> second_undefined{x, Tensor()};
  says([&] { gather(second_undefined, cpu_device(0)); }, "gather: tensor 1 of 2 is undefined");
  says([&] { scatter(Tensor(), cpu_devices(2)); }, "scatter: the tensor is undefined");
  says([&] { scatter(Tensor(), cpu_devices(2), {1, 2}); }, "scatter: the tensor is undefined");
  says([&] { broadcast(Tensor(), cpu_devices(2)); }, "broadcast: the tensor is undefined");
  says([&] { broadcast_coalesced(second_undefined, cpu_devices(2)); }, "coalesced: tensor 1 of 2 is undefined");
  says([&] { reduce_add(second_undefined, cpu_device(0)); }, "reduce_add: tensor 1 of 2 is undefined");
  says([&] { reduce_add_coalesced({second_undefined}, cpu_device(0)); }, "tensor 1 of 2 is undefined");
  says([&] { all_reduce(second_undefined); }, "all_reduce: tensor 1 of 2 is undefined");
  says([&] { reduce_add({x, ones({4})}, cpu_device(0)); }, "reduce_add: tensors differ in shape or dtype");
  says([&] { reduce_add_coalesced({{x}, {}}, cpu_device(0)); }, "lists differ in length: 1 and 0 tensors");
}

TEST_CASE("set_logical_devices sets and validates the count of devices") {
  LogicalDevices one(1);
  set_logical_devices(kCPU, 3);
  CHECK(device_count(kCPU) == 3);
  CHECK(resolve(cpu_device(2)) == cpu_device(2));
  CHECK_THROWS_WITH_AS(set_logical_devices(kCPU, 0), doctest::Contains("expected 1 to 64"), Error);
  CHECK_THROWS_AS(set_logical_devices(kCUDA, 65), Error);
  set_logical_devices(kCPU, 1);
}
