// Dtypes in PyTorch's .pt files, and tensors there that are marked as conjugated or negated.
#include <doctest/doctest.h>

#include <string>

#include "tandem/autograd/ops.h"
#include "tandem/nn/files/pt/pt.h"
#include "tandem/tests/nn/files/pt_pickles.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;
using test::says;
using test::text;
using test::window;

namespace {

const std::string conjugated = "}" + text("conj") + "\x88s", negated = "}" + text("neg") + "\x88s";

// The pickle of a tensor, as window() returns it, with metadata.
std::string marked(std::string pickle, const std::string& metadata) {
  return pickle.insert(pickle.size() - 2, metadata);  // before the end of the arguments, tR
}

// The value of a pickle with the storage {1, 2}.
IValue value_of(const std::string& pickle) {
  const float elements[] = {1, 2};
  const std::string file =
      test::archive("\x80\x02" + pickle + ".", {reinterpret_cast<const char*>(elements), sizeof elements});
  return serialize::parse_pt(file.data(), file.size(), "x.pt");
}
Tensor read(const std::string& pickle, const std::string& metadata) {
  return value_of(marked(pickle, metadata)).toTensor();
}

}  // namespace

TEST_CASE("tensors of all dtypes survive a round trip") {
  for (const ScalarType dtype : kAllDtypes) {
    CAPTURE(dtype);
    const Tensor base = arange(6, kFloat).view({2, 3}).to(dtype);
    const Tensor given = is_differentiable(dtype) ? base.t().requires_grad_(true) : base.t();
    OrderedDict<std::string, Tensor> state;
    state.insert("x", given);
    state.insert("row", base[1]);
    GenericDict dict;
    for (const auto& item : state) dict.insert(item.key(), item.value());
    const std::vector<char> file = pickle_save(IValue(dict));
    const auto back = serialize::state_dict_of(pickle_load(file));
    CHECK_EQ(back["x"].dtype(), dtype);
    CHECK_EQ(back["x"].strides(), given.strides());
    CHECK_EQ(back["x"].requires_grad(), given.requires_grad());
    CHECK(back["x"].storage().is_alias_of(back["row"].storage()));
    CHECK(back["x"].detach().contiguous().view(kByte).equal(given.detach().contiguous().view(kByte)));
  }
}

TEST_CASE("what PyTorch has conjugated or negated lazily is read as its values") {
  const std::string real = window(2, 0, {2}, {1}), complex = window(1, 0, {1}, {1}, "ComplexFloatStorage");
  CHECK(read(real, "}").equal(tensor({1.f, 2.f})));
  CHECK(read(real, "N").equal(tensor({1.f, 2.f})));
  CHECK(read(real, negated).equal(tensor({-1.f, -2.f})));
  CHECK(view_as_real(read(complex, "}")).equal(tensor({1.f, 2.f}).view({1, 2})));
  CHECK(view_as_real(read(complex, conjugated)).equal(tensor({1.f, -2.f}).view({1, 2})));
  CHECK(view_as_real(read(complex, "}(" + text("conj") + "\x88" + text("neg") + "\x88u"))
            .equal(tensor({-1.f, 2.f}).view({1, 2})));
  const auto refused = [&](const std::string& pickle, const std::string& metadata) {
    return error_of([&] { read(pickle, metadata); });
  };
  CHECK(says(refused(real, conjugated), "cannot be conjugated or negated"));
  CHECK(says(refused(window(1, 0, {1}, {1}, "LongStorage"), negated), "cannot be conjugated or negated"));
  CHECK(says(refused(real, "}" + text("other") + "\x88s"), "other metadata than conj and neg"));
  CHECK(says(refused(real, "]"), "are not a dictionary"));
}

TEST_CASE("the last value of a mark counts") {
  const std::string real = window(2, 0, {2}, {1}), key = text("neg");
  CHECK(read(real, "}(" + key + "\x88" + key + "\x89u").equal(tensor({1.f, 2.f})));
  CHECK(read(real, "}(" + key + "\x88" + key + "\x88u").equal(tensor({-1.f, -2.f})));
  CHECK(read(real, "}(" + text("conj") + "\x88" + text("conj") + "\x89u").equal(tensor({1.f, 2.f})));
}

TEST_CASE("marked tensors keep their strides and what they share") {
  // As PyTorch writes z.conj().imag.expand(4): a real tensor within a complex storage.
  const Tensor expanded = read(window(2, 1, {4}, {0}), negated);
  CHECK_EQ(expanded.strides(), IntArrayRef({0}));
  CHECK(expanded.equal(full({4}, -2.f)));
  const std::string whole = marked(window(2, 0, {2}, {1}), negated), tail = marked(window(2, 1, {1}, {1}), negated);
  const std::vector<IValue> items = value_of("](" + whole + tail + window(2, 0, {2}, {1}) + "e").toListRef();
  CHECK(items[0].toTensor().equal(tensor({-1.f, -2.f})));
  CHECK(items[1].toTensor().equal(tensor({-2.f})));
  CHECK(items[0].toTensor().storage().is_alias_of(items[1].toTensor().storage()));
  CHECK(items[2].toTensor().equal(tensor({1.f, 2.f})));  // not marked
  CHECK(value_of("ctorch._utils\n_rebuild_parameter\n(" + whole + "\x88}tR").toTensor().requires_grad());
}

TEST_CASE("marks cost no more memory than the storage") {
  const int64_t huge = int64_t{1} << 40;
  const Tensor one = read(window(2, 1, {huge}, {0}), negated);
  CHECK_EQ(one.numel(), huge);
  CHECK_EQ(one.storage().nbytes(), 2 * sizeof(float));
  CHECK_EQ(one[huge - 1].item<float>(), -2);
  const Tensor complex = read(window(1, 0, {huge}, {0}, "ComplexFloatStorage"), conjugated);
  CHECK_EQ(complex.storage().nbytes(), 2 * sizeof(float));
  // One large dictionary of marks for many tensors.
  std::string marks = "}(";
  for (int i = 0; i < 2000; ++i) marks += text("neg") + "\x88";
  std::string many = marks + "uq\1" + "0](";
  for (int i = 0; i < 2000; ++i) many += marked(window(2, 0, {1}, {1}), "h\1");
  CHECK(says(error_of([&] { value_of(many + "e"); }), "copies too many values"));
}
