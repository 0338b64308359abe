// A LibTorch program's own optimizer, data set and module, with saving and loading.
#include <doctest/doctest.h>
#include <torch/torch.h>

namespace {

struct LionOptions : public torch::optim::OptimizerCloneableOptions<LionOptions> {
  LionOptions(double lr = 1e-4) : lr_(lr) {}
  TORCH_ARG(double, lr) = 1e-4;
  typedef std::tuple<double, double> betas_t;
  TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.99);
  TORCH_ARG(double, weight_decay) = 0;

 public:
  double get_lr() const override { return lr(); }
  void set_lr(const double lr) override { lr_ = lr; }
};

struct LionState : public torch::optim::OptimizerCloneableParamState<LionState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(torch::Tensor, exp_avg);

 public:
  void serialize(torch::serialize::InputArchive& archive) override {
    archive.read("exp_avg", exp_avg_);
    c10::IValue value;
    archive.read("step", value);
    step_ = value.toInt();
  }
  void serialize(torch::serialize::OutputArchive& archive) const override {
    archive.write("step", torch::IValue(step()));
    archive.write("exp_avg", exp_avg());
  }
};

class Lion : public torch::optim::Optimizer {
 public:
  explicit Lion(const std::vector<torch::optim::OptimizerParamGroup>& groups, LionOptions defaults = {})
      : Optimizer(groups, std::make_unique<LionOptions>(defaults)) {}
  explicit Lion(std::vector<torch::Tensor> params, LionOptions defaults = {})
      : Lion({torch::optim::OptimizerParamGroup(std::move(params))}, defaults) {}

  torch::Tensor step(LossClosure closure = nullptr) override {
    torch::NoGradGuard no_grad;
    torch::Tensor loss = {};
    if (closure != nullptr) {
      at::AutoGradMode enable_grad(true);
      loss = closure();
    }
    for (auto& group : param_groups_) {
      for (auto& p : group.params()) {
        if (!p.grad().defined()) continue;
        auto grad = p.grad();
        auto& options = static_cast<LionOptions&>(group.options());
        if (state_.find(p.unsafeGetTensorImpl()) == state_.end()) {
          auto fresh = std::make_unique<LionState>();
          fresh->exp_avg(torch::zeros_like(p));
          state_[p.unsafeGetTensorImpl()] = std::move(fresh);
        }
        auto& state = static_cast<LionState&>(*state_[p.unsafeGetTensorImpl()]);
        state.step(state.step() + 1);
        const auto [beta1, beta2] = options.betas();
        if (options.weight_decay() != 0) p.mul_(1 - options.lr() * options.weight_decay());
        p.add_(state.exp_avg().mul(beta1).add_(grad, 1 - beta1).sign_(), -options.lr());
        state.exp_avg().mul_(beta2).add_(grad, 1 - beta2);
      }
    }
    return loss;
  }

  void save(torch::serialize::OutputArchive& archive) const override {
    for (std::size_t i = 0; i < param_groups_[0].params().size(); ++i) {
      torch::serialize::OutputArchive part(archive.compilation_unit());
      state_.at(param_groups_[0].params()[i].unsafeGetTensorImpl())->serialize(part);
      archive.write(std::to_string(i), part);
    }
  }
  void load(torch::serialize::InputArchive& archive) override {
    for (const std::string& key : archive.keys()) {
      torch::serialize::InputArchive part;
      archive.read(key, part);
      auto state = std::make_unique<LionState>();
      state->serialize(part);
      state_[param_groups_[0].params().at(std::stoul(key)).unsafeGetTensorImpl()] = std::move(state);
    }
  }
};

struct Line : torch::data::datasets::Dataset<Line> {
  torch::data::Example<> get(size_t i) override {
    const auto x = torch::full({1}, static_cast<double>(i) / 10);
    return {x, x * 2 + 1};
  }
  std::optional<size_t> size() const override { return 10; }
};

// A stream of batches that are tensors.
struct Ticks : torch::data::datasets::StatefulDataset<Ticks, torch::Tensor, size_t> {
  std::optional<torch::Tensor> get_batch(size_t size) override {
    if (now + static_cast<int64_t>(size) > 7) return std::nullopt;
    now += static_cast<int64_t>(size);
    return torch::arange(now - static_cast<int64_t>(size), now);
  }
  void reset() override { now = 0; }
  std::optional<size_t> size() const override { return std::nullopt; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
  int64_t now = 0;
};

}  // namespace

