// PyTorch's .pt files: a file of torch.save, round trips, weights for a module, and pickles that are refused. More
// malformed files are in tests/fuzz/corpus/pt and pickle; torch_files.py compares with Python.
#include "tandem/nn/files/pt/pt.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tandem/autograd/ops.h"
#include "tandem/nn/files/pt/legacy.h"
#include "tandem/nn/files/pt/pickle.h"
#include "tandem/nn/files/pt/weights.h"
#include "tandem/nn/files/pt/zip_archive.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/sequential.h"
#include "tandem/nn/serialize.h"
#include "tandem/tests/nn/files/pt_pickles.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using serialize::WeightsOptions;
using test::archive;
using test::error_of;
using test::says;
using test::TempFolder;
using test::text;
using test::window;
using test::zip_of;

namespace {

IValue parsed(const std::string& pickle) {
  const std::string file = archive(pickle);
  return serialize::parse_pt(file.data(), file.size(), "x.pt");
}
std::string refusal(const std::string& pickle) {
  return error_of([&] { parsed("\x80\x02" + pickle + "."); });
}

}  // namespace

TEST_CASE("a checkpoint of torch.save") {
  const IValue value = serialize::load_pt(TANDEM_PT_FILE);
  const GenericDict& all = value.toGenericDict();
  CHECK_EQ(all.at("epoch").toInt(), 3);
  CHECK_EQ(all.at("lr").toDouble(), 0.5);
  CHECK_EQ(all.at("name").toStringRef(), "net");
  const std::vector<IValue> flags = all.at("flags").toListRef();
  REQUIRE_EQ(flags.size(), 4);
  CHECK(flags[0].toBool());
  CHECK(flags[1].isNone());
  CHECK_EQ(flags[2].toInt(), -7);
  CHECK_EQ(flags[3].toInt(), int64_t{1} << 40);
  CHECK_EQ(all.at("size").toTupleRef().elements()[1].toInt(), 3);
  CHECK(says(error_of([&] { serialize::state_dict_of(value); }),
             "state dict: 'epoch' has type int64, not Tensor; name the dictionary to load with a key: epoch, lr"));
  CHECK(says(error_of([&] { serialize::state_dict_of(value, "model"); }), "keys are epoch, lr, name"));

  const auto state = serialize::state_dict_of(value, "state_dict");
  CHECK(state.keys() ==
        std::vector<std::string>{"weight", "tail", "half", "bfloat", "mask", "count", "bytes", "scale", "none"});
  CHECK(state["weight"].equal(arange(6, kFloat).view({2, 3}).t()));
  CHECK(state["tail"].equal(tensor({4.f, 5.f})));
  CHECK(state["tail"].storage().is_alias_of(state["weight"].storage()));
  CHECK_EQ(state["half"].dtype(), kHalf);
  CHECK(state["half"].to(kFloat).equal(tensor({1.5f, -2.f})));
  CHECK_EQ(state["bfloat"].dtype(), kBFloat16);
  CHECK(state["bfloat"].to(kFloat).equal(tensor({1.5f, -2.f})));
  CHECK(state["mask"].equal(tensor({true, false})));
  CHECK_EQ(state["count"].dim(), 0);
  CHECK_EQ(state["count"].item<int64_t>(), 5);
  CHECK_EQ(state["bytes"].dtype(), kByte);
  CHECK_EQ(state["bytes"][1].item<int64_t>(), 255);
  CHECK(state["scale"].requires_grad());
  CHECK_FALSE(state["weight"].requires_grad());
  CHECK_EQ(state["none"].sizes(), IntArrayRef({0, 3}));
}

