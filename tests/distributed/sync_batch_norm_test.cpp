// SyncBatchNorm on parts of a batch, compared with BatchNorm on the whole batch.
#include "tandem/parallel/distributed_data_parallel/sync_batch_norm.h"

#include <doctest/doctest.h>

#include <mutex>
#include <sstream>

#include "tandem/autograd/engine.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/distributed/ranks.h"

namespace tandem::distributed {
namespace {

using tandem::testing::close;
using tandem::testing::identical;

// Samples of each rank; the second of several has none.
std::vector<int64_t> counts_of(int size) {
  std::vector<int64_t> out;
  for (int rank = 0; rank < size; ++rank) out.push_back(rank == 1 ? 0 : 3 + 2 * rank);
  return out;
}

template <class Layer>
void set_parameters(Layer& layer, ScalarType dtype) {
  const NoGradGuard no_grad;
  layer->to(dtype);
  if (!layer->weight.defined()) return;
  layer->weight.copy_(arange(3).add(0.5));
  layer->bias.copy_(arange(3).mul(0.3).sub(1));
}

Tensor loss_of(const Tensor& y, const Tensor& factors) { return (y.sin() * factors).sum(); }

struct Whole {
  Tensor y, dx, dw, db, ddx;
};
// Gradients of the loss, and of the squares of these.
template <class Layer>
Whole differentiate(Layer& layer, const Tensor& x, const Tensor& factors, bool second) {
  Whole out;
  out.y = layer(x);
  Tensors inputs{x};
  if (layer->weight.defined()) inputs.insert(inputs.end(), {layer->weight, layer->bias});
  const Tensors first = autograd::grad({loss_of(out.y, factors)}, inputs, {}, nullopt, second);
  out.dx = first[0];
  if (first.size() > 1) {
    out.dw = first[1];
    out.db = first[2];
  }
  if (second) out.ddx = autograd::grad({(out.dx * out.dx * factors).sum()}, {x})[0];
  return out;
}

// Compares one rank's part with rows `begin` … of the whole batch.
void check_part(const Whole& part, const Whole& whole, int64_t begin, int64_t rows, double tolerance) {
  CHECK(close(part.y, whole.y.narrow(0, begin, rows), tolerance));
  CHECK(close(part.dx, whole.dx.narrow(0, begin, rows), tolerance));
  if (whole.ddx.defined()) CHECK(close(part.ddx, whole.ddx.narrow(0, begin, rows), tolerance));
}

template <class BatchNorm>
void compare(const std::vector<int64_t>& row, const nn::BatchNormOptions& options, ScalarType dtype, double tolerance,
             double offset) {
  for (int size = 1; size <= 4; ++size) {
    CAPTURE(size);
    CAPTURE(row.size());
    const std::vector<int64_t> counts = counts_of(size);
    std::vector<int64_t> sizes{0, 3};
    for (const int64_t count : counts) sizes[0] += count;
    sizes.insert(sizes.end(), row.begin(), row.end());
    manual_seed(7);
    const Tensor x = (randn(sizes, kDouble) + offset).to(dtype).requires_grad_(),
                 factors = randn(sizes, kDouble).to(dtype);
    BatchNorm reference(options);
    set_parameters(reference, dtype);
    const bool second = dtype == kDouble;
    const Whole whole = differentiate(reference, x, factors, second);
    if (!second) reference(x.detach());
    const bool tracked = reference->running_mean.defined();

    std::vector<Whole> parts(static_cast<std::size_t>(size));
    Tensors means(static_cast<std::size_t>(size)), variances(static_cast<std::size_t>(size));
    check_no_errors(run_ranks(size, [&](ProcessGroup& group) {
      const auto rank = static_cast<std::size_t>(group.rank());
      int64_t begin = 0;
      for (std::size_t i = 0; i < rank; ++i) begin += counts[i];
      SyncBatchNorm layer(options, group.shared_from_this());
      set_parameters(layer, dtype);
      const Tensor own = x.detach().narrow(0, begin, counts[rank]).clone().requires_grad_();
      parts[rank] = differentiate(layer, own, factors.narrow(0, begin, counts[rank]), second);
      if (!second) layer(own.detach());
      check_part(parts[rank], whole, begin, counts[rank], tolerance);
      if (tracked) {
        CHECK(layer->num_batches_tracked.template item<int64_t>() ==
              reference->num_batches_tracked.template item<int64_t>());
        CHECK(close(layer->running_mean, reference->running_mean, tolerance));
        CHECK(close(layer->running_var, reference->running_var, tolerance));
        means[rank] = layer->running_mean;
        variances[rank] = layer->running_var;
      }
    }));
    for (std::size_t rank = 1; tracked && rank < means.size(); ++rank) {
      CHECK(identical(means[rank], means[0]));
      CHECK(identical(variances[rank], variances[0]));
    }
    if (!whole.dw.defined()) continue;
    Tensor dw = parts[0].dw, db = parts[0].db;
    for (std::size_t rank = 1; rank < parts.size(); ++rank) {
      dw = dw + parts[rank].dw;
      db = db + parts[rank].db;
    }
    CHECK(close(dw, whole.dw, tolerance));
    CHECK(close(db, whole.db, tolerance));
  }
}

struct NetImpl : nn::Module {
  NetImpl() {
    fc = register_module("fc", nn::Linear(4, 3));
    norm = register_module("norm", nn::BatchNorm1d(3));
    rest = register_module("rest", nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(2)));
  }
  Tensor forward(const Tensor& x) { return rest(relu(norm(fc(x)))); }
  nn::Linear fc{nullptr};
  nn::BatchNorm1d norm{nullptr};
  nn::Sequential rest{nullptr};
};
TANDEM_MODULE(Net);

}  // namespace

