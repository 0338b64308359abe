// save and load of tensors, modules and optimizers.
#include "tandem/nn/serialize.h"
#include "tandem/autograd/ops.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/optim/adam.h"
#include "tandem/nn/optim/sgd.h"
#include "tandem/nn/sequential.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::TempFolder;

namespace {
float at(const Tensor& t, int64_t i = 0) { return t.data_ptr<float>()[i]; }
}  // namespace

TEST_CASE("modules, tensors and lists survive a round trip through files") {
  const TempFolder folder;
  const std::string path = folder / "net.safetensors";
  nn::Sequential net(nn::Linear(2, 3), nn::Linear(3, 1)), other(nn::Linear(2, 3), nn::Linear(3, 1));
  save(net, path);
  load(other, path);
  CHECK(at(net->forward(ones({1, 2}))) == at(other->forward(ones({1, 2}))));
  auto shared = std::make_shared<nn::LinearImpl>(2, 3);
  CHECK_THROWS_WITH_AS(load(shared, path), doctest::Contains("No such serialized tensor 'weight'"), Error);
  nn::Sequential nested(nn::Linear(2, 3), nn::Linear(3, 1), nn::Sequential(nn::Linear(1, 1)));
  CHECK_THROWS_WITH_AS(load(nested, path), doctest::Contains("No such serialized submodule: '2'\nload_state_dict: "),
                       Error);
  serialize::InputArchive archive;
  archive.load_from(path);
  Tensor none;
  IValue value;
  CHECK_THROWS_WITH_AS(archive.read("none", none), "No such serialized tensor 'none'", Error);
  CHECK_THROWS_WITH_AS(archive.read("none", value), doctest::Contains("does not have a field with name 'none'"), Error);
  CHECK_THROWS_WITH_AS(load(shared, folder / "none"), doctest::Contains("cannot be opened"), Error);

  Tensor t = arange(6, kDouble).view({2, 3}), back;
  save(t, path);
  load(back, path);
  CHECK((back.dtype() == kDouble));
  CHECK(back.sizes() == t.sizes());
  CHECK(back.data_ptr<double>()[5] == 5);

  std::vector<Tensor> list{ones({1}), zeros({2})}, list_back;
  std::stringstream stream;
  save(list, stream);
  load(list_back, stream);
  CHECK(list_back.size() == 2);
  CHECK(list_back[1].numel() == 2);
}

TEST_CASE("an optimizer resumes where it was saved") {
  const auto train = [](nn::Linear& net, optim::Optimizer& optimizer, int steps) {
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      (net(ones({3, 2})) * net(ones({3, 2}))).sum().backward();
      optimizer.step();
    }
  };
  const TempFolder folder;
  nn::Linear a(2, 2), b(2, 2);
  optim::AdamOptions options = optim::AdamOptions(0.03).betas({0.8, 0.9}).amsgrad(true).weight_decay(0.1);
  optim::Adam first(a->parameters(), options), second(b->parameters());
  train(a, first, 3);
  save(a, folder / "net");
  save(first, folder / "optimizer");
  load(b, folder / "net");
  load(second, folder / "optimizer");
  train(a, first, 3);
  train(b, second, 3);
  for (int64_t i = 0; i < 4; ++i) CHECK(at(a->weight, i) == at(b->weight, i));
  CHECK(static_cast<optim::AdamOptions&>(second.param_groups()[0].options()).amsgrad());

  serialize::OutputArchive kept;  // in memory, sharing the tensors of `second`
  second.save(kept);
  serialize::InputArchive given(kept.tensors(), kept.metadata());
  optim::Adam third(a->parameters(), options);
  third.load(given);
  const auto moment = [](optim::Adam& o, const Tensor& p) {
    return static_cast<optim::AdamParamState&>(*o.state().at(p.impl())).exp_avg();
  };
  const float before = at(moment(second, b->weight), 0);
  train(a, third, 1);
  CHECK(at(moment(third, a->weight), 0) != before);
  CHECK(at(moment(second, b->weight), 0) == before);

  optim::SGD sgd(a->parameters(), 0.1);
  CHECK_THROWS_WITH_AS(load(sgd, folder / "optimizer"), doctest::Contains("state belongs to Adam"), Error);
  nn::Linear larger(3, 2);
  optim::Adam wrong(larger->parameters());
  CHECK_THROWS_WITH_AS(load(wrong, folder / "optimizer"), doctest::Contains("has shape"), Error);
  optim::Adam fewer({larger->weight});
  CHECK_THROWS_WITH_AS(load(fewer, folder / "optimizer"), doctest::Contains("with 2 parameters"), Error);
}

