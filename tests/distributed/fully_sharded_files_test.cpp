// Checkpoints of FullyShardedDataParallel.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>

#include "tandem/models/gpt2.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/weights.h"
#include "tandem/parallel/fully_sharded/checkpoint_files.h"
#include "tandem/tests/distributed/fully_sharded.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::distributed {
namespace {

using test::says;
using test::TempFolder;
using testing::identical;
namespace fs = std::filesystem;

struct TiedImpl : nn::Module {
  explicit TiedImpl(const Tensor& shared) { weight = register_parameter("weight", shared); }
  Tensor forward(const Tensor& x) { return nn::functional::linear(x, weight); }
  Tensor weight;
};
TANDEM_MODULE(Tied);

// Units of several sizes, with a shared weight, buffers and a channels-last weight.
struct MixedImpl : nn::Module {
  MixedImpl() {
    blocks->push_back(nn::Conv2d(nn::Conv2dOptions(3, 6, 3).padding(1)));
    blocks->push_back(nn::BatchNorm2d(6));
    blocks->push_back(nn::Conv2d(nn::Conv2dOptions(6, 6, 3).padding(1)));
    register_module("blocks", blocks);
    first = register_module("first", nn::Linear(6, 6));
    again = register_module("again", Tied(first->weight));
    last = register_module("last", nn::Linear(6, 5));
    blocks->ptr<nn::Conv2dImpl>(2)->to(MemoryFormat::ChannelsLast);
  }
  Tensor forward(const Tensor& x) { return last(again(first(blocks->forward(x).mean({2, 3})).tanh())); }
  nn::Sequential blocks;
  nn::Linear first{nullptr}, last{nullptr};
  Tied again{nullptr};
};
TANDEM_MODULE(Mixed);

Mixed make() {
  const GeneratorGuard guard{Generator(3)};
  return Mixed();
}
using Model = FullyShardedDataParallel<MixedImpl>;

Tensor input(int rank, int step) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(1000 * step + rank + 1))};
  return randn({2, 3, 4, 4});
}

void train(Model& model, optim::Optimizer& optimizer, int rank, int from, int to) {
  for (int step = from; step < to; ++step) {
    optimizer.zero_grad();
    model->forward(input(rank, step)).pow(2).mean().backward();
    optimizer.step();
  }
}

// All values, whole.
std::map<std::string, Tensor> values_of(Model& model) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, value] : model->gather_parameters()) out.emplace(name, value);
  for (const auto& [name, value] : model->named_buffers()) out.emplace(name, value.clone());
  return out;
}

void check_same(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& item : a) {
    CAPTURE(item.first);
    REQUIRE(b.contains(item.first));
    CHECK(identical(item.second, b.at(item.first)));
  }
}

void check_same_files(const std::string& a, const std::string& b) {
  const auto one = serialize::load_safetensors(a), two = serialize::load_safetensors(b);
  REQUIRE(one.tensors.size() == two.tensors.size());
  for (const auto& item : one.tensors) {
    CAPTURE(item.key());
    REQUIRE(two.tensors.contains(item.key()));
    CHECK(identical(item.value(), two.tensors[item.key()]));
  }
  REQUIRE(one.metadata.size() == two.metadata.size());
  for (const auto& item : one.metadata) CHECK(two.metadata[item.key()] == item.value());
}

// The error of `body`, which all ranks must report alike; "" if nothing was thrown.
std::string error_on(int size, const std::function<void(const GroupPtr&)>& body) {
  const auto errors = errors_on_ranks(size, body);
  for (const std::string& error : errors) CHECK(error == errors[0]);
  return errors[0];
}

FullyShardedDataParallelOptions on(const GroupPtr& group, UnitRule rule = nullptr) {
  return {.process_group = group, .is_unit = std::move(rule)};
}

// A checkpoint of a model that has been trained for two steps.
void save_trained(const std::string& folder, int size, int steps = 2) {
  on_ranks(size, [&](const GroupPtr& group) {
    Model model(make(), on(group));
    const auto optimizer = adam()(model->parameters());
    train(model, *optimizer, group->rank(), 0, steps);
    save_checkpoint(*model, folder, optimizer.get());
  });
}