TEST_CASE("half inputs with float32 parameters") {
  if (!available()) return;
  manual_seed(3);
  const Tensor x = randn({6, 3, 4}).to(kBFloat16);
  nn::BatchNorm1d reference(3);
  const Tensor whole = reference(x);
  check_no_errors(run_ranks(2, [&](ProcessGroup& group) {
    SyncBatchNorm layer(nn::BatchNormOptions(3), group.shared_from_this());
    const Tensor own = x.narrow(0, 3 * group.rank(), 3).clone().requires_grad_();
    const Tensor y = layer(own);
    CHECK(close(y, whole.narrow(0, 3 * group.rank(), 3), 0.02));
    const Tensors gradients = autograd::grad({y.to(kFloat).sin().sum()}, {own, layer->weight});
    CHECK((gradients[0].dtype() == kBFloat16));
    CHECK((gradients[1].dtype() == kFloat));
    CHECK(close(layer->running_var, reference->running_var, 1e-3));
  }));
}

TEST_CASE("values, gradients and running statistics are those of the whole batch") {
  if (!available()) return;
  const nn::BatchNormOptions options(3);
  compare<nn::BatchNorm1d>({}, options, kDouble, 1e-11, 0);
  compare<nn::BatchNorm1d>({5}, options, kFloat32, 1e-5, 0);
  compare<nn::BatchNorm2d>({4, 3}, options, kDouble, 1e-11, 10);
  compare<nn::BatchNorm2d>({4, 3}, options, kFloat32, 1e-5, 10);
  compare<nn::BatchNorm3d>({2, 2, 3}, options, kDouble, 1e-11, 0);
}

TEST_CASE("gradients of some of input, weight and bias") {
  if (!available()) return;
  const Tensor whole = arange(24, kDouble).sin().view({8, 3});
  const auto gradients = [&](auto& layer, const Tensor& rows, int wanted, bool second) {
    set_parameters(layer, kDouble);
    const Tensor x = rows.detach().clone();
    const Tensor inputs[] = {x, layer->weight, layer->bias};
    Tensors of;
    for (int i = 0; i < 3; ++i) {
      inputs[i].set_requires_grad((wanted >> i) % 2 == 1);
      if (inputs[i].requires_grad()) of.push_back(inputs[i]);
    }
    return autograd::grad({layer(x).sin().sum()}, of, {}, nullopt, second);
  };
  for (int wanted = 1; wanted < 8; ++wanted)
    for (const bool second : {false, true}) {
      CAPTURE(wanted);
      nn::BatchNorm1d reference(3);
      const Tensors expected = gradients(reference, whole, wanted, second);
      check_no_errors(run_ranks(2, [&](ProcessGroup& group) {
        SyncBatchNorm layer(nn::BatchNormOptions(3), group.shared_from_this());
        const Tensors parts = gradients(layer, whole.narrow(0, 4 * group.rank(), 4), wanted, second);
        REQUIRE(parts.size() == expected.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
          Tensor part = parts[i].detach().clone();
          const bool of_input = i == 0 && wanted % 2 == 1;
          if (!of_input) group.all_reduce(part)->wait();
          CHECK(close(part, of_input ? expected[i].narrow(0, 4 * group.rank(), 4) : expected[i], 1e-11));
        }
      }));
    }
}

