// CUDA's indexed reads and writes against the CPU's, bit for bit: both apply writes in index order.
#include <doctest/doctest.h>

#include <cmath>

#include "tandem/core/backend/index.h"
#include "tandem/tests/cuda/on_device.h"
#include "tandem/tests/cuda/skip.h"

using namespace tandem;

namespace {

using Inputs = std::vector<Tensor>;

Tensor numbers(IntArrayRef sizes, ScalarType dtype = kFloat) {
  if (dtype == kBool) return randint(2, sizes).to(kBool);
  if (is_floating_point(dtype)) return randn(sizes, dtype);
  return randint(100, sizes, dtype);
}
// Indices that name few elements, each of them often.
Tensor crowded(IntArrayRef sizes, int64_t size) { return randint(size, sizes).mul(randint(2, sizes)); }

void check_put(int64_t lines, int64_t count, int64_t size, ScalarType dtype) {
  CAPTURE(lines);
  CAPTURE(count);
  CAPTURE(dtype);
  const Tensor out = numbers({size, lines}, dtype), source = numbers({lines, count}, dtype).t();
  const Tensor offsets = crowded({count}, size) * lines;
  const Tensor at = alias(out, {1, lines}, {0, 1}, 0);
  same_bits(at, {offsets, source},
            [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.put(o, 0, in[0], in[1]); });
  if (dtype == kHalf) return;
  same_bits(at, {offsets, source},
            [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.put_add(o, 0, in[0], in[1]); });
}

void check_scatter(IntArrayRef sizes, int64_t dim, int64_t size, ScalarType dtype) {
  CAPTURE(sizes.size());
  CAPTURE(dim);
  CAPTURE(dtype);
  Dims out_sizes(sizes);
  out_sizes[static_cast<std::size_t>(dim)] = size;
  for (auto& s : out_sizes) s += 1;  // larger than the index
  const Tensor out = numbers(out_sizes, dtype), source = numbers(sizes, dtype), index = crowded(sizes, size);
  const auto run = [&](auto kernel) {
    same_bits(out, {index, source},
              [&](const Backend& b, const Tensor& o, const Inputs& in) { (b.index.*kernel)(o, dim, in[0], in[1]); });
  };
  run(&IndexKernels::scatter);
  if (dtype != kHalf) run(&IndexKernels::scatter_add);
}

}  // namespace

TEST_CASE("put and put_add: many lines, and few lines with a long index") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble, kLong, kByte, kBool, kHalf}) {
    check_put(5, 7, 4, dtype);
    check_put(3, 1000, 10, dtype);
  }
  check_put(1, 3000, 1, kFloat);
  check_put(33000, 40, 3, kFloat);
}

TEST_CASE("scatter and scatter_add along each dimension") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble, kInt, kShort, kBool, kHalf})
    for (int64_t dim = 0; dim < 3; ++dim) {
      check_scatter({6, 5, 7}, dim, 3, dtype);
      check_scatter({50, 60, 41}, dim, 9, dtype);
    }
  check_scatter({2000}, 0, 5, kFloat);
  check_scatter({180, 190, 2}, 2, 5, kFloat);
}

TEST_CASE("scatter_add between tensors of any strides") {
  if (!has_devices(1)) return;
  const Tensor out = randn({8, 40}).t(), source = randn({50, 6, 2}).select(2, 1), index = crowded({6, 50}, 40).t();
  same_bits(out, {index, source},
            [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.scatter_add(o, 0, in[0], in[1]); });
}

TEST_CASE("an index out of range is reported, and writes nothing") {
  if (!has_devices(1)) return;
  const Device device("cuda:0");
  for (const int64_t count : {4, 100}) {
    Tensor index = zeros({count}, kLong);
    index[count - 1] = 3;
    index[1] = -1;
    const Tensor out = on_device(zeros({3})), source = on_device(ones({count}));
    backend(device).index.scatter_add(out, 0, on_device(index), source);
    CHECK_THROWS_WITH_AS(tandem::synchronize(device), doctest::Contains("scatter_add: index "), IndexError);
    tandem::synchronize(device);  // the error is reported once
    CHECK(testing::identical(on_host(out), tensor({static_cast<float>(count - 2), 0.f, 0.f})));
    const Tensor read = on_device(ones({count}));
    backend(device).index.gather(read, on_device(ones({3})), 0, on_device(index));
    CHECK_THROWS_WITH_AS(tandem::synchronize(device), doctest::Contains("dimension 0 with size 3"), IndexError);
    CHECK(on_host(read).sum().item<float>() == static_cast<float>(count - 2));
  }
}

TEST_CASE("an index into an empty dimension is rejected immediately") {
  if (!has_devices(1)) return;
  const int64_t dims[] = {1}, sizes[] = {0}, strides[] = {1};
  const Tensor at = on_device(zeros({3}, kLong)), out = on_device(zeros({3}, kLong));
  const IndexedDims bounds{.operation = "index", .dims = dims, .sizes = sizes, .strides = strides, .wrap = true};
  CHECK_THROWS_WITH_AS(backend(kCUDA).index.offsets(out, at, bounds), doctest::Contains("dimension with size 0"),
                       IndexError);
}

