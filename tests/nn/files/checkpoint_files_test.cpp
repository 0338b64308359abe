// Checkpoints in several safetensors files, and reading files straight into a module.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/nn/files/prefix.h"
#include "tandem/nn/files/safetensors_index.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/sequential.h"
#include "tandem/nn/serialize.h"
#include "tandem/nn/weights.h"
#include "tandem/tests/sanitized.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using serialize::load_safetensors;
using serialize::save_safetensors;
using serialize::WeightsOptions;
using test::error_of;
using test::says;
using test::TempFolder;

namespace {

using State = OrderedDict<std::string, Tensor>;

void check_same(const State& a, const State& b) {
  CHECK(a.keys() == b.keys());
  for (const auto& item : a) {
    const Tensor* other = b.find(item.key());
    REQUIRE(other != nullptr);
    CHECK((other->dtype() == item.value().dtype()));
    CHECK(equal(*other, item.value()));
  }
}

State sample() {
  return {{"a.weight", arange(6, kFloat).view({2, 3})},
          {"a.bias", arange(2, kFloat)},
          {"large", arange(40, kDouble)},
          {"mask", ones({3}, TensorOptions(kBool))},
          {"none", zeros({0, 2})}};
}

// Puts 40 bytes of elements at most into a file: a.weight + a.bias, large alone, mask + none.
TempFolder& sharded(TempFolder& folder) {
  CHECK_EQ(serialize::save_sharded_safetensors(folder / "model.safetensors", sample(), 40, {{"format", "pt"}}), 3);
  return folder;
}
const std::string kFirst = "model-00001-of-00003.safetensors", kThird = "model-00003-of-00003.safetensors",
                  kIndex = "model.safetensors.index.json";

nn::Sequential net() { return nn::Sequential(nn::Linear(5, 4), nn::BatchNorm1d(4)); }

}  // namespace

TEST_CASE("a sharded checkpoint is one checkpoint") {
  TempFolder folder;
  sharded(folder);
  CHECK_EQ(folder.entries(), 4);
  const serialize::SafeTensors first = load_safetensors(folder / kFirst);
  CHECK(first.tensors.keys() == std::vector<std::string>{"a.weight", "a.bias"});
  CHECK_EQ(first.metadata["format"], "pt");
  for (const std::string& path : {folder / kIndex, folder.path()}) {
    const serialize::SafeTensors all = load_safetensors(path);
    check_same(all.tensors, sample());
    CHECK_EQ(all.metadata["format"], "pt");
  }
  const std::string text = test::read_file(folder / kIndex);
  CHECK(says(text, "\"total_size\": 355"));
  CHECK(says(text, "\"large\": \"model-00002-of-00003.safetensors\""));

  save_safetensors(folder / "other.safetensors", sample());
  check_same(load_safetensors(folder.path()).tensors, sample());  // the index counts
  test::write_file(folder / "b.safetensors.index.json", text);
  CHECK(says(error_of([&] { load_safetensors(folder.path()); }), "several checkpoints"));
}

TEST_CASE("a folder with one file, with none and with several") {
  const TempFolder folder;
  CHECK(says(error_of([&] { load_safetensors(folder.path()); }), "is a folder without"));
  save_safetensors(folder / "x.safetensors", sample());
  check_same(load_safetensors(folder.path()).tensors, sample());
  save_safetensors(folder / "y.safetensors", sample());
  CHECK(says(error_of([&] { load_safetensors(folder.path()); }), "several checkpoints"));
}

TEST_CASE("a folder that cannot be used is described") {
  const TempFolder folder;
  for (const char* name : {"c", "a", "e", "d", "b"}) test::write_file(folder / name + ".safetensors", "");
  const std::string several = error_of([&] { load_safetensors(folder.path()); });
  CHECK(says(several, folder / "a.safetensors, " + (folder / "b.safetensors, …")));

  const TempFolder shardless;
  test::write_file(shardless / "x.safetensors.index.json", R"({"weight_map": {"w": "lost.safetensors"}})");
  CHECK(says(error_of([&] { load_safetensors(shardless.path()); }), "lost.safetensors: cannot be opened"));

  if (test::kSanitized) return;  // the sanitizer opens a pipe to see whether an object can be read
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  rlimit none = files;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const std::string unread = error_of([&] { load_safetensors(folder.path()); });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
  CHECK(says(unread, ": cannot be read: "));
}

TEST_CASE("an index as other programs write it") {
  const std::string text =
      R"({"metadata": {"total_size": 1.2e1, "x": [true, null, -0.5, {"y": []}, [""]]}, "weight_map": {"b": "s", "a": "s"}, "more": 1})";
  const auto shard_of = serialize::parse_index(text, "i");
  CHECK(shard_of.keys() == std::vector<std::string>{"b", "a"});
  CHECK_EQ(shard_of["a"], "s");
  const std::string escaped = R"({"weight_map": {"\u20AC\u00e9\uD83D\uDe0a\u0041\b\f\n\r\t\/\"\\": "s"}})";
  CHECK_EQ(serialize::parse_index(escaped, "i").keys()[0], "\u20ac\u00e9\U0001f60aA\b\f\n\r\t/\"\\");
}

