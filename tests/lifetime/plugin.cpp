// A shared object that keeps tensors, a loader and threads until it is closed.
#include "tandem/tandem.h"

using namespace tandem;

namespace {
struct Numbers : data::datasets::Dataset<Numbers> {
  data::Example<> get(size_t i) override { return {full({8}, static_cast<double>(i)), zeros({1})}; }
  optional<size_t> size() const override { return 512; }
};
auto make_loader() {
  return data::make_data_loader(Numbers().map(data::transforms::Stack<>()), data::DataLoaderOptions(4).workers(2));
}
struct Twice : autograd::Function<Twice> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) { return {g[0] * 2}; }
};
Tensor kept, leaf;
decltype(make_loader()) loader;
}  // namespace

extern "C" void use() {
  set_num_threads(2);
  leaf = ones({4}).requires_grad_();
  kept = Twice::apply(leaf) * 1.0 + leaf * 0.5;
  kept.sum().backward();
  loader = make_loader();
  loader->begin();
  matmul(ones({200, 200}), ones({200, 200}));
}
