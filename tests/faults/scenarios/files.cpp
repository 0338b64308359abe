// Tandem's own files, and NumPy's arrays.
#include "tandem/nn/files/npy.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenarios/formats.h"

namespace tandem::faults {
namespace {

// A network, its optimizer and a scheduler: what a checkpoint holds.
struct Training {
  nn::Sequential net = nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  optim::Adam adam{net->parameters(), optim::AdamOptions(1e-2)};
  void step(double scale) {
    adam.zero_grad();
    (net->forward(arange(12, kFloat).view({3, 4})) * scale).pow(2).mean().backward();
    adam.step();
  }
};

void save_checkpoint(const std::string& path, const State& state) {
  manual_seed(1);
  Training training;
  training.step(state["large"][0].item<double>());
  serialize::OutputArchive model, optimizer, all;
  training.net->save(model);
  training.adam.save(optimizer);
  all.write("model", model);
  all.write("optimizer", optimizer);
  all.write("epoch", int64_t{3});
  all.write("rate", 0.1);
  all.save_to(path);
}

void load_checkpoint(const std::string& path, Sum& sum) {
  manual_seed(2);
  Training training;
  serialize::InputArchive all, model, optimizer;
  all.load_from(path);
  all.read("model", model);
  all.read("optimizer", optimizer);
  training.net->load(model);
  training.adam.load(optimizer);
  training.step(1);
  sum.add(training.net->parameters());
}

void save_module(const std::string& path, const State& state) {
  manual_seed(static_cast<uint64_t>(state["large"][0].item<double>()));
  save(nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2)), path);
}

void load_module(const std::string& path, Sum& sum) {
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  load(net, path);
  sum.add(net->parameters());
}

const AddScenarios added(of_formats({
    {"safetensors", "model.safetensors",
     [](const std::string& path, const State& state) {
       serialize::save_safetensors(path, state, {{"note", "of a test"}});
     },
     [](const std::string& path, Sum& sum) { add(serialize::load_safetensors(path).tensors, sum); }},
    {"shards", "model.safetensors",
     [](const std::string& path, const State& state) { serialize::save_sharded_safetensors(path, state, 40); },
     [](const std::string& path, Sum& sum) { add(serialize::load_safetensors(path + ".index.json").tensors, sum); }},
    {"npy", "array.npy", [](const std::string& path, const State& state) { serialize::save_npy(path, state["large"]); },
     [](const std::string& path, Sum& sum) { sum.add(serialize::load_npy(path)); }},
    {"module", "net.safetensors", save_module, load_module},
    {"checkpoint", "checkpoint.safetensors", save_checkpoint, load_checkpoint},
}));

}  // namespace
}  // namespace tandem::faults
