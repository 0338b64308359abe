// DataParallel: gradients equal to one device's, replica updates, running statistics, Module interface.
#include "tandem/parallel/data_parallel/data_parallel.h"

#include <doctest/doctest.h>

#include <sstream>

#include "tandem/autograd/autocast.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/testing.h"
#include "tandem/tests/parallel/models.h"

using namespace tandem;
using namespace tandem::parallel;
using testing::close;
using testing::identical;

namespace {

bool all_identical(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].defined() != b[k].defined() || (a[k].defined() && !identical(a[k], b[k]))) return false;
  return true;
}

struct Step {
  Tensor output;
  std::vector<Tensor> grads;
};
// One forward and backward, starting from zero gradients.
template <class Model>
Step step(Model& model, const Tensor& x) {
  model->zero_grad();
  const Tensor output = model(x);
  output.sin().sum().backward();
  return {output.detach(), gradients(*model)};
}

void check_step(const Step& got, const Step& expected) {
  CHECK(close(got.output, expected.output, 1e-12));
  REQUIRE(got.grads.size() == expected.grads.size());
  for (std::size_t k = 0; k < got.grads.size(); ++k) {
    CAPTURE(k);
    REQUIRE(got.grads[k].defined() == expected.grads[k].defined());
    if (got.grads[k].defined()) CHECK(close(got.grads[k], expected.grads[k], 1e-12));
  }
}

template <class Net>
void check_equals_one_device(Net net, const std::vector<int64_t>& row) {
  net->to(kDouble);
  for (const int64_t batch : {1, 2, 7, 8, 13}) {
    std::vector<int64_t> sizes = row;
    sizes.insert(sizes.begin(), batch);
    const Tensor x = randn(sizes, kDouble);
    const Step expected = step(net, x);
    for (int count = 1; count <= 8; ++count) {
      CAPTURE(count);
      CAPTURE(batch);
      nn::DataParallel model(net, cpu_devices(count));
      const Step first = step(model, x);
      check_step(first, expected);
      const Step again = step(model, x);
      CHECK(identical(again.output, first.output));
      CHECK(all_identical(again.grads, first.grads));
    }
  }
}

}  // namespace

TEST_CASE("gradients on 1 to 8 devices equal those on one, for any batch size") {
  LogicalDevices eight(8);
  manual_seed(1);
  SUBCASE("replicas from the default constructor") { check_equals_one_device(Mlp(), {5}); }
  SUBCASE("shared and unused parameters, replicas cloned") { check_equals_one_device(Tied(), {5}); }
  SUBCASE("a library module") { check_equals_one_device(nn::Linear(4, 3), {4}); }
  SUBCASE("Sequential") {
    check_equals_one_device(nn::Sequential(nn::Linear(4, 6), nn::Tanh(), nn::Linear(6, 2)), {4});
  }
}

TEST_CASE("gradients of the input, first and second order") {
  LogicalDevices three(3);
  manual_seed(2);
  Mlp net;
  net->to(kDouble);
  nn::DataParallel model(net, cpu_devices(3));
  const auto f = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{model(in[0]).tanh()}; };
  const Tensor x = randn({4, 5}, kDouble).requires_grad_();
  testing::gradcheck(f, {x});
  const auto curvature = [&](auto& module) {
    const Tensor first = autograd::grad({module(x).tanh().sum()}, {net->fc1->weight}, {}, {}, true)[0];
    return autograd::grad({first.pow(2).sum()}, {net->fc2->weight})[0];
  };
  CHECK(close(curvature(model), curvature(net), 1e-12));
}

TEST_CASE("dropout is reproducible from a seed, whatever the timing, and differs between replicas") {
  LogicalDevices four(4);
  nn::DataParallel model(nn::Dropout(0.5), cpu_devices(4));
  const Tensor x = ones({8, 64});
  manual_seed(5);
  const Tensor first = model(x), second = model(x);
  CHECK_FALSE(identical(first, second));
  CHECK_FALSE(identical(first.narrow(0, 0, 2), first.narrow(0, 2, 2)));
  for (int i = 0; i < 10; ++i) {
    manual_seed(5);
    CHECK(identical(model(x), first));
    CHECK(identical(model(x), second));
  }
}

TEST_CASE("a training step with dropout and running statistics is bitwise reproducible from a seed") {
  LogicalDevices three(3);
  const auto run = [] {
    manual_seed(13);
    Normed net;
    nn::DataParallel model(net, cpu_devices(3));
    const Tensor x = randn({7, 2, 4, 4}).requires_grad_();  // requires a gradient, so backward reads every weight
    step(model, x);
    const Step last = step(model, x);
    auto out = last.grads;
    out.push_back(last.output);
    for (const Tensor& b : net->buffers()) out.push_back(b.clone());
    return out;
  };
  const auto first = run();
  for (int i = 0; i < 5; ++i) CHECK(all_identical(run(), first));
}