TEST_CASE("archives keep values of every kind") {
  const Tensor t = arange(3);
  Dict<std::string, Tensor> dict;
  dict.insert("x", t);
  const IValue nested(
      std::vector<IValue>{IValue(1), IValue("two; {}"), IValue(std::make_tuple(2.5, true)), IValue(dict), IValue()});
  serialize::OutputArchive out;
  out.write("none", IValue());
  out.write("int", IValue(int64_t{-7}));
  out.write("double", IValue(0.1));
  out.write("bool", IValue(true));
  out.write("string", IValue("a:b"));
  out.write("marked", std::string("ivalue:x"));
  out.write("tensor", IValue(t));
  out.write("tensors", std::vector<Tensor>{t, t * 2, Tensor()});
  out.write("ints", IValue(std::vector<int64_t>{1, 2}));
  out.write("doubles", IValue(std::vector<double>{0.5, -0.0}));
  out.write("nested", nested);
  serialize::OutputArchive part(out.compilation_unit());
  part("count", IValue(3));
  out.write("part", part);

  std::string bytes;
  out.save_to([&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  serialize::InputArchive in;
  in.load_from([&](uint64_t at, void* to, std::size_t) { return bytes.copy(static_cast<char*>(to), 100, at); },
               [&] { return bytes.size(); });
  const auto get = [&](const char* key) {
    IValue value;
    in.read(key, value);
    return value;
  };
  CHECK(get("none").isNone());
  CHECK(get("int").toInt() == -7);
  CHECK(get("double").toDouble() == 0.1);
  CHECK(get("bool").toBool());
  int64_t integer = 0;
  double real = 0;
  bool flag = false;
  in.read("int", integer);
  in.read("double", real);
  in.read("bool", flag);
  CHECK(integer == -7);
  CHECK(real == 0.1);
  CHECK(flag);
  CHECK(get("string").toStringRef() == "a:b");
  CHECK(get("marked").toStringRef() == "ivalue:x");
  CHECK(get("tensor").toTensor().equal(t));
  CHECK(get("tensors").toTensorVector()[1].equal(t * 2));
  CHECK(!get("tensors").toTensorVector()[2].defined());
  CHECK(get("ints").toIntVector() == std::vector<int64_t>{1, 2});
  CHECK(std::signbit(get("doubles").toDoubleVector()[1]));
  const std::vector<IValue> list = get("nested").toList();
  CHECK(list[0].toInt() == 1);
  CHECK(list[1].toStringRef() == "two; {}");
  CHECK(list[2].toTupleRef().elements()[0].toDouble() == 2.5);
  CHECK(list[3].toGenericDict().at("x").toTensor().equal(t));
  CHECK(list[4].isNone());
  int64_t number = 0;
  in.read("int", number);
  CHECK(number == -7);
  serialize::InputArchive inner, missing;
  CHECK(in.try_read("part", inner));
  CHECK(!in.try_read("other", missing));
  IValue absent;
  CHECK(!in.try_read("other", absent));
  CHECK(inner.keys() == std::vector<std::string>{"count"});
  std::vector<std::string> keys = in.keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"bool", "double", "doubles", "int", "ints", "marked", "nested", "none", "part",
                                         "string", "tensor", "tensors"});
  CHECK_THROWS_AS(in.read("string", number), Error);
}