// What loading into a new model says; its values and its optimizer must be as before.
std::string load_error(const std::string& folder, const MakeOptimizer& make_optimizer = adam()) {
  return error_on(2, [&](const GroupPtr& group) {
    Model model(make(), on(group));
    const auto optimizer = make_optimizer(model->parameters());
    const auto before = values_of(model);
    try {
      load_checkpoint(*model, folder, optimizer.get());
    } catch (const Error&) {
      check_same(values_of(model), before);
      CHECK(optimizer->state().empty());
      CHECK(optimizer->param_groups()[0].options().get_lr() ==
            make_optimizer(model->parameters())->defaults().get_lr());
      throw;
    }
  });
}

}  // namespace

TEST_CASE("training goes on with the same bits after any number of processes and other units have had it") {
  if (!available()) return;
  const auto single = [](const std::string&, const nn::Module&) { return false; };
  const auto each = [](const std::string&, const nn::Module& m) { return !m.parameters(false).empty(); };
  for (const MakeOptimizer& make_optimizer : {adam(), sgd()})
    for (const int size : {2, 3, 4}) {
      CAPTURE(size);
      const TempFolder folder;
      std::map<std::string, Tensor> expected;
      on_ranks(size, [&](const GroupPtr& group) {
        Model model(make(), on(group));
        const auto optimizer = make_optimizer(model->parameters());
        train(model, *optimizer, group->rank(), 0, 2);
        optimizer->param_groups()[0].options().set_lr(0.002);
        save_checkpoint(*model, folder / "first", optimizer.get());
        train(model, *optimizer, group->rank(), 2, 4);
        const auto values = values_of(model);
        if (group->rank() == 0) expected = values;
      });
      for (const int other : {1, 2, 3, 4}) {
        CAPTURE(other);
        on_ranks(other, [&](const GroupPtr& group) {
          Model model(make(), on(group, other % 2 == 1 ? UnitRule(single) : UnitRule(each)));
          const auto optimizer = make_optimizer(model->parameters());
          train(model, *optimizer, group->rank(), 5, 6);  // is forgotten
          load_checkpoint(*model, folder / "first", optimizer.get());
          save_checkpoint(*model, folder / "second", optimizer.get());
        });
        check_same_files(folder / "first", folder / "second");
        check_same_files(folder / "first/optimizer", folder / "second/optimizer");
        on_ranks(size, [&](const GroupPtr& group) {
          Model model(make(), on(group));
          const auto optimizer = make_optimizer(model->parameters());
          load_checkpoint(*model, folder / "second", optimizer.get());
          train(model, *optimizer, group->rank(), 2, 4);
          const auto values = values_of(model);
          if (group->rank() == 0) check_same(values, expected);
        });
      }
      CHECK(folder.entries() == 2);
    }
}

TEST_CASE("a plain model reads the folder and the index; a merged file is read back") {
  if (!available()) return;
  const TempFolder folder;
  on_ranks(3, [&](const GroupPtr& group) {
    Model model(make(), on(group));
    const auto optimizer = sgd()(model->parameters());
    train(model, *optimizer, group->rank(), 0, 2);
    save_checkpoint(*model, folder / "saved");
    const auto values = values_of(model);
    if (group->rank() != 0) return;
    for (const char* path : {"saved", "saved/model.safetensors.index.json"}) {
      Mixed plain;
      serialize::load_safetensors(*plain, folder / path);
      CHECK(plain->first->weight.is_same(plain->again->weight));
      for (const auto& [name, value] : plain->named_parameters()) CHECK(identical(value.detach(), values.at(name)));
      for (const auto& [name, value] : plain->named_buffers()) CHECK(identical(value, values.at(name)));
    }
    CHECK(TempFolder::entries_of(folder / "saved") == 4);
    const auto all = serialize::load_safetensors(folder / "saved");
    serialize::save_safetensors(folder / "merged.safetensors", all.tensors, all.metadata);
  });
  on_ranks(2, [&](const GroupPtr& group) {
    Model model(make(), on(group)), merged(make(), on(group));
    load_checkpoint(*model, folder / "saved");
    load_checkpoint(*merged, folder / "merged.safetensors");
    check_same(values_of(model), values_of(merged));
  });
}