TEST_CASE("the root computes the first piece and keeps the running statistics") {
  LogicalDevices three(3);
  for (const int root : {0, 2}) {
    CAPTURE(root);
    manual_seed(3);
    Normed net, alone;
    net->to(cpu_device(root));
    alone->load_state_dict(net->state_dict());
    nn::DataParallel model(net, cpu_devices(3));
    for (int i = 0; i < 3; ++i) {
      const Tensor x = randn({7, 2, 4, 4});
      model(x).sum().backward();
      alone(x.narrow(0, 0, 3));
    }
    CHECK(identical(net->norm->running_mean.cpu(), alone->norm->running_mean));
    CHECK(identical(net->norm->running_var.cpu(), alone->norm->running_var));
    CHECK(net->norm->num_batches_tracked.item<int64_t>() == 3);
    model->eval();
    alone->eval();
    const Tensor x = randn({7, 2, 4, 4});
    CHECK(close(model(x).cpu(), alone(x), 1e-5));
  }
}

TEST_CASE("the next forward discards what a replica wrote to its buffers") {
  LogicalDevices two(2);
  struct Writer : nn::Module {
    Writer() { seen = register_buffer("seen", zeros({})); }
    Tensor forward(Tensor x) {
      if (x.device() != cpu_device(0)) seen.add_(1);
      return x + seen;
    }
    Tensor seen;
  };
  nn::DataParallel model(std::make_shared<Writer>(), cpu_devices(2));
  for (int i = 0; i < 3; ++i) CHECK(identical(model(zeros({2})), tensor({0.0f, 1.0f})));
}

TEST_CASE("replicas receive values only after something was written") {
  LogicalDevices three(3);
  manual_seed(4);
  Mlp net;
  nn::DataParallel model(net, cpu_devices(3));
  const Tensor x = randn({6, 5});
  const auto right = [&] { CHECK(close(model(x).detach(), net(x).detach(), 1e-6)); };
  right();
  CHECK(model->refreshes() == 1);
  right();
  CHECK(model->refreshes() == 1);
  optim::SGD sgd(model->parameters(), optim::SGDOptions(0.1));
  model(x).sum().backward();
  CHECK(model->refreshes() == 1);
  sgd.step();
  right();
  CHECK(model->refreshes() == 2);
  model(x).sum().backward();
  for (const Tensor& p : net->parameters()) p.data().sub_(p.grad());  // an undetected write, after a backward
  right();
  CHECK(model->refreshes() == 3);
  net->fc1->weight.data().zero_();
  model->refresh();
  right();
  CHECK(model->refreshes() == 4);
  const nn::FlatParameters flat(*net);
  right();
  CHECK(model->refreshes() == 5);
}

TEST_CASE("replicas follow changes between steps: dtype, device, modes, requires_grad, parameters") {
  LogicalDevices three(3);
  manual_seed(5);
  Mlp net;
  nn::DataParallel model(net, cpu_devices(3));
  Tensor x = randn({6, 5});
  model(x);
  model->to(kDouble);
  x = x.to(kDouble);
  CHECK(close(model(x).detach(), net(x).detach(), 1e-12));
  model->to(cpu_device(1));
  x = x.to(cpu_device(1));
  CHECK(model->root() == cpu_device(1));
  CHECK(model(x).device() == cpu_device(1));
  check_step(step(model, x), step(net, x));
  net->fc1->weight.requires_grad_(false);
  check_step(step(model, x), step(net, x));
  net->fc1->weight.requires_grad_(true);
  net->fc1->weight.set_data(net->fc1->weight.detach() * 2);
  check_step(step(model, x), step(net, x));
}

TEST_CASE("replicas follow layers that are added and replaced") {
  LogicalDevices two(2);
  manual_seed(14);
  nn::Sequential layers(nn::Linear(5, 4)), net;
  net->push_back(layers);
  nn::DataParallel model(net, cpu_devices(2));
  const Tensor x = randn({6, 5}, kDouble);
  const auto follows = [&] {
    net->to(kDouble);
    check_step(step(model, x), step(net, x));
  };
  follows();
  layers->push_back(nn::BatchNorm1d(4));
  layers->eval();
  follows();
  layers->push_back(nn::Linear(4, 3));
  follows();
  CHECK(model->state_dict().keys() == net->state_dict().keys());
}