TEST_CASE("values survive a round trip") {
  const Tensor base = arange(12, kDouble).view({3, 4});
  GenericDict inner;
  inner.insert(1, base.select(1, 2));
  inner.insert("t", base.t());
  const IValue value(std::vector<IValue>{IValue(), true, int64_t{-5}, int64_t{1} << 50, 0.1, "text",
                                         ivalue::Tuple::create(1, "a"), IValue(inner),
                                         IValue(std::vector<int64_t>{1, 2}), ones({2}).requires_grad_(true),
                                         zeros({0, 2}), full({}, 3, TensorOptions(kShort)), full({2}, true)});
  const std::vector<char> bytes = pickle_save(value);
  const std::vector<IValue> back = pickle_load(bytes).toListRef();
  REQUIRE_EQ(back.size(), 13);
  CHECK(back[0].isNone());
  CHECK(back[1].toBool());
  CHECK_EQ(back[2].toInt(), -5);
  CHECK_EQ(back[3].toInt(), int64_t{1} << 50);
  CHECK_EQ(back[4].toDouble(), 0.1);
  CHECK_EQ(back[5].toStringRef(), "text");
  CHECK_EQ(back[6].toTupleRef().elements()[1].toStringRef(), "a");
  const Tensor column = back[7].toGenericDict().at(1).toTensor(),
               transposed = back[7].toGenericDict().at("t").toTensor();
  CHECK(column.equal(base.select(1, 2)));
  CHECK(transposed.equal(base.t()));
  CHECK(column.storage().is_alias_of(transposed.storage()));
  CHECK_EQ(back[8].toListRef()[1].toInt(), 2);
  CHECK(back[9].toTensor().requires_grad());
  CHECK_EQ(back[10].toTensor().sizes(), IntArrayRef({0, 2}));
  CHECK_EQ(back[11].toTensor().item<int64_t>(), 3);
  CHECK(back[12].toTensor().equal(full({2}, true)));
  CHECK(pickle_save(value) == bytes);
}

TEST_CASE("numbers are no names of tensors, but may lead to them") {
  GenericDict layers, ensemble;
  layers.insert(0, ones({2}));
  layers.insert(1, zeros({2}));
  CHECK_EQ(error_of([&] { serialize::state_dict_of(IValue(layers)); }),
           "state dict: the key 0 has type int64; the names of tensors must be strings: convert them before "
           "saving");
  GenericDict second;
  second.insert("w", ones({2}));
  ensemble.insert(0, layers);
  ensemble.insert(1, second);
  ensemble.insert(true, 1.5);
  CHECK_EQ(error_of([&] { serialize::state_dict_of(IValue(ensemble)); }),
           "state dict: '0' has type dictionary, not Tensor; name the dictionary to load with a key: 0, 1, True");
  CHECK(serialize::state_dict_of(IValue(ensemble), "1")["w"].equal(ones({2})));
  CHECK_EQ(error_of([&] { serialize::state_dict_of(IValue(ensemble), "2"); }),
           "state dict: there is no '2'; the keys are 0, 1, True");
}

TEST_CASE("weights of either kind of file go into a module") {
  const TempFolder folder;
  manual_seed(1);
  nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2)), other(nn::Linear(3, 4), nn::Linear(4, 2));
  const auto same = [&] {
    bool equal = true;
    for (const auto& item : net->state_dict()) equal = equal && other->state_dict()[item.key()].equal(item.value());
    for (Tensor p : other->parameters()) p.detach().fill_(0);
    return equal;
  };
  serialize::save_pt(folder / "net.pt", net->state_dict());
  save(net, folder / "net.safetensors");
  CHECK_FALSE(same());
  CHECK(serialize::load_weights(*other, folder / "net.pt").missing_keys.empty());
  CHECK(same());
  serialize::load_weights(*other, folder / "net.safetensors");
  CHECK(same());
  std::filesystem::create_directory(folder / "shards");
  CHECK_EQ(serialize::save_sharded_safetensors(folder / "shards/net.safetensors", net->state_dict(), 60), 2);
  CHECK(serialize::read_weights(folder / "shards").keys() == net->state_dict().keys());
  serialize::load_weights(*other, folder / "shards");
  CHECK(same());

  // As in another program's checkpoint: other names, a level more, another dtype.
  GenericDict state, checkpoint;
  for (const auto& item : net->state_dict()) state.insert("module.body." + item.key(), item.value().to(kDouble));
  checkpoint.insert("model", state);
  serialize::save_pt(folder / "other.pt", checkpoint);
  serialize::load_weights(*other, folder / "other.pt", WeightsOptions{.key = "model", .prefix = "module.body."});
  CHECK(same());
  WeightsOptions options{.key = "model", .prefix = "module.body.0."};
  const std::string message = error_of([&] { serialize::load_weights(*other, folder / "other.pt", options); });
  CHECK(says(message, "missing:\n    0.weight"));
  CHECK(says(message, "unexpected:\n    weight\n    bias"));
  options.strict = false;
  const nn::LoadResult result = serialize::load_weights(*other, folder / "other.pt", options);
  CHECK_EQ(result.missing_keys.size(), 4);
  CHECK_EQ(result.unexpected_keys.size(), 4);
  CHECK(says(error_of([&] { serialize::load_weights(*other, folder / "none.pt"); }), "cannot be opened"));
}