TEST_CASE("archives refuse what is not there, and what is of another kind") {
  serialize::OutputArchive out;
  out.write("text", std::string("seven"));
  out.write("half", std::string("7x"));
  out.write("large", std::string(400, '9'));
  out.write("seven", int64_t{7});
  out.write("tensor", ones({2}));
  serialize::InputArchive in(out.tensors(), out.metadata());
  const auto refuses = [&](auto value, const std::string& key, const std::string& what) {
    CHECK_THROWS_WITH_AS(in.read(key, value), doctest::Contains(what.c_str()), Error);
  };
  for (const std::string key : {"none", "tensor"}) {
    const std::string missing = "does not have a field with name '" + key + "'";
    refuses(int64_t{}, key, missing);
    refuses(double{}, key, missing);
    refuses(bool{}, key, missing);
    refuses(std::string(), key, missing);
  }
  for (const std::string key : {"text", "half", "large"}) {
    refuses(int64_t{}, key, "'" + key + "' is not a number");
    refuses(double{}, key, "'" + key + "' is not a number");
    refuses(bool{}, key, "'" + key + "' is neither true nor false");
  }
  refuses(bool{}, "seven", "neither true nor false: '7'");
  refuses(ones({3}), "tensor", "'tensor' has shape [2], expected [3]");
  Tensor target = zeros({2}, TensorOptions(kDouble));
  in.read("tensor", target);
  CHECK(equal(target, ones({2}, kDouble)));
  double seven = 0;
  in.read("seven", seven);
  CHECK(seven == 7);

  serialize::OutputArchive more;
  more.write("undefined", IValue(Tensor()));
  more.write("marked", std::string("ivalue:x"));
  more.write("plain", std::string("text"));
  more.write("plain#0", ones({1}));
  more.write("empty", IValue(GenericDict()));
  serialize::InputArchive from(more.tensors(), more.metadata());
  std::string text;
  from.read("marked", text);
  CHECK(text == "ivalue:x");
  IValue value(5);
  from.read("undefined", value);
  CHECK(value.isNone());
  std::vector<std::string> keys = from.keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"empty", "marked", "plain", "plain#0", "undefined"});

  serialize::OutputArchive only, whole;
  only.write("t", ones({1}));
  whole.write("part", only);
  serialize::InputArchive parts(whole.tensors(), whole.metadata()), part;
  CHECK(parts.try_read("part", part));

  // Without bytes, without a file, and after one.
  const TempFolder folder;
  out.save_to(folder / "x");
  serialize::InputArchive late(true);
  late.load_from(folder / "x");
  std::stringstream stream;
  more.save_to(stream);
  late.load_from(stream);
  CHECK_FALSE(late.contains("tensor"));
  std::string damaged = test::read_file(folder / "x");
  damaged.back() ^= 1;
  test::write_file(folder / "x", damaged);
  CHECK_THROWS_WITH_AS(serialize::InputArchive().load_from(folder / "x"), doctest::Contains("damaged"), Error);
  CHECK_THROWS_WITH_AS(late.load_from(nullptr, 3), "archive: the data is null", Error);
  CHECK_THROWS_WITH_AS(late.load_from(nullptr, 0), doctest::Contains("is not a safetensors file"), Error);
}