TEST_CASE("several forwards before one backward, accumulation, and no_sync") {
  LogicalDevices three(3);
  manual_seed(6);
  Normed net;
  net->to(kDouble);
  net->drop->eval();
  nn::DataParallel model(net, cpu_devices(3));
  const Tensor a = randn({6, 2, 4, 4}, kDouble), b = randn({5, 2, 4, 4}, kDouble);
  const auto loss = [&](const Tensor& x) { return model(x).pow(2).sum(); };
  const auto run = [&](auto&& f) {
    model->zero_grad();
    f();
    return gradients(*net);
  };
  const auto separate = run([&] { loss(a).backward(), loss(b).backward(); });
  const auto together = run([&] { (loss(a) + loss(b)).backward(); });
  const auto held = run([&] {
    const auto guard = model->no_sync();
    loss(a).backward(), loss(b).backward();
  });
  const auto last_outside = run([&] {
    {
      const auto guard = model->no_sync();
      loss(a).backward();
    }
    loss(b).backward();
  });
  for (std::size_t k = 0; k < separate.size(); ++k) {
    CHECK(close(together[k], separate[k], 1e-11));
    CHECK(close(held[k], separate[k], 1e-11));
    CHECK(close(last_outside[k], separate[k], 1e-11));
  }
  const auto dropped = run([&] {
    try {
      const auto guard = model->no_sync();
      loss(a).backward();
      fail("stop");
    } catch (const Error&) {
    }
    model->zero_grad();
    loss(b).backward();
  });
  CHECK(all_identical(dropped, run([&] { loss(b).backward(); })));
}

TEST_CASE("a module that computes its loss returns one scalar per replica; several arguments and containers") {
  LogicalDevices two(2);
  manual_seed(7);
  WithLoss whole_model;
  nn::DataParallel model(whole_model, cpu_devices(2));
  const Tensor x = randn({4, 5}), y = randn({4, 3});
  const Tensor losses = model(x, y);
  CHECK(losses.sizes() == IntArrayRef({2}));
  losses.mean().backward();
  const auto got = gradients(*model);
  whole_model->zero_grad();
  whole_model(x, y).backward();
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(close(got[k], gradients(*whole_model)[k], 1e-6));

  struct Many : nn::Module {
    std::pair<Tensor, std::map<std::string, Tensor>> forward(std::vector<Tensor> list, double factor, Tensor table) {
      return {list[0] * factor, {{"sum", list[1] + table.sum()}}};
    }
  };
  nn::DataParallel many(std::make_shared<Many>(), cpu_devices(2));
  const auto [first, rest] = many(std::vector<Tensor>{x, y}, 2.0, whole(ones({7})));
  CHECK(identical(first, x * 2));
  CHECK(identical(rest.at("sum"), y + 7));
}

TEST_CASE("the Module interface: names without prefix, save and load, printing, use as a child") {
  LogicalDevices two(2);
  manual_seed(8);
  Mlp net, other;
  nn::DataParallel model(net, cpu_devices(2));
  CHECK(model->state_dict().keys() == net->state_dict().keys());
  CHECK(model->parameters()[0].is_same(net->fc1->weight));
  OrderedDict<std::string, Tensor> prefixed;
  for (const auto& item : other->state_dict()) prefixed.insert("module." + item.key(), item.value());
  model->load_state_dict(prefixed);
  CHECK(identical(net->fc2->bias, other->fc2->bias));
  std::stringstream file;
  save(model, file);
  Mlp third;
  load(third, file);
  CHECK(identical(third->fc1->weight, net->fc1->weight));
  model->eval();
  CHECK_FALSE(net->is_training());
  CHECK_FALSE(net->fc1->is_training());
  std::ostringstream text;
  text << model;
  CHECK(text.str().find("DataParallel[cpu:0, cpu:1]") == 0);
  CHECK(text.str().find("(fc1): ") != std::string::npos);

  struct Outer : nn::Module {
    explicit Outer(nn::DataParallel<MlpImpl> m) : inner(register_module("inner", std::move(m))) {}
    std::shared_ptr<DataParallelImpl<MlpImpl>> inner;
  } outer(model);
  CHECK(outer.state_dict().contains("inner.fc1.weight"));
  nn::Sequential sequence(model, nn::ReLU());
  const Tensor x = randn({4, 5});
  CHECK(close(sequence(x).detach(), relu(net(x)).detach(), 1e-6));
}