TEST_CASE("modules of LibTorch and of TorchScript are weights, optimizers are values") {
  const std::string folder = TANDEM_LIBTORCH_FILES;
  const auto state = serialize::read_weights(folder + "module.pt");
  CHECK_EQ(state.size(), 13);
  CHECK_EQ(state["block.conv.weight"].sizes(), IntArrayRef({2, 1, 3, 3}));
  CHECK(state["shift"].requires_grad());
  nn::Linear linear(2, 3);
  CHECK(serialize::load_weights(*linear, folder + "module.pt", WeightsOptions{.key = "seq.0"}).missing_keys.empty());
  CHECK(linear->weight.equal(state["seq.0.weight"]));

  const IValue scripted = serialize::load_pt(folder + "scripted.pt");
  CHECK_EQ(scripted.toGenericDict().at("depth").toInt(), 3);
  CHECK_EQ(scripted.toGenericDict().at("child.names").toListRef()[1].toStringRef(), "b");
  CHECK(serialize::state_dict_of(scripted).keys() == std::vector<std::string>{"child.weight", "mean"});
  CHECK(serialize::state_dict_of(scripted, "child")["weight"].equal(arange(3, kFloat)));

  GenericDict frozen, checkpoint;
  frozen.insert("training", true);
  CHECK(says(error_of([&] { serialize::state_dict_of(IValue(frozen)); }), "no tensors; those of a frozen one"));
  checkpoint.insert("training", true);
  checkpoint.insert("model", frozen);
  CHECK(says(error_of([&] { serialize::state_dict_of(IValue(checkpoint)); }), "'training' has type bool, not Tensor"));

  const IValue all = serialize::load_pt(folder + "optimizers.pt");
  CHECK_EQ(all.toGenericDict().at("adam.optimizer.param_groups.param_groups/1.options.lr").toDouble(), 0.005);
  CHECK(says(error_of([&] { serialize::state_dict_of(all); }), "has type"));
}