TEST_CASE("a file has whole tensors of its units, one file for each process that has any") {
  if (!available()) return;
  const TempFolder folder;
  on_ranks(4, [&](const GroupPtr& group) {
    FullyShardedDataParallel<nn::SequentialImpl> model(nn::Sequential(nn::Linear(4, 4), nn::Linear(4, 32)), on(group));
    save_checkpoint(*model, folder / "saved/");
  });
  CHECK(TempFolder::entries_of(folder / "saved") == 3);
  const auto first = serialize::load_safetensors(folder / "saved/model-00001-of-00002.safetensors");
  CHECK(first.tensors.keys() == std::vector<std::string>{"1.weight", "1.bias"});
  CHECK(first.tensors["1.weight"].sizes() == IntArrayRef{32, 4});
}

TEST_CASE("an optimizer without state, groups with options of their own, and frozen parameters") {
  if (!available()) return;
  const TempFolder folder;
  on_ranks(2, [&](const GroupPtr& group) {
    const auto wrapped = [&] {
      auto net = make();
      for (const Tensor& p : net->first->parameters()) p.requires_grad_(false);
      return Model(net, on(group));
    };
    const auto two_groups = [](Model& model, double rate) {
      const Tensors all = model->parameters();
      const auto options = [&](double lr) { return std::make_unique<optim::SGDOptions>(lr); };
      std::vector<optim::OptimizerParamGroup> groups;
      groups.emplace_back(Tensors{all[0]}, options(rate));
      groups.emplace_back(Tensors(all.begin() + 1, all.end()), options(rate / 10));
      return optim::SGD(groups, optim::SGDOptions(1));
    };
    Model model = wrapped();
    const optim::SGD saved = two_groups(model, 0.5);
    save_checkpoint(*model, folder / "saved", &saved);
    Model other = wrapped();
    optim::SGD loaded = two_groups(other, 0.25);
    load_checkpoint(*other, folder / "saved", &loaded);
    CHECK(loaded.param_groups()[0].options().get_lr() == 0.5);
    CHECK(loaded.param_groups()[1].options().get_lr() == 0.05);
    optim::SGD one_group(other->parameters(), 0.1);
    CHECK_THROWS_WITH(load_checkpoint(*other, folder / "saved", &one_group), doctest::Contains("parameter group 0"));
  });
}

TEST_CASE("the next checkpoint replaces the folder, which must have no other files") {
  if (!available()) return;
  const TempFolder folder;
  save_trained(folder / "saved", 3);
  save_trained(folder / "saved", 2);
  CHECK(TempFolder::entries_of(folder / "saved") == 4);  // two files, the index and the optimizer's folder
  CHECK(TempFolder::entries_of(folder / "saved/optimizer") == 3);
  CHECK(folder.entries() == 1);
  test::write_file(folder / "saved/optimizer/notes.txt", "keep me");
  const std::string error = error_on(2, [&](const GroupPtr& group) {
    Model model(make(), on(group));
    save_checkpoint(*model, folder / "saved");
  });
  CHECK_MESSAGE(says(error, "rank 0: "), error);
  CHECK_MESSAGE(says(error, "saved/optimizer: has notes.txt, which is not of a checkpoint"), error);
  CHECK(test::read_file(folder / "saved/optimizer/notes.txt") == "keep me");
  CHECK(folder.entries() == 1);
}

