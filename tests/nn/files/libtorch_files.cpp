// libtorch_files FOLDER: writes the files of the folder libtorch, which libtorch_test.cpp and pt_test.cpp read. Needs
// PyTorch (2.15 wrote them). With TORCH=$(python3 -c "import torch; print(torch.__path__[0])"):
//
//   g++ -std=c++20 -w -I$TORCH/include -I$TORCH/include/torch/csrc/api/include libtorch_files.cpp -L$TORCH/lib
//     -ltorch -ltorch_cpu -lc10 -Wl,-rpath,$TORCH/lib -o libtorch_files
#include <torch/script.h>
#include <torch/torch.h>

#include <string>

namespace {

struct BlockImpl : torch::nn::Module {
  BlockImpl() {
    register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 2, 3).bias(false)));
    register_module("bn", torch::nn::BatchNorm2d(2));
    register_parameter("scale", torch::zeros({2, 1, 1}));
    register_buffer("steps", torch::tensor({3, 4}, torch::kLong));
  }
};
TORCH_MODULE(Block);
struct NetImpl : torch::nn::Module {
  NetImpl() {
    register_module("block", Block());
    register_module("seq", torch::nn::Sequential(torch::nn::Linear(2, 3), torch::nn::ReLU(), torch::nn::Linear(3, 1)));
    register_parameter("shift", torch::zeros({4}));
  }
};
TORCH_MODULE(Net);

// Parameter k has the values k, k + 1/8, …
void fill(const std::vector<torch::Tensor>& parameters) {
  torch::NoGradGuard no_grad;
  for (size_t k = 0; k < parameters.size(); ++k)
    parameters[k].copy_((torch::arange(parameters[k].numel()) / 8. + double(k)).view(parameters[k].sizes()));
}

torch::Tensor loss_of(const std::vector<torch::Tensor>& p) {
  return (p[0].pow(2).sum() - 3 * p[0].sum()) / 4 + (p[1] - p[0][0]).pow(4).sum() / 8 + p[1].sum();
}

// Two parameters and their optimizer after some steps. Parameter 1 has a group of its own where there can be two.
template <class Optimizer, class Options>
struct Run {
  Run(const Options& options, bool two_groups, int steps) {
    fill(p);
    for (auto& parameter : p) parameter.requires_grad_();
    std::vector<torch::optim::OptimizerParamGroup> groups;
    if (two_groups) {
      auto slower = options;
      slower.lr(options.lr() / 2);
      groups.emplace_back(std::vector<torch::Tensor>{p[0]});
      groups.emplace_back(std::vector<torch::Tensor>{p[1]}, std::make_unique<Options>(slower));
    } else {
      groups.emplace_back(p);
    }
    optimizer = std::make_unique<Optimizer>(groups, options);
    for (int i = 0; i < steps; ++i)
      optimizer->step([&] {
        optimizer->zero_grad();
        const torch::Tensor loss = loss_of(p);
        loss.backward();
        return loss;
      });
  }
  std::vector<torch::Tensor> p = {torch::zeros({2, 3}), torch::zeros({3})};
  std::unique_ptr<Optimizer> optimizer;
};

// After two steps: the parameters and the optimizer; after the third, the parameters again.
template <class Optimizer, class Options>
void add(torch::serialize::OutputArchive& all, const std::string& name, const Options& options,
         bool two_groups = true) {
  // An archive has the tensors themselves, so the third step is one of another run.
  const Run<Optimizer, Options> two(options, two_groups, 2), three(options, two_groups, 3);
  torch::serialize::OutputArchive part(all.compilation_unit()), state(all.compilation_unit());
  for (int i = 0; i < 2; ++i) {
    part.write("before" + std::to_string(i), two.p[i].detach());
    part.write("after" + std::to_string(i), three.p[i].detach());
  }
  two.optimizer->save(state);
  part.write("optimizer", state);
  all.write(name, part);
}

}  // namespace

int main(int, char** argv) {
  const std::string folder = argv[1];
  Net net;
  fill(net->parameters());
  torch::save(net, folder + "/module.pt");
  torch::save(torch::arange(6).view({2, 3}).t(), folder + "/tensor.pt");
  torch::save(
      std::vector<torch::Tensor>{torch::ones({2}), torch::full({2, 2}, 0.5, torch::kHalf), torch::tensor({true, false}),
                                 torch::empty({0, 3}), torch::tensor(5, torch::kInt)},
      folder + "/vector.pt");

  torch::jit::Module scripted("Scripted"), child("Child");
  child.register_parameter("weight", torch::arange(3.), false);
  child.register_attribute("names", c10::ListType::ofStrings(), c10::IValue(c10::List<std::string>({"a", "b"})));
  child.register_attribute("bias", c10::OptionalType::ofTensor(), c10::IValue());
  for (auto* module : {&scripted, &child})  // as Python does
    module->register_attribute("training", c10::BoolType::get(), true);
  scripted.register_module("child", child);
  scripted.register_buffer("mean", torch::full({2}, 7.));
  scripted.register_attribute("depth", c10::IntType::get(), 3);
  scripted.define("def forward(self, x):\n  return x * self.child.weight\n");
  scripted.save(folder + "/scripted.pt");

  using namespace torch::optim;
  torch::serialize::OutputArchive all;
  add<SGD>(all, "sgd", SGDOptions(0.1).momentum(0.9).nesterov(true));
  add<Adam>(all, "adam", AdamOptions(0.01).betas({0.8, 0.99}).amsgrad(true));
  add<AdamW>(all, "adamw", AdamWOptions(0.02).weight_decay(0.1));
  add<RMSprop>(all, "rmsprop", RMSpropOptions(0.01).momentum(0.1).centered(true));
  add<Adagrad>(all, "adagrad", AdagradOptions(0.1).lr_decay(0.01));
  add<LBFGS>(all, "lbfgs", LBFGSOptions(0.5).max_iter(3).history_size(2).line_search_fn("strong_wolfe"), false);
  all.write("epoch", c10::IValue(3));
  all.write("name", c10::IValue("a net"));
  all.save_to(folder + "/optimizers.pt");
}