TEST_CASE("no_grad and inference mode, already in the first forward") {
  LogicalDevices three(3);
  manual_seed(9);
  Mlp net;
  nn::DataParallel model(net, cpu_devices(3));
  const Tensor x = randn({7, 5});
  {
    InferenceMode inference;
    const Tensor y = model(x);
    CHECK(y.is_inference());
    CHECK_FALSE(y.requires_grad());
  }
  {
    NoGradGuard no_grad;
    CHECK_FALSE(model(x).requires_grad());
  }
  check_step(step(model, x.to(kFloat)), step(model, x));
  model->zero_grad();
  model(x).sum().backward();
  CHECK(net->fc1->weight.grad().defined());
}

TEST_CASE("the module's hooks run once, the wrapper's around the whole batch") {
  LogicalDevices two(2);
  nn::Linear net(3, 2);
  nn::DataParallel model(net, cpu_devices(2));
  int64_t rows = 0;
  const auto see = [&](nn::Module&, const std::vector<Tensor>& in, const Tensor&) { rows += in[0].size(0); };
  model->register_forward_hook(see);
  model(ones({4, 3}));
  CHECK(rows == 4);
}

TEST_CASE("300 steps need no more memory than the first few") {
  LogicalDevices three(3);
  manual_seed(10);
  Normed net;
  nn::DataParallel model(net, cpu_devices(3));
  optim::SGD sgd(model->parameters(), optim::SGDOptions(0.01).momentum(0.9));
  const Tensor x = randn({6, 2, 4, 4});
  std::vector<int64_t> before;
  for (int i = 0; i < 300; ++i) {
    sgd.zero_grad();
    model(x).pow(2).mean().backward();
    sgd.step();
    if (i != 5 && i != 299) continue;
    std::vector<int64_t> bytes;
    for (const Device& device : cpu_devices(3)) bytes.push_back(memory_stats(device).current_bytes);
    if (i == 5)
      before = bytes;
    else
      CHECK(bytes == before);
  }
}

TEST_CASE("empty batches, single samples, other dimensions, and another output device") {
  LogicalDevices three(3);
  manual_seed(11);
  Mlp net;
  nn::DataParallel model(net, cpu_devices(3), cpu_device(2));
  CHECK(model(zeros({0, 5})).sizes() == IntArrayRef({0, 3}));
  CHECK(model(zeros({1, 5})).sizes() == IntArrayRef({1, 3}));
  CHECK(model(zeros({1, 5})).device() == cpu_device(2));
  nn::DataParallel along_one(nn::Tanh(), cpu_devices(3), nullopt, 1);
  const Tensor x = randn({2, 8});
  CHECK(identical(along_one(x), tanh(x)));
  CHECK(identical(nn::DataParallel(nn::Tanh(), {"cpu:0", "cpu:2"})(x), tanh(x)));
  nn::DataParallel all{nn::Tanh()};
  CHECK(all->devices().size() == 3);
  CHECK(identical(all(x), tanh(x)));
}

TEST_CASE("data_parallel, LibTorch's function") {
  LogicalDevices three(3);
  manual_seed(12);
  Mlp net;
  net->to(kDouble);
  const Tensor x = randn({7, 5}, kDouble);
  const Step expected = step(net, x);
  net->zero_grad();
  const Tensor y = nn::parallel::data_parallel(net, x, cpu_devices(3), cpu_device(1));
  CHECK(y.device() == cpu_device(1));
  y.sin().sum().backward();
  check_step({y.detach().cpu(), gradients(*net)}, expected);
  CHECK(close(nn::parallel::data_parallel(net.ptr(), x).detach(), expected.output, 1e-12));
  CHECK(nn::parallel::data_parallel(net, x, std::vector<Device>{cpu_device(2)}).device() == cpu_device(2));
}

TEST_CASE("replicas inherit the caller's autocast") {
  LogicalDevices three(3);
  manual_seed(13);
  nn::Linear net(5, 4);
  const Tensor x = randn({7, 5});
  std::vector<ScalarType> types;
  {
    const autocast::AutocastGuard mixed(kCPU, kHalf);
    types = parallel_apply(cpu_devices(3), [&](std::size_t i) {
      const Tensor here = x.to(cpu_device(static_cast<int>(i)));
      return linear(here, here).scalar_type();
    });
    const Tensor y = nn::parallel::data_parallel(net, x, cpu_devices(3));
    CHECK(y.dtype() == kHalf);
    CHECK(identical(y, net(x)));
    y.sum().backward();
  }
  CHECK(types == std::vector<ScalarType>(3, kHalf));
  for (const Tensor& p : net->parameters()) CHECK(p.grad().dtype() == kFloat);
  const std::vector<bool> after =
      parallel_apply(cpu_devices(3), [](std::size_t) { return autocast::is_autocast_enabled(kCPU); });
  CHECK(after == std::vector<bool>(3, false));
}