TEST_CASE("when a process cannot write, the old checkpoint stays and nothing else") {
  if (!available()) return;
  const TempFolder folder;
  save_trained(folder / "saved", 2);
  const auto before = serialize::load_safetensors(folder / "saved");
  for (const int wrong : {0, 1, 2}) {
    CAPTURE(wrong);
    const std::string error = error_on(3, [&](const GroupPtr& group) {
      Model model(make(), on(group));
      const auto optimizer = adam()(model->parameters());
      train(model, *optimizer, group->rank(), 0, 1);
      save_checkpoint(*model, folder / (group->rank() == wrong ? "missing/saved" : "saved"), optimizer.get());
    });
    CHECK_MESSAGE(says(error, concat("save_checkpoint: rank ", wrong, ": cannot write ")), error);
    CHECK_MESSAGE(says(error, "missing"), error);
    CHECK(folder.entries() == 1);
    const auto after = serialize::load_safetensors(folder / "saved");
    REQUIRE(after.tensors.size() == before.tensors.size());
    for (const auto& item : after.tensors) CHECK(identical(item.value(), before.tensors[item.key()]));
    CHECK(load_error(folder / "saved") == "");
  }
}

TEST_CASE("when a file does not fit on the disk, the old checkpoint stays and nothing else") {
  if (!available()) return;
  const TempFolder folder;
  std::vector<std::string> errors(2);
  on_ranks(2, [&](const GroupPtr& group) {
    FullyShardedDataParallel<nn::SequentialImpl> model(nn::Sequential(nn::Linear(64, 64), nn::Linear(4, 4)), on(group));
    save_checkpoint(*model, folder / "saved");
    const auto before = model->gather_parameters();
    {
      const NoGradGuard no_grad;
      for (Tensor slice : model->parameters()) slice.add_(1);
    }
    rlimit limit{};
    if (group->rank() == 0) {  // of the process; the second file fits
      REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
      const rlimit small{4000, limit.rlim_max};
      REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    }
    group->barrier()->wait();
    errors[static_cast<std::size_t>(group->rank())] =
        test::error_of([&] { save_checkpoint(*model, folder / "saved"); });
    if (group->rank() == 0) REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    group->barrier()->wait();
    CHECK(folder.entries() == 1);
    load_checkpoint(*model, folder / "saved");
    for (const auto& [name, value] : model->gather_parameters()) CHECK(identical(value, before[name]));
  });
  CHECK(errors[0] == errors[1]);
  CHECK_MESSAGE(says(errors[0], "save_checkpoint: rank 0: cannot write "), errors[0]);
  CHECK_MESSAGE(says(errors[0], "model-00001-of-00002.safetensors: File too large"), errors[0]);
}

TEST_CASE("what a killed process has left is not read, and removed by the next checkpoint") {
  if (!available()) return;
  const TempFolder folder;
  save_trained(folder / "saved", 2);
  fs::create_directory(folder / ".saved.new");
  test::write_file(folder / ".saved.new/model-00001-of-00002.safetensors", "half");
  CHECK(load_error(folder / "saved") == "");
  fs::rename(folder / "saved", folder / ".saved.old");  // between the renames of a file system that cannot exchange
  CHECK(load_error(folder / "saved") == "");
  CHECK(folder.entries() == 2);
  save_trained(folder / "saved", 3, 3);
  CHECK(folder.entries() == 1);
  CHECK(load_error(folder / "saved") == "");
}

TEST_CASE("a process that leaves during the save") {
  if (!available()) return;
  const TempFolder folder;
  save_trained(folder / "saved", 2);
  const auto errors = errors_on_ranks(3, [&](const GroupPtr& group) {
    Model model(make(), on(group));
    if (group->rank() == 2) return;
    save_checkpoint(*model, folder / "saved");
  });
  CHECK(errors[0] != "");
  CHECK(errors[1] != "");
  CHECK(load_error(folder / "saved") == "");
  CHECK(folder.entries() == 1);
}