TEST_CASE("options") {
  if (!available()) return;
  compare<nn::BatchNorm2d>({2, 2}, nn::BatchNormOptions(3).affine(false), kDouble, 1e-11, 0);
  compare<nn::BatchNorm2d>({2, 2}, nn::BatchNormOptions(3).momentum(nullopt).eps(0.1), kDouble, 1e-11, 0);
  compare<nn::BatchNorm2d>({2, 2}, nn::BatchNormOptions(3).track_running_stats(false), kDouble, 1e-11, 0);
}

TEST_CASE("evaluation does not communicate") {
  if (!available()) return;
  check_no_errors(run_ranks(2, [](ProcessGroup& group) {
    SyncBatchNorm layer(nn::BatchNormOptions(3), group.shared_from_this());
    layer->eval();
    if (group.rank() == 1) return;
    nn::BatchNorm1d same(3);
    same->eval();
    const Tensor x = arange(12, kFloat32).view({4, 3});
    nn::Sequential inside(layer, nn::ReLU());
    CHECK(identical(inside(x), relu(same(x))));
    CHECK(identical(layer(x), same(x)));
  }));
}

TEST_CASE("convert_sync_batchnorm changes layers wherever the module holds them") {
  if (!available()) return;
  const auto make = [] {
    manual_seed(3);
    return Net();
  };
  const Tensor x = arange(48, kFloat32).view({12, 4}).sin();
  Net whole = make();
  const Tensor y = whole(x);
  check_no_errors(run_ranks(3, [&](ProcessGroup& group) {
    static std::mutex seed;
    std::unique_lock lock(seed);
    Net net = make();
    lock.unlock();
    const auto names = net->state_dict().keys();
    CHECK(convert_sync_batchnorm(*net, group.shared_from_this()) == 2);
    CHECK(net->state_dict().keys() == names);
    CHECK(close(net(x.narrow(0, 4 * group.rank(), 4)), y.narrow(0, 4 * group.rank(), 4), 1e-5));
    CHECK(close(net->norm->running_var, whole->norm->running_var, 1e-5));
    const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->rest->clone());
    const Tensor h = x.narrow(0, 4 * group.rank(), 4).narrow(1, 0, 3);
    CHECK(identical(copy->forward(h), net->rest->forward(h)));
    net->eval();
    CHECK(net(x).size(0) == 12);
  }));
}

TEST_CASE("what is refused, and printing") {
  if (!available()) return;
  CHECK_THROWS_AS(SyncBatchNorm(nn::BatchNormOptions(0)), Error);
  SyncBatchNorm lonely(nn::BatchNormOptions(3));
  CHECK_THROWS_WITH_AS(lonely(ones({2, 3})),
                       "in SyncBatchNorm: SyncBatchNorm: there is no process group; pass one, or call "
                       "distributed::init_process_group() first",
                       Error);
  Net net;
  CHECK_THROWS_AS(convert_sync_batchnorm(*net), Error);
  std::ostringstream text;
  text << lonely;
  CHECK(text.str() ==
        "tandem::distributed::SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=true, "
        "track_running_stats=true)");
  check_no_errors(run_ranks(2, [](ProcessGroup& group) {
    SyncBatchNorm layer(nn::BatchNormOptions(3), group.shared_from_this());
    CHECK_THROWS_AS(layer(ones({2, 4})), Error);
    CHECK_THROWS_AS(layer(ones({3})), Error);
    CHECK_THROWS_AS(layer(ones({2, 3}, kLong)), Error);
    CHECK_THROWS_AS(layer(ones({2, 3}, kDouble)), Error);
    CHECK_THROWS_WITH_AS(
        layer(ones({1 - group.rank(), 3})),
        "in SyncBatchNorm: SyncBatchNorm: expected more than one value per channel when training, got one in all "
        "processes",
        Error);
  }));
}

}  // namespace tandem::distributed
