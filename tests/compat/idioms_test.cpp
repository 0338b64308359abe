// Common LibTorch idioms with modules, optimizers and tensors.
#include <doctest/doctest.h>
#include <torch/torch.h>

namespace F = torch::nn::functional;

namespace {

struct BlockImpl : torch::nn::Module {
  BlockImpl(int64_t in, int64_t out) : fc(register_module("fc", torch::nn::Linear(in, out))) {}
  torch::Tensor forward(const torch::Tensor& x) { return F::relu(fc->forward(x), F::ReLUFuncOptions().inplace(true)); }
  torch::nn::Linear fc;
};
TORCH_MODULE(Block);

struct Net : torch::nn::Module {
  Net() {
    fc1 = register_module("fc1", torch::nn::Linear(784, 64));
    fc2 = register_module("fc2", torch::nn::Linear(64, 10));
    scale = register_parameter("scale", torch::ones({1}));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(fc1->forward(x.reshape({x.size(0), 784})));
    return torch::log_softmax(fc2->forward(x) * scale, /*dim=*/1);
  }
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
  torch::Tensor scale;
};

}  // namespace

TEST_CASE("modules in shared pointers and in Sequential") {
  auto net = std::make_shared<Net>();
  net->to(torch::kCPU);
  CHECK(net->forward(torch::rand({3, 1, 28, 28})).sizes() == torch::IntArrayRef{3, 10});
  for (const auto& pair : net->named_parameters()) CHECK(pair.value().requires_grad());
  std::ostringstream out;
  out << *net << net->fc1;
  CHECK(out.str().find("(fc2)") != std::string::npos);

  torch::nn::Sequential seq(Block(4, 8), torch::nn::Linear(torch::nn::LinearOptions(8, 2).bias(false)),
                            torch::nn::Functional(torch::relu), torch::nn::LogSoftmax(1));
  seq->push_back("last", torch::nn::Identity());
  auto x = torch::randn({5, 4}, torch::requires_grad());
  seq->forward(x).sum().backward();
  CHECK(x.grad().defined());
  CHECK(seq->ptr<BlockImpl>(0)->fc->weight.size(0) == 8);
}

TEST_CASE("optimizers, schedulers and learning rates") {
  auto net = std::make_shared<Net>();
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.5)));
  torch::optim::SGD sgd(net->parameters(), /*lr=*/0.01);
  torch::optim::StepLR schedule(sgd, /*step_size=*/1, /*gamma=*/0.5);
  schedule.step();
  auto& options = static_cast<torch::optim::SGDOptions&>(sgd.param_groups()[0].options());
  CHECK(options.lr() == 0.005);
  options.lr(0.1);
  auto loss = [&] {
    sgd.zero_grad();
    auto l = F::cross_entropy(net->forward(torch::ones({2, 784})), torch::zeros({2}, torch::kLong));
    l.backward();
    return l;
  };
  CHECK(sgd.step(loss).item<double>() > 0);
  CHECK(adam.defaults().get_lr() == 2e-4);
  torch::nn::utils::clip_grad_norm_(net->parameters(), 0.5);
}

TEST_CASE("losses as modules and functions") {
  auto input = torch::randn({3, 5}), target = torch::tensor({1, 0, 4});
  torch::nn::CrossEntropyLoss loss(torch::nn::CrossEntropyLossOptions().reduction(torch::kSum).label_smoothing(0.1));
  CHECK(loss(input, target).dim() == 0);
  CHECK(torch::nn::MSELoss()(input, input).item<float>() == 0);
  CHECK(F::mse_loss(input, input + 2, F::MSELossFuncOptions(torch::kNone)).sizes() == input.sizes());
  CHECK(torch::nn::BCEWithLogitsLoss()(input, torch::ones({3, 5})).item<float>() > 0);
}

TEST_CASE("checks, guards and aliases") {
  CHECK_THROWS_WITH_AS([] { TORCH_CHECK(1 + 1 == 3, "sum is ", 2); }(), "sum is 2", c10::Error);
  CHECK_THROWS_AS([] { TORCH_CHECK(false); }(), torch::Error);
  at::Tensor t = at::zeros({2, 2});
  c10::optional<int64_t> none = c10::nullopt;
  CHECK(!none.has_value());
  {
    torch::InferenceMode guard;
    CHECK(!(t + 1).requires_grad());
  }
  std::stringstream stream;
  torch::save(t, stream);
  torch::Tensor back;
  torch::load(back, stream);
  CHECK(back.sizes() == t.sizes());
  std::vector<torch::Tensor> both{t, t + 1};
  CHECK(torch::stack(both).sizes() == torch::IntArrayRef{2, 2, 2});
}

TEST_CASE("devices and layouts without tensors are refused by name") {
  CHECK_THROWS_WITH_AS(torch::ones({2}, torch::Device(torch::kMPS)), doctest::Contains("type mps"),
                       c10::NotImplementedError);
  CHECK_THROWS_AS(torch::zeros({2}, torch::TensorOptions().device(torch::kXLA, 0)), c10::NotImplementedError);
  CHECK_THROWS_WITH_AS(torch::ones({2}, torch::kSparse), doctest::Contains("strided"), c10::NotImplementedError);
  CHECK_THROWS_AS(torch::tensor({1, 2}, torch::kSparse), c10::NotImplementedError);
  CHECK_THROWS_AS(torch::linspace(0, 1, 5, torch::kSparse), c10::NotImplementedError);
  CHECK_THROWS_AS(torch::ones({2}).to(torch::TensorOptions(torch::kSparse)), c10::NotImplementedError);
  CHECK_THROWS_WITH(torch::ones({2}).to("gpu"), doctest::Contains("did you mean cuda"));
  CHECK_FALSE(torch::mps::is_available());
}

TEST_CASE("record_stream takes a stream of the tensor's device") {
  const auto x = torch::ones({2});
  x.record_stream(torch::Stream::current(x.device()));
  CHECK_THROWS_AS(torch::Tensor().record_stream(torch::Stream::current(x.device())), c10::Error);
}

TEST_CASE("the namespaces fft and linalg, with complex tensors") {
  const torch::Tensor x = torch::randn({4, 4}, torch::kComplexDouble).requires_grad_();
  const torch::Tensor spectrum = torch::fft::ifft(torch::fft::fft(x));
  CHECK(torch::allclose(spectrum, x));
  const auto [u, s, vh] = torch::linalg::svd(x, false);
  CHECK(torch::allclose(torch::matmul(u * s.unsqueeze(-2), vh), x));
  torch::linalg::det(x).abs().backward();
  CHECK(x.grad().is_complex());
}