TEST_CASE("offsets and get") {
  if (!has_devices(1)) return;
  const Tensor first = randint(5, {4, 1}), second = randint(6, {3}) - 6;
  const int64_t dims[] = {0, 1}, sizes[] = {5, 6}, strides[] = {60, 10};
  const auto offsets = [&](const Backend& b, const Tensor& o, const Inputs& in) {
    b.index.offsets(o, in, {.operation = "index", .dims = dims, .sizes = sizes, .strides = strides, .wrap = true});
  };
  same_bits(empty({4, 3}, kLong), {first, second}, offsets);
  for (const ScalarType dtype : {kFloat, kByte, kShort, kDouble})
    for (const int64_t row : {1, 3, 16, 64}) {
      const Tensor table = numbers({9, row}, dtype), at = randint(9, {7}) * row;
      same_bits(empty({7, row}, dtype), {alias(table, {7, row}, {0, 1}, 0), alias(at, {7, row}, {1, 0}, 0)},
                [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.get(o, in[0], in[1]); });
    }
  // Rows that do not start at 16-byte boundaries.
  const Tensor table = randn({9 * 7 + 16}), at = randint(9, {7}) * 7;
  same_bits(empty({7, 16}), {alias(table, {7, 16}, {0, 1}, 0), alias(at, {7, 16}, {1, 0}, 0)},
            [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.get(o, in[0], in[1]); });
}

TEST_CASE("gather along each dimension") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kBool, kHalf, kLong})
    for (int64_t dim = 0; dim < 2; ++dim) {
      const Tensor in = numbers({9, 11}, dtype).t();
      same_bits(empty({7, 8}, dtype), {in, randint(7, {8, 7}).t()},
                [&](const Backend& b, const Tensor& o, const Inputs& x) { b.index.gather(o, x[0], dim, x[1]); });
    }
}

TEST_CASE("nonzero and its count") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kHalf, kBool, kLong, kByte, kDouble})
    for (const int64_t n : {1, 31, 4096, 4097, 30000}) {
      Tensor x = (randint(3, {n, 2}) - 1).to(dtype);
      if (dtype == kDouble) x[0][0] = NAN;
      const int64_t count = backend(kCPU).index.count_nonzero(x);
      CHECK(backend(kCUDA).index.count_nonzero(on_device(x)) == count);
      if (dtype == kFloat) CHECK(backend(kCUDA).index.count_nonzero(on_device(-zeros({n}))) == 0);
      for (const Tensor& shaped : {x, x.view({2 * n}), x.view({1, n, 2, 1})})
        same_bits(empty({count, shaped.dim()}, kLong), {shaped},
                  [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.nonzero(o, in[0]); });
    }
  const Tensor many = randint(2, {1300000});  // more tiles than threads in the block that sums their counts
  const int64_t count = backend(kCPU).index.count_nonzero(many);
  CHECK(backend(kCUDA).index.count_nonzero(on_device(many)) == count);
}

TEST_CASE("cat of many dense parts with widths that no wide unit divides") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kByte, kDouble, kHalf})
    for (const int64_t unit : {1, 2, 16})
      for (int64_t dim = 0; dim < 3; ++dim) {
        Inputs parts;
        int64_t sum = 0;
        for (int64_t j = 0; j < 200; ++j) {
          Dims sizes{unit, 3, 2 * unit};
          sizes[static_cast<std::size_t>(dim)] = j % 5 * unit;
          sum += j % 5 * unit;
          parts.push_back(numbers(sizes, dtype));
        }
        Dims sizes{unit, 3, 2 * unit};
        sizes[static_cast<std::size_t>(dim)] = sum;
        same_bits(empty(sizes, dtype), parts,
                  [&](const Backend& b, const Tensor& o, const Inputs& in) { b.index.cat(o, in, dim); });
      }
  same_bits(alias(empty({81}), {4, 20}, {20, 1}, 1), {randn({4, 8}), randn({4, 12})},  // not 16-byte aligned
            [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.cat(o, in, 1); });
  same_bits(empty({5, 9}), {randn({3, 5}).t(), randn({5, 6})},  // with a part that is copied
            [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.cat(o, in, 1); });
  same_bits(empty({70, 1000}), {randn({30, 1000}), randn({40, 1000})},
            [](const Backend& b, const Tensor& o, const Inputs& in) { b.index.cat(o, in, 0); });
}

TEST_CASE("triangles") {
  if (!has_devices(1)) return;
  for (const bool upper : {false, true})
    for (const int64_t diagonal : {-100, -2, 0, 1, 100})
      for (const Tensor& x : {randn({3, 5, 7}), randn({3, 7, 5}).transpose(1, 2), randn({1, 4}), randn({4, 1})})
        same_bits(empty(x.sizes()), {x}, [&](const Backend& b, const Tensor& o, const Inputs& in) {
          b.index.triangle(o, in[0], diagonal, upper);
        });
}