TEST_CASE("malformed values in archives") {
  for (const char* text :
       {"ivalue:", "ivalue:i", "ivalue:i5", "ivalue:x", "ivalue:s9:ab", "ivalue:l99999999999999999999:", "ivalue:l4:nn",
        "ivalue:t0;", "ivalue:nn", "ivalue:I1:b1;", "ivalue:m1:n"}) {
    OrderedDict<std::string, std::string> metadata;
    metadata.insert("k", text);
    serialize::InputArchive in(OrderedDict<std::string, Tensor>(), metadata);
    IValue value;
    CHECK_THROWS_AS(in.read("k", value), Error);
  }
  const auto read = [](const std::string& text) {
    OrderedDict<std::string, std::string> metadata;
    metadata.insert("k", "ivalue:" + text);
    serialize::InputArchive in(OrderedDict<std::string, Tensor>(), metadata);
    IValue value;
    in.read("k", value);
    return value;
  };
  CHECK(read("l1:n").toListRef().size() == 1);
  CHECK(read("l2:nn").toListRef().size() == 2);
  CHECK(read("I1:i-5;").toIntVector() == std::vector<int64_t>{-5});
  CHECK(read("s1:a").toStringRef() == "a");
  CHECK(read("m1:b1;n").toGenericDict().size() == 1);
  for (const std::string level : {"l1:", "u1:", "m1:i1;"})
    for (const int levels : {99, 100}) {
      std::string deep;
      for (int i = 0; i < levels; ++i) deep += level;
      CAPTURE(level);
      if (levels == 99)
        CHECK_NOTHROW(read(deep + "n"));
      else
        CHECK_THROWS_AS(read(deep + "n"), Error);
    }
  for (const char* level : {"l1:", "u1:", "T1:", "I1:", "D1:", "m1:i1;"}) {
    std::string deep = "ivalue:";
    for (int i = 0; i < 100000; ++i) deep += level;
    OrderedDict<std::string, std::string> metadata;
    metadata.insert("k", deep + "n");
    serialize::InputArchive in(OrderedDict<std::string, Tensor>(), metadata);
    IValue value;
    CHECK_THROWS_AS(in.read("k", value), Error);
  }
}

TEST_CASE("save and load with memory and functions") {
  const Tensor t = arange(4);
  std::string bytes;
  save(t, [&](const void* data, std::size_t size) {
    bytes.assign(static_cast<const char*>(data), size);
    return size;
  });
  Tensor loaded;
  load(loaded, bytes.data(), bytes.size(), Device(kCPU));
  CHECK(loaded.equal(t));
  CHECK_THROWS_AS(load(loaded, bytes.data(), bytes.size() - 1), Error);
  CHECK_THROWS_AS(save(t, [](const void*, std::size_t) { return std::size_t{0}; }), Error);
  const auto nothing = [](uint64_t, void*, std::size_t) { return std::size_t{0}; };
  CHECK_THROWS_AS(load(loaded, nothing, [] { return std::size_t{8}; }), Error);
}

TEST_CASE("what is missing in a file is named by its outermost module") {
  struct Deep : nn::Module {
    Deep() {
      nn::Sequential outer;
      outer->push_back(nn::Sequential(nn::Linear(1, 1)));
      register_module("a", outer);
      register_module("ab", nn::Linear(1, 1));
    }
  };
  const auto missing = [](const std::vector<std::string>& kept) {
    const auto whole = std::make_shared<Deep>();
    serialize::OutputArchive out;
    for (const auto& item : whole->state_dict())
      if (std::any_of(kept.begin(), kept.end(), [&](const std::string& k) { return item.key().starts_with(k); }))
        out.write(item.key(), item.value());
    serialize::InputArchive in(out.tensors(), out.metadata());
    std::string text;
    try {
      whole->load(in);
    } catch (const Error& error) {
      text = error.what();
    }
    return text.substr(0, text.find('\n'));
  };
  CHECK(missing({"a.", "ab."}) == "");
  CHECK(missing({"ab."}) == "No such serialized submodule: 'a'");
  CHECK(missing({"a."}) == "No such serialized submodule: 'ab'");
  CHECK(missing({"a.0.0.bias", "ab."}) == "No such serialized tensor 'a.0.0.weight'");
  CHECK(missing({"a.0.0.weight", "ab."}) == "No such serialized tensor 'a.0.0.bias'");
  CHECK(missing({"a.0.0.weight", "a.0.0.bias", "ab.weight"}) == "No such serialized tensor 'ab.bias'");
}