TEST_CASE("a long name of many tensors is refused before it is copied for each") {
  GenericDict dict;
  dict.insert(std::string(100'000, 'k'), std::vector<Tensor>(3000, ones({1})));
  const std::string bytes = serialize::pt_bytes(IValue(dict));
  serialize::InputArchive archive;
  CHECK(says(error_of([&] { archive.load_from(bytes.data(), bytes.size()); }),
             "names of its tensors would have more than"));
}

TEST_CASE("numbers and texts of every length, and a name from the stack") {
  const std::string zeros(7, '\0');
  std::string numbers = "K\xff";
  numbers += "M\x01\x02";
  numbers += "J\xfe\xff\xff\xff";
  numbers += std::string("\x8a\0\x8a\x01\xff\x8a\x02\x01\x02", 9);
  numbers += "G\x40\x09" + zeros.substr(1);
  std::string texts = "U\x02" + std::string("ab");
  texts += "\x8c\x01" + std::string("c");
  texts += "\x8d\x01" + zeros + "d";
  texts += "T\x01" + zeros.substr(4) + "e" + text("f");
  const std::string dict = "U\x0b" + std::string("collections") + "U\x0b" + "OrderedDict" + "\x93)R";
  const std::vector<IValue> found = parsed("\x80\x02](" + numbers + texts + dict + "e.").toList();
  const int64_t integers[] = {255, 0x201, -2, 0, -1, 0x201};
  REQUIRE(found.size() == 13);
  for (std::size_t i = 0; i < 6; ++i) CHECK(found[i].toInt() == integers[i]);
  CHECK(found[6].toDouble() == 3.125);
  const char* words[] = {"ab", "c", "d", "e", "f"};
  for (std::size_t i = 0; i < 5; ++i) CHECK(found[7 + i].toStringRef() == words[i]);
  CHECK(found[12].toGenericDict().empty());
}

TEST_CASE("pickles that name code are refused by its name") {
  CHECK(says(refusal("cposix\nsystem\n" + text("true") + "\x85R"), "posix.system, which is refused"));
  CHECK(says(refusal(text("os") + text("system") + "\x93"), "os.system, which is refused"));
  CHECK(says(refusal("cbuiltins\neval\n)R"), "builtins.eval"));
  CHECK(says(refusal("ctorch.nn.modules.linear\nLinear\n)\x81"), "torch.nn.modules.linear.Linear"));
  CHECK(says(refusal("ca\x01" + std::string(300, 'b') + "\nc\n"), "names a?bbb"));
  CHECK(says(refusal("ctorch\nFloatStorage\n)R"), "cannot be called"));
  CHECK(says(refusal("ctorch\nFloatStorage\n"), "a class is stored as a value"));
  CHECK(says(refusal(")\x81"), "empty stack"));
  CHECK(says(refusal("]cos\nsystem\n" + text("true") + "\x85R0"), "os.system, which is refused"));
  // Names that Tandem knows, in other modules.
  for (const char* name :
       {"OrderedDict", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "complex32", "_rebuild_parameter", "Size",
        "build_intlist", "restore_type_tag", "FloatStorage", "UntypedStorage", "uint16", "float8_e5m2", "bits8"})
    CHECK(says(refusal(std::string("cother\n") + name + "\n"), "which is refused"));
  CHECK(says(refusal("ctorch.storage\nTypedStorage\n"), "which is refused"));
  CHECK(says(refusal("ctorch\nuint4\n"), "of dtype torch.uint4, which Tandem lacks"));
  CHECK(says(refusal("ctorch\nfloat8_e5m2\n"), "of dtype torch.float8_e5m2, which Tandem lacks"));
  CHECK(says(refusal("ctorch\ncomplex32\n"), "a class is stored as a value"));
  CHECK(says(refusal("ctorch._utils\n_rebuild_tensor_v3\n)R"), "requires_grad and dtype"));
  CHECK(says(refusal("}" + text("f") + "ccollections\nOrderedDict\ns"), "a class is stored as a value"));
}

TEST_CASE("tensors that reach beyond their storage are refused") {
  const int64_t huge = int64_t{1} << 62;
  CHECK(parsed("\x80\x02" + window(2, 0, {2}, {1}) + ".").toTensor().equal(zeros({2})));
  CHECK_EQ(parsed("\x80\x02" + window(2, 1, {1000, 1}, {0, huge}) + ".").toTensor().numel(), 1000);
  CHECK_EQ(parsed("\x80\x02" + window(2, 2, {0}, {1}) + ".").toTensor().numel(), 0);
  for (const auto& bad :
       {window(2, 0, {3}, {1}), window(2, 1, {2}, {1}), window(2, 0, {2}, {2}), window(2, 2, {}, {}),
        window(2, 3, {0}, {1}), window(2, -1, {1}, {1}), window(2, 0, {huge}, {1}), window(2, 0, {3}, {huge}),
        window(2, 0, {huge, huge, 0}, {0, 0, 0}), window(2, huge, {2}, {huge})})
    CHECK_MESSAGE(says(refusal(bad), "reaches beyond its storage"), refusal(bad));
  CHECK(says(refusal(window(2, 0, {-1}, {1})), "not an integer of at least 0"));
  CHECK(says(refusal(window(2, 0, {1}, {-1})), "not an integer of at least 0"));
  CHECK(says(refusal(window(2, 0, {1}, {1, 1})), "one stride per dimension"));
  CHECK(says(refusal(window(2, 0, std::vector<int64_t>(13, 1), std::vector<int64_t>(13, 1))), "more than 12"));
  CHECK(says(refusal(window(3, 0, {1}, {1})), "has 8 bytes, expected 12"));
  CHECK(says(refusal(window(huge, 0, {1}, {1})), "would have 4611686018427387904 elements"));
  CHECK(says(refusal(window(-1, 0, {1}, {1})), "not described by its type"));
  CHECK(says(refusal(window(2, 0, {1}, {1}, "ComplexFloatStorage")), "has 8 bytes, expected 16"));
  const std::string file = archive("\x80\x02" + window(8, 0, {8}, {1}, "BoolStorage") + ".", std::string(8, '\2'));
  CHECK(says(error_of([&] { serialize::parse_pt(file.data(), file.size(), "x.pt"); }), "element 0 of the bool"));
}

TEST_CASE("pickles that would run away are refused") {
  CHECK(says(refusal("]q\1h\1a"), "contains itself"));
  CHECK(says(refusal("}q\1" + text("a") + "h\1s"), "contains itself"));
  std::string deep = "N";
  for (int i = 0; i < 10'000; ++i) deep += "\x85";
  CHECK(says(refusal(deep), "nested more than 100 levels"));
  // 2^90 elements in a few bytes: each tuple has the one before it twice.
  std::string laughs = "N\x85q\1";
  for (int i = 0; i < 90; ++i) laughs += "0h\1h\1\x86q\1";
  CHECK(says(refusal(laughs), "would count more than"));
  // Half as deep, but twice in sequence: the depth counts where the shared part is used.
  std::string half = "N";
  for (int i = 0; i < 60; ++i) half += "\x85";
  half += "q\1h\1";
  for (int i = 0; i < 60; ++i) half += "\x85";
  CHECK(says(refusal(half + "\x86"), "nested more than 100 levels"));
  // The same text a thousand times: 1 GB where it is shared no more.
  std::string texts = text(std::string(1 << 20, 'x')) + "q\1" + "0](";
  for (int i = 0; i < 1000; ++i) texts += "h\1";
  CHECK(says(refusal(texts + "e"), "would count more than"));
  std::string copies = "](";
  for (int i = 0; i < 2000; ++i) copies += "K\1";
  copies += "eq\1";
  for (int i = 0; i < 3000; ++i) copies += "ctorch.jit._pickle\nbuild_intlist\nh\1\x85R0";
  CHECK(says(refusal(copies), "copies too many values"));
}

TEST_CASE("malformed pickles are refused") {
  const std::pair<const char*, const char*> cases[] = {
      {"a", "empty stack"},
      {"(a", "empty stack"},
      {"t", "lacks a mark"},
      {"h\1", "has not stored"},
      {"q\1", "empty stack"},
      {"NN", "one value"},
      {"(N", "one value"},
      {"X\xff\xff\xff\xff", "truncated"},
      {"cos\nsystem", "truncated"},
      {"\x8a\x09", "64 bits"},
      {"\x80\x06", "above 5"},
      {"}NNs", "the key of a dictionary is None"},
      {"}(Nu", "key without a value"},
      {"NNa", "must be a list, not None"},
      {"NNR", "must be a tuple"},
      {"N)R", "must be a class"},
      {"NQ", "must be a tuple"},
      {")Q", "not described by its type"},
      {"NNb", "must be a dictionary"},
  };
  for (const auto& bad : cases) {
    const std::string message = refusal(bad.first);
    CHECK_MESSAGE(says(message, bad.second), message);
  }
  CHECK(says(error_of([] { parsed(""); }), "truncated"));
}

TEST_CASE("files of PyTorch before version 1.6") {
  const auto bytes_of = [](int64_t number) { return std::string(reinterpret_cast<const char*>(&number), 8); };
  const std::string pickle = "\x80\x02", magic = "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8P\x19.";
  const auto file = [&](const std::string& value, const std::string& keys, const std::string& storages) {
    return pickle + magic + pickle + "M\xe9\x03." + pickle + "}" + text("little_endian") + "\x88s." + pickle + value +
           "." + pickle + keys + "." + storages;
  };
  const auto read = [](const std::string& bytes) {
    return serialize::parse_pt(bytes.data(), bytes.size(), "x.pth", Device(kCPU)).toTensor();
  };
  const float elements[] = {1, 2};
  const std::string two = bytes_of(2) + std::string(reinterpret_cast<const char*>(elements), sizeof elements);
  const std::string good = file(window(2, 0, {2}, {1}), "](" + text("0") + "e", two);
  CHECK(read(good).equal(tensor({1.f, 2.f})));
  const TempFolder folder;
  test::write_file(folder / "x.pth", good);
  CHECK(serialize::load_pt(folder / "x.pth").toTensor().equal(tensor({1.f, 2.f})));
  // The magic number as protocols 3 and 4 write it.
  const std::string rest = good.substr(pickle.size());
  const std::string framed = "\x80\x04\x95" + bytes_of(13) + rest;
  CHECK(read("\x80\x03" + rest).equal(tensor({1.f, 2.f})));
  CHECK(read(framed).equal(tensor({1.f, 2.f})));
  std::string negated = window(2, 0, {2}, {1});
  negated.insert(negated.size() - 2, "}" + text("neg") + "\x88s");
  CHECK(read(file(negated, "](" + text("0") + "e", two)).equal(tensor({-1.f, -2.f})));
  test::write_file(folder / "x4.pth", file("}" + text("w") + window(2, 0, {2}, {1}) + "s", "](" + text("0") + "e", two)
                                          .replace(0, 2, framed.substr(0, 11)));
  CHECK(serialize::read_weights(folder / "x4.pth")["w"].equal(tensor({1.f, 2.f})));
  const auto refused = [&](const std::string& bytes) { return error_of([&] { read(bytes); }); };
  for (const std::size_t cut : {15, 24, 30}) CHECK(says(refused(framed.substr(0, cut)), cut < 24 ? "zip" : "trunc"));
  CHECK(says(refused("\x80\x06" + rest), "is not a zip archive"));
  CHECK(says(refused(good.substr(0, good.size() - 1)), "is truncated"));
  CHECK(says(refused(file(window(2, 0, {2}, {1}), "]", two)), "lacks the elements of 1 storages"));
  CHECK(says(refused(file("N", "](" + text("0") + "e", two)), "no tensor uses"));
  CHECK(says(refused(file(window(2, 0, {2}, {1}), "](" + text("0") + text("0") + "e", two + two)), "occurs twice"));
  CHECK(says(refused(file(window(2, 0, {2}, {1}), "](" + text("0") + "e", bytes_of(3) + two)), "has 3 elements"));
  CHECK(says(refused(file(window(1 << 20, 0, {2}, {1}), "]", two)), "longer than the file"));
  CHECK(says(refused(file("cos\nsystem\n", "]", two)), "os.system, which is refused"));
  CHECK(says(
      refused(file(window(8, 0, {8}, {1}, "BoolStorage"), "](" + text("0") + "e", bytes_of(8) + std::string(8, '\2'))),
      "element 0 of the bool storage 0 is 2"));
  CHECK(says(refused(file("](" + window(2, 0, {2}, {1}) + window(2, 0, {2}, {1}, "IntStorage") + "e", "]", two)),
             "storage 0 is described in two ways"));
}

TEST_CASE("files that are taken for weights by mistake are named") {
  const TempFolder folder;
  const auto refused = [&](const std::string& bytes, auto&& read) {
    test::write_file(folder / "file", bytes + std::string(40, ' '));
    return error_of([&] { read(folder / "file"); });
  };
  const auto pt = [](const std::string& path) { serialize::load_pt(path); };
  const auto any = [](const std::string& path) { serialize::read_weights(path); };
  const auto safetensors = [](const std::string& path) { serialize::load_safetensors(path); };
  const std::pair<std::string, const char*> cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "but a pointer of Git LFS"},
      {"\n<!DOCTYPE html><html>", "but an HTML page"},
      {"<HTML lang=en>", "but an HTML page"},
      {"\x80\x04\x95\x10" + std::string(7, '\0') + "}.", "but a pickle of Python"}};
  for (const auto& one : cases) {
    CAPTURE(one.second);
    CHECK(says(refused(one.first, pt), one.second));
    CHECK(says(refused(one.first, any), one.second));
    CHECK(says(refused(one.first, safetensors), one.second));
  }
  CHECK(says(refused(archive("N."), safetensors), "but a zip archive"));
  CHECK(says(refused("<?xml version", safetensors), "its header would have"));
}

TEST_CASE("archives that are not PyTorch's are refused") {
  const auto refused = [](const std::string& bytes) {
    return error_of([&] { serialize::parse_pt(bytes.data(), bytes.size(), "x.pt"); });
  };
  CHECK(says(refused(""), "x.pt: is not a"));
  CHECK(says(refused("\x80\x02N."), "since version 1.6"));
  const std::string good = archive("\x80\x02N.");
  CHECK_EQ(refused(good), "");
  for (const std::size_t cut : {std::size_t{1}, good.size() / 2, good.size() - 1})
    CHECK_NE(refused(good.substr(0, cut)), "");
  std::string damaged = archive("\x80\x02" + window(2, 0, {2}, {1}) + ".");
  damaged[damaged.find("x/data/0") + 8] ^= 1;
  CHECK(says(refused(damaged), "is damaged"));
  CHECK(says(refused(zip_of({{"data.pkl", "N."}})), "0 entries NAME/data.pkl"));
  CHECK(says(refused(zip_of({{"a/data.pkl", "N."}, {"b/data.pkl", "N."}})), "2 entries NAME/data.pkl"));
  CHECK(says(refused(zip_of({{"a/data.pkl", "N."}, {"a/byteorder", "big"}})), "not little-endian"));
  CHECK(says(error_of([] { serialize::load_pt("/dev/null"); }), "is not a regular file"));
}

TEST_CASE("a file is written as it is put together, in one piece or not at all") {
  const TempFolder folder;
  // Tensors smaller and larger than what is gathered before it is written.
  const OrderedDict<std::string, Tensor> state{{"small", arange(3, kFloat)},
                                               {"large", arange(300'000, kFloat)},
                                               {"none", zeros({0})},
                                               {"half", ones({7}, TensorOptions(kHalf))}};
  serialize::save_pt(folder / "x.pt", state);
  const std::string bytes = test::read_file(folder / "x.pt");
  GenericDict dict;
  for (const auto& item : state) dict.insert(item.key(), item.value());
  CHECK(bytes == serialize::pt_bytes(IValue(dict)));
  for (const auto& item : serialize::state_dict_of(serialize::load_pt(folder / "x.pt")))
    CHECK(equal(item.value().to(kFloat), state[item.key()].to(kFloat)));
  CHECK_EQ(folder.entries(), 1);
  CHECK(says(error_of([&] { serialize::save_pt(folder / "none/x.pt", state); }), "no such folder"));
}

TEST_CASE("an error of the sink is thrown as it is") {
  struct Full final : serialize::pt::ZipSink {
    void append(const void*, std::size_t) override { fail("the disk is full"); }
    void overwrite(uint64_t, const void*, std::size_t) override {}
  } sink;
  const std::string large(1 << 20, 'x');
  serialize::pt::ZipWriter zip(sink);
  zip.add("a", large.data(), large.size());
  CHECK_EQ(error_of([&] { zip.finish(); }), "the disk is full");
}
