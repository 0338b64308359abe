// Shared by the parameter server tests: a small net, its data, and comparisons.
#pragma once
#include <string>

#include "tandem/parallel/parameter_server/parameter_server.h"
#include "tandem/tests/parallel/logical_devices.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::server_testing {

struct NetImpl : nn::Cloneable<NetImpl> {
  explicit NetImpl(double dropout = 0) : p(dropout) { reset(); }
  void reset() override {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 4, 3)));
    fc1 = register_module("fc1", nn::Linear(4 * 3 * 3, 16));
    fc2 = register_module("fc2", nn::Linear(16, 5));
    drop = register_module("drop", nn::Dropout(p));
  }
  Tensor forward(Tensor x) {
    x = max_pool2d(relu(conv(x)), {2, 2}, {2, 2}).flatten(1);
    return fc2(drop(relu(fc1(x))));
  }
  double p;
  nn::Conv2d conv{nullptr};
  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::Dropout drop{nullptr};
};
TANDEM_MODULE(Net);

inline const auto loss_of = [](NetImpl& net, const Tensor& x, const Tensor& y) {
  return nn::functional::cross_entropy(net.forward(x), y);
};

struct Data {
  explicit Data(int64_t n) : x(randn({n, 1, 8, 8})), y(randint(0, 5, {n}, TensorOptions(kLong))) {}
  Tensor x, y;
};

inline Tensor values(const nn::Module& net) {
  NoGradGuard no_grad;
  std::vector<Tensor> parts;
  for (const Tensor& p : net.parameters()) parts.push_back(p.reshape({-1}).to(Device("cpu:0")));
  return cat(parts);
}

inline double furthest(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

using test::error_of;
inline bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace tandem::server_testing
