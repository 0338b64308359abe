// A custom differentiable operation: x ↦ x³ with a hand-written backward, checked against finite differences.
//
//   custom_function [DEVICE]    cpu:0, cuda:0, ...
#include <cstdio>
#include <string_view>

#include "tandem/autograd/function.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"

using namespace tandem;

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x};
  }
};

constexpr const char* kUsage = "usage: custom_function [DEVICE]      cpu:0, cuda:0, ...; default: cpu:0\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const TensorOptions options = TensorOptions(kDouble).device(Device(argc > 1 ? argv[1] : "cpu"));
  Tensor x = linspace(-1, 1, 5, options).requires_grad_();
  Cube::apply(x).sum().backward();
  for (int64_t i = 0; i < x.numel(); ++i)
    std::printf("x = %5.2f   x^3 = %7.4f   gradient = %7.4f\n", x[i].item<double>(), x[i].pow(3).item<double>(),
                x.grad()[i].item<double>());
  const auto f = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{Cube::apply(in[0])}; };
  testing::gradcheck(f, {x});
  testing::gradgradcheck(f, {x});
  std::printf("first- and second-order gradients agree with finite differences\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
