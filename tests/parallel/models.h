// Modules used by the tests of replicas.
#pragma once
#include "tandem/tests/parallel/logical_devices.h"

namespace tandem {

// Built in the constructor, so replicas come from the default constructor.
struct MlpImpl : nn::Module {
  MlpImpl() {
    fc1 = register_module("fc1", nn::Linear(5, 7));
    fc2 = register_module("fc2", nn::Linear(7, 3));
  }
  Tensor forward(Tensor x) { return fc2(relu(fc1(x))); }
  nn::Linear fc1{nullptr}, fc2{nullptr};
};
TANDEM_MODULE(Mlp);

// One matrix under two names, and an unused parameter.
struct TiedImpl : nn::Cloneable<TiedImpl> {
  TiedImpl() { reset(); }
  void reset() override {
    fc = register_module("fc", nn::Linear(5, 5));
    tied = register_parameter("tied", fc->weight);
    unused = register_parameter("unused", ones({2}));
  }
  Tensor forward(Tensor x) { return mm(tanh(fc(x)), tied); }
  nn::Linear fc{nullptr};
  Tensor tied, unused;
};
TANDEM_MODULE(Tied);

struct NormedImpl : nn::Module {
  NormedImpl() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 3, 3)));
    norm = register_module("norm", nn::BatchNorm2d(3));
    drop = register_module("drop", nn::Dropout(0.5));
    fc = register_module("fc", nn::Linear(12, 2));
  }
  Tensor forward(Tensor x) { return fc(drop(relu(norm(conv(x)))).flatten(1)); }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Dropout drop{nullptr};
  nn::Linear fc{nullptr};
};
TANDEM_MODULE(Normed);

// Net and loss in one module: one scalar per replica.
struct WithLossImpl : nn::Module {
  WithLossImpl() { net = register_module("net", Mlp()); }
  Tensor forward(Tensor x, Tensor y) { return mse_loss(net(x), y); }
  Mlp net{nullptr};
};
TANDEM_MODULE(WithLoss);

inline std::vector<Tensor> gradients(const nn::Module& module) {
  std::vector<Tensor> out;
  for (const Tensor& p : module.parameters()) out.push_back(p.grad().defined() ? p.grad().clone() : Tensor());
  return out;
}

}  // namespace tandem
