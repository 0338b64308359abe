// What pickles of .pt files may call, how deep and how long their values may be, and files that are pipes.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include "tandem/autograd/ops.h"
#include "tandem/nn/files/pt/npz.h"
#include "tandem/nn/files/pt/pickle.h"
#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/files/pt/weights.h"
#include "tandem/nn/files/pt_plugin.h"
#include "tandem/tests/nn/files/pt_pickles.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;
using test::number;
using test::says;
using test::text;
using test::tuple;
using test::window;

namespace {

IValue parsed(const std::string& pickle) {
  const std::string file = test::archive("\x80\x02" + pickle + ".");
  return serialize::parse_pt(file.data(), file.size(), "x.pt");
}
std::string refusal(const std::string& pickle) {
  return error_of([&] { parsed(pickle); });
}

std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
std::string list(const std::vector<std::string>& items) {
  std::string out = "](";
  for (const std::string& item : items) out += item;
  return out + "e";
}
std::string many(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
std::string called(const std::string& function, const std::vector<std::string>& arguments) {
  return function + many(arguments) + "R";
}

const std::string one = "K\1", yes = "\x88", half = "G?\xf8" + std::string(6, '\0'), none = "N",
                  ordered = global("collections", "OrderedDict"), floats = global("torch", "FloatStorage");

// Each of these pickles is refused with this text.
void refuse_all(const std::vector<std::string>& pickles, const char* message) {
  for (std::size_t i = 0; i < pickles.size(); ++i) {
    CAPTURE(i);
    CHECK_MESSAGE(says(refusal(pickles[i]), message), refusal(pickles[i]));
  }
}

}  // namespace

TEST_CASE("dictionaries, sizes and tagged values take what PyTorch passes, and nothing else") {
  const std::string pair = list({text("a"), one}), other = many({text("b"), yes});
  const IValue value = parsed(called(ordered, {list({pair, other})}));
  CHECK(value.toGenericDict().size() == 2);
  CHECK(value.toGenericDict().at("a").toInt() == 1);
  CHECK(value.toGenericDict().at("b").toBool());
  refuse_all({called(ordered, {one}), called(ordered, {list({}), list({})}), called(ordered, {many({pair})}),
              called(ordered, {list({none})}), called(ordered, {list({many({one})})}),
              called(ordered, {list({many({one, one, one})})}), called(ordered, {list({list({})})}),
              called(ordered, {list({"}" + text("a") + one + "s"})})},
             "OrderedDict takes a list of pairs");
  const std::string size = global("torch", "Size");
  CHECK(parsed(called(size, {tuple({2, 3})})).toTupleRef().elements()[1].toInt() == 3);
  refuse_all({called(size, {}), called(size, {one}), called(size, {list({one})}), called(size, {many({}), many({})})},
             "torch.Size takes a tuple");
  const std::string tag = global("torch.jit._pickle", "restore_type_tag");
  CHECK(parsed(called(tag, {one, text("int")})).toInt() == 1);
  refuse_all({called(tag, {one}), called(tag, {one, one, one})}, "restore_type_tag takes a value and a type");
}

TEST_CASE("sets are lists, devices are strings, and dictionaries of any class are dictionaries") {
  const std::string set = global("builtins", "set"), device = global("torch", "device"), two = number(2),
                    entry = "(" + text("a") + one + "u";
  for (const std::string& pickle :
       {called(set, {list({one, two})}), called(global("__builtin__", "frozenset"), {many({one, two})}),
        "\x8f(" + one + two + "\x90", "(" + one + two + "\x91"}) {
    const std::vector<IValue> found = parsed(pickle).toListRef();
    REQUIRE_EQ(found.size(), 2);
    CHECK_EQ(found[1].toInt(), 2);
  }
  CHECK(parsed(called(set, {})).toListRef().empty());
  CHECK_EQ(parsed(called(device, {text("cuda"), number(1)})).toStringRef(), "cuda:1");
  CHECK_EQ(parsed(called(device, {text("cpu")})).toStringRef(), "cpu");
  for (const std::string& pickle : {global("my", "Dict") + ")R" + entry, global("my", "Dict") + ")\x81" + entry,
                                    global("my", "Dict") + ")R" + entry + "}b",
                                    called(global("collections", "defaultdict"), {global("builtins", "list")}) + entry,
                                    called(global("collections", "Counter"), {"}" + entry})}) {
    const IValue value = parsed(pickle);
    CHECK_EQ(value.toGenericDict().at("a").toInt(), 1);
  }
  refuse_all({called(device, {}), called(device, {one}), called(device, {text("cuda"), text("1")}),
              called(device, {text(std::string(33, 'x'))})},
             "torch.device takes a type and an index");
  refuse_all({called(set, {one}), called(set, {list({}), list({})})}, "a set is not made of a list");
  refuse_all({global("my", "Model") + ")\x81}" + entry + "b", global("my", "Dict") + ")R"}, "names my.");
}

TEST_CASE("objects of LibTorch are one dictionary of their attributes") {
  const std::string made = global("__torch__.___torch_mangle_0", "Module") + ")\x81";
  const auto object = [&](const std::vector<std::string>& attributes) {
    std::string out = made + "}(";
    for (const std::string& item : attributes) out += item;
    return out + "ub";
  };
  const auto keys = [](const IValue& value) {
    std::string out;
    for (const auto& entry : value.toGenericDict()) out += entry.key().toStringRef() + " ";
    return out;
  };
  const std::string child = object({text("w"), one, text("empty"), object({}), text("x.y"), none});
  CHECK_EQ(keys(parsed(object({text("a"), child, text("b"), yes, text("c"), child}))), "a.w a.x.y b c.w c.x.y ");
  CHECK_EQ(keys(parsed(list({child})).toListRef()[0]), "w x.y ");
  CHECK_EQ(keys(parsed(object({}))), "");
  CHECK_EQ(parsed(object({text("l"), list({child, one})})).toGenericDict().at("l").toListRef()[1].toInt(), 1);
  // A key names an object within another, too.
  const IValue value = parsed(object({text("a"), child, text("ab"), one}));
  CHECK(says(error_of([&] { serialize::state_dict_of(value, "a"); }), "'w' has type int64"));
  CHECK(says(error_of([&] { serialize::state_dict_of(value, "a.x"); }), "'y' has type None"));
  CHECK(says(error_of([&] { serialize::state_dict_of(value, "b"); }), "there is no 'b'"));

  refuse_all({object({text("a"), child, text("a.w"), one}), object({text("a.w"), one, text("a"), child})},
             "two attributes have the name a.w");
  refuse_all({object({one, one}), object({text("a"), object({none, one})})}, "the name of an attribute is");
  refuse_all({made + none + "b", made + "]b", object({text("a"), one}) + "}b", made + "(" + text("a") + one + "u}b"},
             "an object's attributes are not one dictionary");
  refuse_all({global("__torch__", "Module") + "(" + one + "t\x81"}, "an object of LibTorch is made with arguments");
  refuse_all({made + "q\1}" + text("a") + "h\1sb"}, "a value contains itself");
  std::string nested = object({});
  for (int i = 0; i < 101; ++i) nested = object({text("a"), nested});
  refuse_all({nested}, "nested more than 100 levels");
  // Each level has the one below twice.
  std::string doubled = object({text("a"), one});
  for (int i = 0; i < 30; ++i)
    doubled +=
        "q\1"
        "0" +
        object({text("a"), "h\1", text("b"), "h\1"});
  refuse_all({doubled}, "values that are shared would count more than");
}

TEST_CASE("typed lists hold one type") {
  const std::string tensor = window(2, 0, {2}, {1});
  const struct {
    const char* name;
    std::string good;
    std::vector<std::string> bad;
  } lists[] = {{"build_intlist", one, {half, yes, tensor}},
               {"build_doublelist", half, {one, yes, tensor}},
               {"build_boollist", yes, {one, half, tensor}},
               {"build_tensorlist", tensor, {one, half, yes}}};
  for (const auto& row : lists) {
    const std::string function = global("torch.jit._pickle", row.name);
    CAPTURE(row.name);
    const IValue value = parsed(called(function, {list({row.good, row.good})}));
    CHECK(value.toListRef().size() == 2);
    CHECK(value.isIntList() == (row.good == one));
    CHECK(value.isDoubleList() == (row.good == half));
    CHECK(value.isTensorList() == (row.good == tensor));
    for (const std::string& item : row.bad)
      refuse_all({called(function, {list({row.good, item})})}, "a typed list has an element of another type");
    refuse_all({called(function, {}), called(function, {many({row.good})}), called(function, {list({}), list({})})},
               "the functions of typed lists take a list");
  }
}

TEST_CASE("each part of the description of a storage, a tensor or a parameter is of its kind") {
  const auto replaced = [](std::vector<std::string> parts, std::size_t i, const std::string& part) {
    parts[i] = part;
    return parts;
  };
  const auto longer = [](std::vector<std::string> parts, const std::string& part) {
    parts.push_back(part);
    return parts;
  };
  const auto shorter = [](std::vector<std::string> parts) {
    parts.pop_back();
    return parts;
  };
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  const std::vector<std::string> storage{text("storage"), floats, text("0"), text("cpu"), number(2)};
  const std::vector<std::string> tensor{many(storage) + "Q", number(0), tuple({2}), tuple({1}), "\x89", "}"};
  const auto with_storage = [&](const std::vector<std::string>& parts) {
    return called(rebuild, replaced(tensor, 0, many(parts) + "Q"));
  };
  CHECK(parsed(with_storage(storage)).toTensor().equal(zeros({2})));
  CHECK(parsed(with_storage(longer(storage, none))).toTensor().equal(zeros({2})));
  std::vector<std::string> bad{with_storage(shorter(storage)),
                               with_storage(longer(storage, one)),
                               with_storage(longer(longer(storage, none), none)),
                               with_storage(replaced(storage, 0, text("storag"))),
                               with_storage(replaced(storage, 1, ordered)),
                               with_storage(replaced(storage, 4, number(-1)))};
  for (std::size_t i = 0; i < storage.size(); ++i) bad.push_back(with_storage(replaced(storage, i, none)));
  refuse_all(bad, "a storage is not described by its type, key, device and size");

  CHECK(parsed(called(rebuild, longer(tensor, none))).toTensor().equal(zeros({2})));
  bad = {called(rebuild, shorter(tensor)), called(rebuild, longer(longer(tensor, none), none)),
         called(rebuild, replaced(tensor, 2, list({number(2)}))), called(rebuild, replaced(tensor, 3, list({one}))),
         called(rebuild, replaced(tensor, 4, one))};
  for (std::size_t i = 0; i < 5; ++i) bad.push_back(called(rebuild, replaced(tensor, i, none)));
  refuse_all(bad, "a tensor is not described by its storage, offset, sizes, strides and requires_grad");
  refuse_all({called(rebuild, replaced(tensor, 2, many({none}))), called(rebuild, replaced(tensor, 3, many({none}))),
              called(rebuild, replaced(tensor, 2, many({yes}))), called(rebuild, replaced(tensor, 3, many({half})))},
             "a size or a stride of a tensor is not an integer of at least 0");
  const int64_t huge = int64_t{1} << 62;
  refuse_all({window(2, 0, {0, huge, huge}, {0, 0, 0}), window(2, 0, {huge, 0, huge}, {0, 0, 0})},
             "reaches beyond its storage");

  const std::string parameter = global("torch._utils", "_rebuild_parameter");
  const std::vector<std::string> given{window(2, 0, {2}, {1}), yes, "}"};
  CHECK(parsed(called(parameter, given)).toTensor().requires_grad());
  CHECK_FALSE(parsed(called(parameter, replaced(given, 1, "\x89"))).toTensor().requires_grad());
  refuse_all({called(parameter, shorter(given)), called(parameter, longer(given, none)),
              called(parameter, replaced(given, 0, none)), called(parameter, replaced(given, 1, one)),
              called(parameter, replaced(given, 1, none))},
             "a parameter is not described by a tensor and requires_grad");
  const std::string integers = window(2, 0, {2}, {1}, "IntStorage");
  CHECK_FALSE(parsed(called(parameter, {integers, "\x89", "}"})).toTensor().requires_grad());
  refuse_all({called(parameter, {integers, yes, "}"})}, "a tensor of integers requires a gradient");
}

TEST_CASE("what is stored is recalled by numbers of one and of four bytes, and marks are dropped") {
  const std::string far("\1\2\3\0", 4);
  const std::vector<IValue> found = parsed("](" + one + "r" + far + "j" + far + "q\7h\7\x94h\2(NN1e").toListRef();
  REQUIRE(found.size() == 4);
  for (const IValue& value : found) CHECK(value.toInt() == 1);
  std::string stored = "N";
  for (uint32_t i = 0; i <= uint32_t{1} << 22; ++i) stored += "r" + std::string(reinterpret_cast<const char*>(&i), 4);
  CHECK(says(refusal(stored), "stores too many values"));
  std::string keys = "}(";
  for (uint16_t i = 0; i < 33'000; ++i) keys += "M" + std::string(reinterpret_cast<const char*>(&i), 2) + "N";
  CHECK(says(refusal(keys + "u"), "the dictionaries have too many entries"));
}

TEST_CASE("values are nested up to 100 levels deep, in a file and before it is written") {
  const auto tuples = [](int levels, std::string inner) {
    for (int i = 0; i < levels; ++i) inner += "\x85";
    return inner;
  };
  const char* message = "nested more than 100 levels";
  CHECK(refusal(tuples(99, "N")).empty());
  CHECK(says(refusal(tuples(100, "N")), message));
  // A value that occurs twice, first near the top: 60 levels, and its own 39 or 40.
  for (const int own : {39, 40}) {
    const std::string twice = tuples(own, "N") + "q\1h\1" + tuples(59, "") + "\x86";
    CHECK(says(refusal(twice), message) == (own == 40));
  }
  std::string lists = "N", dicts = "N";
  for (int i = 0; i < 99; ++i) {
    lists = "]" + lists + "a";
    dicts = "}" + one + dicts + "s";
  }
  for (const std::string& deep : {lists, dicts}) CHECK(refusal(deep).empty());
  for (const std::string& deep : {"]" + lists + "a", "}" + one + dicts + "s", "]" + dicts + "a"})
    CHECK(says(refusal(deep), message));

  for (const int kind : {0, 1, 2}) {
    CAPTURE(kind);
    IValue value;
    const auto wrap = [&] {
      GenericDict dict;
      if (kind == 2) dict.insert("k", value);
      value = kind == 0   ? IValue(ivalue::Tuple::create(std::vector<IValue>{value}))
              : kind == 1 ? IValue(std::vector<IValue>{value})
                          : IValue(dict);
    };
    for (int i = 0; i < 99; ++i) wrap();
    CHECK_NOTHROW(pickle_save(value));
    wrap();
    CHECK(says(error_of([&] { pickle_save(value); }), message));
  }
}

TEST_CASE("integers take four bytes where they fit, else eight") {
  const int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  for (const int64_t value : {low - 1, low, low + 1, int64_t{0}, high - 1, high, high + 1, -(int64_t{1} << 50)}) {
    CAPTURE(value);
    CHECK(pickle_load(pickle_save(value)).toInt() == value);
    std::vector<Tensor> storages;
    CHECK(serialize::pt::pickle(value, storages).size() == (value < low || value > high ? 13 : 8));
  }
}

TEST_CASE("old files are known by how they start") {
  const std::string magic = "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8P\x19.";
  const auto start = [](const std::string& file) { return serialize::pt::legacy_start(file); };
  for (const char version : {2, 3, 4, 5}) CHECK(start(std::string("\x80") + version + magic) == 15);
  CHECK(start("\x80\4\x95" + std::string(8, '\0') + magic) == 24);
  for (const char version : {0, 1, 6, 7}) CHECK(start(std::string("\x80") + version + magic) == 0);
  CHECK(start("\x81\2" + magic) == 0);
  CHECK(start("\x80\2" + magic.substr(0, 12)) == 0);
  CHECK(start("\x80\2x" + magic) == 0);
  for (const char* part : {"", "\x80", "\x80\2", "\x80\4\x95"}) CHECK(start(part) == 0);
  const std::string zip = "PK\3\4", zero(4, '\0');
  CHECK(serialize::pt::starts_as_pt(zip + zero + zero));
  CHECK(serialize::pt::starts_as_pt(zip + "\x14{{{{"));
  CHECK_FALSE(serialize::pt::starts_as_pt(zip + zero + "{"));  // a safetensors file with a header of 64 MB
  CHECK_FALSE(serialize::pt::starts_as_pt("PK\1\2"));
}

TEST_CASE("keys lead through several dictionaries to one of tensors") {
  GenericDict inner, outer, all;
  inner.insert("w", ones({2}));
  outer.insert("bc", inner);
  all.insert("a", outer);
  CHECK(serialize::state_dict_of(IValue(all), "a.bc").contains("w"));
  CHECK(says(error_of([&] { serialize::state_dict_of(IValue(all), "a.bc.w"); }), "expected a dictionary of tensors"));
  CHECK(says(error_of([&] { serialize::state_dict_of(IValue(all), "a.bc.w.x"); }), "'x' of 'a.bc.w.x' is looked for"));
  CHECK(
      says(error_of([&] { serialize::state_dict_of(IValue(5)); }), "expected a dictionary of tensors, got a value of"));
}

TEST_CASE("pipes are written in one piece, and not read") {
  const test::TempFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(says(error_of([&] { serialize::load_pt(path); }), "is not a regular file"));
  CHECK(says(error_of([&] { serialize::load_npz(path); }), "is not a regular file"));
  const IValue value(std::vector<IValue>{arange(70'000, kFloat), "text"});
  std::string read;
  std::thread reader([&] {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    read = std::move(all).str();
  });
  serialize::save_pt(path, value);
  reader.join();
  CHECK(read == serialize::pt_bytes(value));

  // Refused files are closed.
  const auto open_files = [] { return test::TempFolder::entries_of("/proc/self/fd"); };
  const int before = open_files();
  test::write_file(folder / "empty.pt", "");
  test::write_file(folder / "text.pt", "text");
  for (const char* name : {"pipe", "empty.pt", "text.pt"})
    CHECK_NE(error_of([&] { serialize::load_pt(folder / name); }), "");
  CHECK(open_files() == before);
}
