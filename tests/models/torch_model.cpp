// Runs one model for torch_models.py.
//
//   torch_model names NAME                     prints the state dict, one "name dtype shape" per line
//   torch_model run NAME train|eval IN OUT     IN has the state dict under "state.", "input" and "cotangent"; OUT gets
//                                              "output", the gradients of the parameters under "gradient." and the
//                                              buffers after the call under "buffer."
//   torch_model generate COUNT IN OUT          continues the tokens "input" greedily with gpt2_small; OUT gets "output"
#include <cstdio>
#include <string_view>

#include "tandem/autograd/ops.h"
#include "tandem/models/generate.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/tests/models/zoo.h"

namespace tandem {
namespace {

void print_names(const std::string& name) {
  const nn::init::SkipGuard no_values;
  for (const auto& item : test::make_any_model(name).ptr()->state_dict())
    std::puts(concat(item.key(), " ", item.value().dtype(), " ", item.value().sizes()).c_str());
}

OrderedDict<std::string, Tensor> state_of(const serialize::SafeTensors& file) {
  OrderedDict<std::string, Tensor> state;
  const std::string prefix = "state.";
  for (const auto& item : file.tensors)
    if (item.key().starts_with(prefix)) state.insert(item.key().substr(prefix.size()), item.value());
  return state;
}

void generate(int64_t count, const std::string& in, const std::string& out) {
  const std::shared_ptr<nn::Module> module = test::make_any_model("gpt2_small").ptr();
  const serialize::SafeTensors file = serialize::load_safetensors(in);
  module->load_state_dict(state_of(file));
  module->eval();
  const models::GPT2LMHeadModel model(std::dynamic_pointer_cast<models::GPT2LMHeadModelImpl>(module));
  OrderedDict<std::string, Tensor> results;
  results.insert("output", models::generate(model, file.tensors["input"],
                                            models::GenerateOptions{.max_new_tokens = count, .temperature = 0}));
  serialize::save_safetensors(out, results);
}

void run(const std::string& name, bool training, const std::string& in, const std::string& out) {
  const nn::init::SkipGuard values_follow;
  nn::AnyModule model = test::make_any_model(name);
  const std::shared_ptr<nn::Module> module = model.ptr();
  const serialize::SafeTensors file = serialize::load_safetensors(in);
  const Tensor input = file.tensors["input"], cotangent = file.tensors["cotangent"];
  module->to(cotangent.dtype());
  module->load_state_dict(state_of(file));
  module->train(training);
  module->apply([](nn::Module& part) {
    if (auto* dropout = part.as<nn::Dropout>()) dropout->options.p(0);
  });
  const Tensor output = model.forward(input);
  (output * cotangent).sum().backward();
  OrderedDict<std::string, Tensor> results;
  results.insert("output", output.detach());
  for (const auto& item : module->named_parameters()) results.insert("gradient." + item.key(), item.value().grad());
  for (const auto& item : module->named_buffers()) results.insert("buffer." + item.key(), item.value());
  serialize::save_safetensors(out, results);
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  if (argc == 3 && argv[1] == std::string_view("names"))
    tandem::print_names(argv[2]);
  else if (argc == 6 && argv[1] == std::string_view("run"))
    tandem::run(argv[2], argv[3] == std::string_view("train"), argv[4], argv[5]);
  else if (argc == 5 && argv[1] == std::string_view("generate"))
    tandem::generate(std::stoll(argv[2]), argv[3], argv[4]);
  else
    return 2;
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "torch_model: %s\n", error.what());
  return 1;
}