TEST_CASE("shards must be what the index says") {
  TempFolder folder;
  const std::string index = test::read_file(sharded(folder) / kIndex);
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string changed = index;
    REQUIRE(says(changed, from));
    changed.replace(changed.find(from), from.size(), to);
    test::write_file(folder / kIndex, changed);
    return error_of([&] { load_safetensors(folder.path()); });
  };
  CHECK(says(refusal("\"large\"", "\"larger\""), "has the tensor 'large', which"));
  CHECK(says(refusal("\"large\": \"model-00002-of-00003.safetensors\",", ""), "cannot be opened") == false);
  CHECK(says(refusal("\"mask\": \"" + kThird + "\",", ""), "does not list"));
  CHECK(says(refusal("\"mask\": \"" + kThird, "\"mask\": \"" + kFirst), "lists for " + kFirst));
  CHECK(says(refusal("\"mask\"", "\"x\": \"" + kFirst + "\", \"mask\""), kFirst + ": lacks the tensor 'x'"));
  CHECK(says(refusal(kThird, "model-00004-of-00003.safetensors"), "cannot be opened"));
  CHECK(says(refusal("weight_map", "weights"), "lacks weight_map"));
  std::filesystem::resize_file(folder / kIndex, serialize::kMaxHeaderBytes + 1);
  CHECK(says(error_of([&] { load_safetensors(folder.path()); }), "bytes, more than the limit of 100000000"));
  for (const char* outside : {"../x.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000"})
    CHECK(says(refusal(kThird, outside), "not the name of a file"));

  test::write_file(folder / kIndex, index);
  std::string third = test::read_file(folder / kThird);
  third[third.size() - 1] ^= 1;
  test::write_file(folder / kThird, third);
  CHECK(says(error_of([&] { load_safetensors(folder.path()); }), kThird + ": damaged: tensor 'mask'"));
  third.pop_back();
  test::write_file(folder / kThird, third);
  CHECK(says(error_of([&] { load_safetensors(folder.path()); }), "is truncated"));
}

TEST_CASE("what cannot be written in shards") {
  const TempFolder folder;
  CHECK(says(error_of([&] { serialize::save_sharded_safetensors(folder / "x.pt", sample(), 10); }), "must end with"));
  CHECK(says(error_of([&] { serialize::save_sharded_safetensors(folder / "x.safetensors", sample(), 0); }), "1 byte"));
  const State bad{{"a", ones({3})}, {"z", zeros({2}, kComplexDouble)}};
  CHECK(says(error_of([&] { serialize::save_sharded_safetensors(folder / "x.safetensors", bad, 4); }), "complex128"));
  CHECK_EQ(folder.entries(), 0);
  std::filesystem::create_symlink("/dev/null", folder / "x-00001-of-00001.safetensors");
  CHECK(says(error_of([&] {
               serialize::save_sharded_safetensors(folder / "x.safetensors", {{"a", ones({3})}}, 99);
             }),
             "is not a regular file"));
  CHECK_EQ(folder.entries(), 1);
}

TEST_CASE("a file is read straight into a module, across dtypes") {
  const TempFolder folder;
  for (const ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    nn::Sequential from = net(), to = net();
    State state;
    for (const auto& item : from->state_dict())
      state.insert("model." + item.key(),
                   is_floating_point(item.value().dtype()) ? item.value().to(dtype) : item.value().add(3));
    save_safetensors(folder / "x.safetensors", state);
    const nn::LoadResult result = load_safetensors(*to, folder / "x.safetensors", WeightsOptions{.prefix = "model."});
    CHECK(result.missing_keys.empty());
    for (const auto& item : to->state_dict()) {
      CHECK(equal(item.value(), state["model." + item.key()].to(item.value().dtype())));
      CHECK_EQ(item.value().requires_grad(), false);
    }
  }
}

TEST_CASE("shards are filled in order up to their limit") {
  const TempFolder folder;
  State state;
  for (const int64_t size : {4, 4, 8, 12, 3, 6, 2})
    state.insert(std::to_string(state.size()), ones({size}, TensorOptions(kByte)));
  CHECK_EQ(serialize::save_sharded_safetensors(folder / "x.safetensors", state, 8), 5);
  const std::vector<std::vector<std::string>> expected{{"0", "1"}, {"2"}, {"3"}, {"4"}, {"5", "6"}};
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(load_safetensors(folder / concat("x-0000", i + 1, "-of-00005.safetensors")).tensors.keys() == expected[i]);
  CHECK_EQ(serialize::save_sharded_safetensors(folder / "y.safetensors", {{"a", ones({2})}}, 1), 1);
}

TEST_CASE("pipes are written in one piece, and not read") {
  const TempFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto open_files = [] { return TempFolder::entries_of("/proc/self/fd"); };
  const int before = open_files();
  CHECK(says(error_of([&] { serialize::SafeTensorsReader reader(path); }), "is not a regular file"));
  std::string read;
  std::thread reader([&] { read = test::read_file(path); });
  save_safetensors(path, sample());
  reader.join();
  CHECK(read == serialize::safetensors_bytes(sample()));
  save_safetensors(folder / "x.safetensors", sample());
  load_safetensors(folder / "x.safetensors");
  CHECK(open_files() == before);
}

