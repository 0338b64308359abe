// Reading safetensors files into given tensors that share memory, and into several large ones.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using serialize::load_safetensors;
using serialize::save_safetensors;
using test::error_of;
using test::says;
using test::TempFolder;

namespace {

using State = OrderedDict<std::string, Tensor>;

}  // namespace

TEST_CASE("parameters that share memory, or are not contiguous") {
  const TempFolder folder;
  const Tensor base = zeros({4, 6});
  const State state{
      {"a", arange(24, kFloat).view({4, 6})}, {"b", ones({2, 6})}, {"c", arange(24, kFloat).view({6, 4})}};
  save_safetensors(folder / "x.safetensors", state);
  const serialize::SafeTensorsReader reader(folder / "x.safetensors");
  const Tensor transposed = zeros({4, 6}).t();
  reader.read_into({{0, base}, {1, base.narrow(0, 1, 2)}, {2, transposed}});
  CHECK(equal(base.narrow(0, 1, 2), state["b"]));  // the later one counts
  CHECK(equal(base.narrow(0, 3, 1), state["a"].narrow(0, 3, 1)));
  CHECK(equal(transposed, state["c"]));
  CHECK(says(error_of([&] { reader.read_into({{1, base}}); }), "has shape [2, 6], its target [4, 6]"));
}

TEST_CASE("the last of several targets in the same memory counts, whatever its dtype") {
  const TempFolder folder;
  const State state{
      {"a", arange(24, kFloat).view({4, 6})}, {"b", full({2, 6}, -1.0, kDouble)}, {"c", full({6}, -2.0, kFloat)}};
  save_safetensors(folder / "x.safetensors", state);
  const serialize::SafeTensorsReader reader(folder / "x.safetensors");
  const auto expect = [](const Tensor& base, std::initializer_list<double> firsts) {
    int64_t i = 0;
    for (const double first : firsts) CHECK(base[i++][0].item<double>() == first);
  };
  // Elements of the file's dtype are read before those that are converted, unless they overlap.
  const Tensor base = zeros({4, 6}, TensorOptions(kDouble)), other = base.clone(), third = base.clone();
  reader.read_into({{0, base}, {1, base.narrow(0, 1, 2)}});
  expect(base, {0, -1, -1, 18});
  reader.read_into({{1, other.narrow(0, 1, 2)}, {0, other}});
  expect(other, {0, 6, 12, 18});
  // The first range reaches beyond the second one, and the second beyond the third.
  const serialize::SafeTensorsReader::Target row{2, third[0]}, rows{1, third.narrow(0, 1, 2)}, inner{2, third[2]};
  reader.read_into({row, inner, rows});
  expect(third, {-2, -1, -1, 0});
  reader.read_into({row, rows, inner});
  expect(third, {-2, -1, -2, 0});
  // A target with gaps has the memory of all of its storage.
  const Tensor gaps = zeros({6, 4}).t(), flat = gaps.t().view({-1});
  reader.read_into({{0, gaps}, {2, flat.narrow(0, 6, 6)}});
  CHECK(equal(flat.narrow(0, 6, 6), state["c"]));
  CHECK(flat[12].item<float>() == 3);
  Tensor wide = zeros({8, 6}, TensorOptions(kDouble));
  reader.read_into({{0, wide.narrow(0, 0, 4)}, {2, wide[0]}, {1, wide.narrow(0, 2, 2)}});
  expect(wide, {-2, 6, -1, -1, 0});
}

TEST_CASE("large tensors of one file have their own elements, and their memory is counted and freed") {
  const TempFolder folder;
  State state;
  int64_t bytes = 0;
  for (const int64_t size : {65'536, 65'537, 70'401, 70'400, 70'463, 1, 300'001}) {
    const Tensor t = arange(size, kInt).add(bytes).remainder(251).to(kByte);
    state.insert(std::to_string(size), t);
    bytes += size;
  }
  state.insert("converted", arange((1 << 20) + 7, kFloat).remainder(2048).to(kHalf));
  save_safetensors(folder / "x.safetensors", state);
  const int64_t before = memory_stats(Device(kCPU)).current_bytes;
  {
    std::vector<Tensor> read;
    for (const auto& item : load_safetensors(folder / "x.safetensors").tensors) read.push_back(item.value());
    CHECK(memory_stats(Device(kCPU)).current_bytes - before >= bytes);
    read[2].reset();
    read[6].reset();
    for (std::size_t i = 0; i < read.size(); ++i) {
      CAPTURE(i);
      if (!read[i].defined()) continue;
      CHECK(equal(read[i], state[i].value()));
      CHECK(reinterpret_cast<std::uintptr_t>(read[i].data_ptr()) % 64 == 0);
    }
  }
  CHECK(memory_stats(Device(kCPU)).current_bytes == before);
  const serialize::SafeTensorsReader reader(folder / "x.safetensors");
  const Tensor target = zeros({(1 << 20) + 7});
  reader.read_into({{7, target}});
  CHECK(equal(target, state["converted"].to(kFloat)));
}

TEST_CASE("bools that are none are refused before anything is changed") {
  const TempFolder folder;
  const std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                             R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[2,4]}})";
  const uint64_t size = header.size();
  test::write_file(folder / "x.safetensors",
                   std::string(reinterpret_cast<const char*>(&size), 8) + header + std::string("\7\2\1\2", 4));
  const serialize::SafeTensorsReader reader(folder / "x.safetensors");
  const Tensor a = zeros({2}, TensorOptions(kByte)), b = zeros({2}, TensorOptions(kBool));
  CHECK(says(error_of([&] { reader.read_into({{0, a}, {1, b}}); }), "tensor 'b' is BOOL, but its element 1 is 2"));
  CHECK(equal(a, zeros({2}, TensorOptions(kByte))));
  errno = EINTR;  // of an earlier call
  reader.read_into({{0, a}});
  CHECK(a[0].item<int64_t>() == 7);
}