TEST_CASE("a stateful data set with tensors as batches") {
  auto loader = torch::data::make_data_loader(Ticks(), torch::data::DataLoaderOptions().batch_size(3));
  for (int epoch = 0; epoch < 2; ++epoch) {
    int64_t sum = 0, batches = 0;
    for (torch::Tensor& batch : *loader) sum += batch.sum().item<int64_t>(), ++batches;
    CHECK(batches == 2);
    CHECK(sum == 15);
  }
}

TEST_CASE("a program's own optimizer trains, and is saved and loaded") {
  torch::manual_seed(1);
  torch::nn::Sequential net({{"fc", torch::nn::Linear(1, 8)},
                             {"act", torch::nn::Functional(torch::leaky_relu, 0.1)},
                             {"out", torch::nn::Linear(8, 1)}});
  Lion optimizer(net->parameters(), LionOptions(0.01).weight_decay(0.001));
  torch::data::DataLoaderOptions options;
  options.batch_size() = 5;
  auto loader = torch::data::make_data_loader(Line().map(torch::data::transforms::Stack<>()), options);
  double first = 0, last = 0;
  for (int epoch = 0; epoch < 60; ++epoch) {
    last = 0;
    for (auto& batch : *loader) {
      auto closure = [&] {
        optimizer.zero_grad();
        auto loss = torch::mse_loss(net->forward(batch.data), batch.target);
        loss.backward();
        return loss;
      };
      last += optimizer.step(closure).item<double>();
    }
    if (epoch == 0) first = last;
  }
  CHECK(last < first / 10);

  std::stringstream stream;
  torch::save(optimizer, stream);
  Lion loaded(net->parameters());
  torch::load(loaded, stream);
  auto* key = net->parameters()[0].unsafeGetTensorImpl();
  const auto& before = static_cast<LionState&>(*optimizer.state().at(key));
  const auto& after = static_cast<LionState&>(*loaded.state().at(key));
  CHECK(after.step() == before.step());
  CHECK(torch::equal(after.exp_avg(), before.exp_avg()));
}

TEST_CASE("LBFGS and ReduceLROnPlateauScheduler") {
  auto x = torch::tensor({-1.0, 2.0}, torch::requires_grad());
  torch::optim::LBFGS lbfgs({x}, torch::optim::LBFGSOptions(1).max_iter(50).line_search_fn("strong_wolfe"));
  lbfgs.step([&] {
    lbfgs.zero_grad();
    auto loss = (x - torch::tensor({3.0, 1.0})).pow(2).sum();
    loss.backward();
    return loss;
  });
  CHECK(torch::allclose(x.detach(), torch::tensor({3.0, 1.0}), 1e-4, 1e-4));
  using Plateau = torch::optim::ReduceLROnPlateauScheduler;
  Plateau plateau(lbfgs, Plateau::SchedulerMode::min, 0.5, 0);
  plateau.step(1.0f);
  plateau.step(1.0f);
  CHECK(lbfgs.param_groups()[0].options().get_lr() == 0.5);
}

TEST_CASE("containers and names of constants") {
  namespace F = torch::nn::functional;
  torch::nn::ParameterDict dict;
  dict->insert("w", torch::ones({2}, torch::requires_grad()));
  CHECK(dict["w"].requires_grad());
  torch::nn::ParameterList list(torch::ones({2}), torch::ones({3}));
  CHECK(list->size() == 2);
  CHECK(torch::enumtype::get_enum_name(torch::nn::MSELossOptions().reduction()) == "kMean");
  CHECK(torch::enumtype::get_enum_name(F::GridSampleFuncOptions().padding_mode(torch::kReflection).padding_mode()) ==
        "kReflection");
  const auto zero = torch::zeros({2}), half = torch::full({2}, 0.5);
  const auto loss = F::smooth_l1_loss(zero, half, F::SmoothL1LossFuncOptions(torch::kSum), 2.0);
  CHECK(loss.item<double>() == 0.125);
  torch::data::Example<torch::Tensor, torch::data::example::NoTarget> example(zero);
  CHECK(example.data.sum().item<double>() == 0);
}