TEST_CASE("backward notices that a saved parameter was loaded") {
  const TempFolder folder;
  nn::Linear layer(3, 2);
  save_safetensors(folder / "x.safetensors", layer->state_dict());
  const Tensor out = layer(ones({1, 3}).requires_grad_()).sum();
  load_safetensors(*layer, folder / "x.safetensors");
  CHECK(says(error_of([&] { out.backward(); }), "load"));
}

TEST_CASE("a module is unchanged when its file does not fit or is damaged") {
  const TempFolder folder;
  nn::Sequential from = net(), to = net();
  const std::string path = folder / "x.safetensors";
  save_safetensors(path, from->state_dict());
  State before;
  for (const auto& item : to->state_dict()) before.insert(item.key(), item.value().clone());

  std::string bytes = test::read_file(path);
  bytes[bytes.size() - 1] ^= 64;
  test::write_file(path, bytes);
  CHECK(says(error_of([&] { load_safetensors(*to, path); }), "damaged"));
  check_same(to->state_dict(), before);
  CHECK(says(error_of([&] { load(to, path); }), "damaged"));
  check_same(to->state_dict(), before);
  nn::Linear smaller(4, 4);
  save_safetensors(path, smaller->state_dict());
  const std::string error = error_of([&] { load_safetensors(*to, path, WeightsOptions{.prefix = "x."}); });
  CHECK(says(error, "missing:"));
  check_same(to->state_dict(), before);
  CHECK(says(error_of([&] { load_safetensors(*to, path, WeightsOptions{.key = "model"}); }), "not a .pt file"));
}

TEST_CASE("memory while loading") {
  const TempFolder folder;
  nn::Linear large(1024, 2048), other(1024, 2048);
  for (const ScalarType dtype : {kFloat, kHalf}) {
    State state;
    for (const auto& item : large->state_dict()) state.insert(item.key(), item.value().to(dtype));
    save_safetensors(folder / "x.safetensors", state);
    state.clear();
    const int64_t before = memory_stats(Device(kCPU)).current_bytes;
    reset_peak_memory_stats(Device(kCPU));
    load_safetensors(*other, folder / "x.safetensors");
    load(other, folder / "x.safetensors");
    CHECK(memory_stats(Device(kCPU)).peak_bytes - before <= (dtype == kFloat ? 0 : 2 << 20));
    reset_peak_memory_stats(Device(kCPU));
    const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(folder / "x.safetensors"));
    load_safetensors(folder / "x.safetensors");
    CHECK(memory_stats(Device(kCPU)).peak_bytes - before <= file_bytes + file_bytes / 100);
  }
}

TEST_CASE("a file that becomes shorter, and elements at any address") {
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  save_safetensors(path, {{"a", arange(1 << 20, kFloat)}});
  const serialize::SafeTensorsReader reader(path, serialize::Checksums::kIgnore);
  std::filesystem::resize_file(path, 1 << 20);
  CHECK(says(error_of([&] { reader.read(nullopt); }), "x.safetensors: cannot be read: it has become shorter"));
  const Tensor target = zeros({1 << 20});
  CHECK(says(error_of([&] { reader.read_into({{0, target}}); }), "become shorter"));

  const std::string header = R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  const uint64_t size = header.size();
  REQUIRE(size % 8 != 0);
  const double values[] = {1.5, 1.5};
  std::string bytes(reinterpret_cast<const char*>(&size), 8);
  bytes += header + std::string(reinterpret_cast<const char*>(values), sizeof values);
  test::write_file(path, bytes);
  CHECK(equal(load_safetensors(path).tensors["a"], full({2}, 1.5, TensorOptions(kDouble))));
}

TEST_CASE("prefixes") {
  CHECK(serialize::without_prefix(std::vector<std::string>{"m.a", "b", "m."}, "m.") ==
        std::vector<std::string>{"a", "b", ""});
  CHECK(says(error_of([&] {
               serialize::without_prefix(std::vector<std::string>{"m.a", "a"}, "m.");
             }),
             "two tensors would be called 'a'"));
  const State state{{"m.a", ones({1})}};
  CHECK(serialize::without_prefix(state, "m.").contains("a"));
}

TEST_CASE("an archive that reads late has what the file had") {
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  save_safetensors(path, {{"a", ones({2})}, {"b.c", full({1}, 3.0)}}, {{"text", "t"}});
  serialize::InputArchive late(true), part;
  late.load_from(path);
  std::string text;
  late.read("text", text);
  CHECK_EQ(text, "t");
  save_safetensors(path, {{"a", zeros({2})}});  // another file of this name
  late.read("b", part);
  Tensor a, c;
  part.read("c", c);
  late.read("a", a);
  CHECK(equal(a, ones({2})));
  CHECK_EQ(c.item<float>(), 3);
  late.load_from(path);
  CHECK_FALSE(late.contains("b.c"));
  CHECK(late.contains("a"));
}