TEST_CASE("damaged and other checkpoints are refused, and nothing changes") {
  if (!available()) return;
  const TempFolder folder;
  const std::string saved = folder / "saved", shard = folder / "saved/model-00002-of-00002.safetensors",
                    state = folder / "saved/optimizer/optimizer-00001-of-00002.safetensors";
  const auto refused = [&](const std::string& what, const MakeOptimizer& optimizer = adam()) {
    const std::string error = load_error(saved, optimizer);
    CHECK_MESSAGE(says(error, "load_checkpoint: rank 0: "), error);
    CHECK_MESSAGE(says(error, what), "expected ", what, ", got ", error);
    fs::remove_all(saved);
    save_trained(saved, 2);
  };
  save_trained(saved, 2);
  for (const std::string& file : {shard, state}) {
    const std::string content = test::read_file(file), name = file.substr(saved.size() + 1);
    test::write_file(file, content.substr(0, content.size() - 5));
    refused(name);
    test::write_file(file, "garbage that is long enough for a header");
    refused(name);
    fs::remove(file);
    refused(name);
    std::string flipped = content;
    flipped[flipped.size() - 3] = static_cast<char>(flipped[flipped.size() - 3] ^ 1);
    test::write_file(file, flipped);
    const std::string error = load_error(saved);  // one process verifies the tensor
    CHECK_MESSAGE(says(error, name), error);
    CHECK_MESSAGE(says(error, "has CRC-32"), error);
    fs::remove_all(saved);
    save_trained(saved, 2);
  }
  fs::remove_all(folder / "saved/optimizer");
  refused("saved without an optimizer");
  refused("Adam", sgd());
  const auto edit = [&](const std::function<void(OrderedDict<std::string, Tensor>&)>& change) {
    auto all = serialize::load_safetensors(saved);
    change(all.tensors);
    for (const char* number : {"1", "2"})
      fs::remove(folder / concat("saved/model-0000", number, "-of-00002.safetensors"));
    fs::remove(folder / "saved/model.safetensors.index.json");
    serialize::save_safetensors(folder / "saved/model.safetensors", all.tensors, all.metadata);
  };
  edit([](auto& tensors) { tensors.erase("last.bias"); });
  refused("missing:\n    last.bias");
  edit([](auto& tensors) { tensors.erase("blocks.1.running_var"); });
  refused("missing:\n    blocks.1.running_var");
  edit([](auto& tensors) { tensors.insert("extra", ones({2})); });
  refused("unexpected:\n    extra");
  edit([](auto& tensors) { tensors["last.weight"] = ones({5, 7}); });
  refused("last.weight: is [5, 6] here, [5, 7] in the file");
  edit([](auto& tensors) { tensors["blocks.1.weight"] = ones({7}); });
  refused("blocks.1.weight: is [6] here, [7] in the file");
}

TEST_CASE("GPT-2, whose head shares the weight of its embedding, in a half dtype") {
  if (!available()) return;
  const TempFolder folder;
  const auto make_gpt2 = [] {
    const GeneratorGuard guard{Generator(5)};
    models::GPT2LMHeadModel net(models::GPT2Options().vocab_size(37).n_positions(16).n_embd(24).n_layer(3).n_head(3));
    net->to(kBFloat16);
    return net;
  };
  using Gpt2 = FullyShardedDataParallel<models::GPT2LMHeadModel::ContainedType>;
  on_ranks(2, [&](const GroupPtr& group) {
    Gpt2 model(make_gpt2(), on(group));
    save_checkpoint(*model, folder / "saved");
  });
  auto plain = make_gpt2();
  const auto expected = make_gpt2();
  for (const Tensor& p : plain->parameters()) p.detach().zero_();
  serialize::load_safetensors(*plain, folder / "saved");
  for (const auto& [name, value] : plain->named_parameters())
    CHECK(identical(value.detach(), expected->named_parameters()[name].detach()));
  on_ranks(3, [&](const GroupPtr& group) {
    auto net = make_gpt2();
    for (const Tensor& p : net->parameters()) p.detach().zero_();
    Gpt2 model(net, on(group));
    load_checkpoint(*model, folder / "saved");
    for (const auto& [name, value] : model->gather_parameters())
      CHECK(identical(value, expected->named_parameters()[name].detach()));
  });
}

}  // namespace tandem::distributed
