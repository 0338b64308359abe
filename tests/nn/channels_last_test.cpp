// Channels-last modules on a CPU: the same bits as row-major ones, in training, in files, and in everything that holds
// parameters.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tandem/nn/flat.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;

namespace {

constexpr auto kLast = MemoryFormat::ChannelsLast;
constexpr auto kRows = MemoryFormat::Contiguous;
using Tensors = std::vector<Tensor>;

nn::Sequential net() {
  manual_seed(3);
  return nn::Sequential(
      nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)), nn::BatchNorm2d(8), nn::ReLU(), nn::MaxPool2d(2),
      nn::Conv2d(nn::Conv2dOptions(8, 8, 3).groups(8)), nn::GELU(), nn::GroupNorm(2, 8),
      nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2, 2})), nn::ZeroPad2d(1), nn::AvgPool2d(2),
      nn::Dropout(0.5), nn::Conv2d(8, 4, 1), nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(4, 3));
}

Tensors copies(const Tensors& tensors) {
  Tensors out;
  for (const Tensor& t : tensors) out.push_back(t.detach().clone());
  return out;
}

void same(const Tensors& a, const Tensors& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(testing::identical(a[i], b[i]));
}

// The parameters and buffers after three steps. `late`: the layout is changed after the first.
template <class Optimizer, class Options>
Tensors trained(const Options& options, MemoryFormat format, bool late = false) {
  nn::Sequential model = net();
  if (!late) model->to(format);
  Optimizer optimizer(model->parameters(), options);
  const Tensor x = randn({4, 3, 12, 12}), y = randint(3, {4}, kLong);
  for (int i = 0; i < 3; ++i) {
    if (late && i == 1) model->to(format);
    optimizer.zero_grad();
    cross_entropy_loss(model->forward(i == 2 ? x.to(format) : x), y).backward();
    for (const Tensor& p : model->parameters()) CHECK(p.grad().is_contiguous(p.suggest_memory_format()));
    optimizer.step();
  }
  Tensors all = model->parameters();
  for (const Tensor& p : all)
    if (p.dim() == 4 && format == kLast) CHECK(p.is_contiguous(kLast));
  for (const Tensor& b : model->buffers()) all.push_back(b);
  return copies(all);
}

template <class Optimizer, class Options>
void trains_alike(const Options& options) {
  const Tensors rows = trained<Optimizer>(options, kRows);
  same(trained<Optimizer>(options, kLast), rows);
  same(trained<Optimizer>(options, kLast, /*late=*/true), rows);
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("every optimizer trains channels-last as row-major") {
  trains_alike<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
  trains_alike<optim::Adam>(optim::AdamOptions(1e-2).amsgrad(true));
  trains_alike<optim::AdamW>(optim::AdamWOptions(1e-2));
  trains_alike<optim::RMSprop>(optim::RMSpropOptions(1e-2).momentum(0.5).centered(true));
  trains_alike<optim::Adagrad>(optim::AdagradOptions(1e-2));
  trains_alike<optim::Adadelta>(optim::AdadeltaOptions());
  trains_alike<optim::NAdam>(optim::NAdamOptions(1e-2));
}

TEST_CASE("a state that was given row-major is stepped channels-last") {
  const auto stepped = [](MemoryFormat format) {
    manual_seed(5);
    const Tensor p = randn({4, 3, 2, 2}).to(format).requires_grad_();
    optim::SGD optimizer({p}, optim::SGDOptions(0.1).momentum(0.9));
    auto state = std::make_unique<optim::SGDParamState>();
    state->momentum_buffer(randn({4, 3, 2, 2}));
    optimizer.state()[p.unsafeGetTensorImpl()] = std::move(state);
    (p * randn({4, 3, 2, 2})).sum().backward();
    optimizer.step();
    return p.detach();
  };
  CHECK(testing::identical(stepped(kLast), stepped(kRows)));
}

TEST_CASE("large operands of two layouts") {
  const Tensor a = randn({4, 32, 24, 24}), b = randn({4, 32, 24, 24}), last = a.to(kLast);
  CHECK(testing::identical(last + b, a + b));
  CHECK(testing::identical(b * last, a * b));
  CHECK(testing::identical(a.to(kLast, true).add_(b), a + b));
  CHECK(testing::identical(addcmul(last, b, last), addcmul(a, b, a)));
  CHECK(testing::identical(where(last > 0, b, last), where(a > 0, b, a)));
  const Tensor turned = b.transpose(2, 3).clone().transpose(2, 3);  // neither layout
  CHECK(testing::identical(turned.clone().add_(last), b + a));
  CHECK(testing::identical(turned.detach().add_(last), b + a));
}

TEST_CASE("reductions have the order of rows") {
  const Tensor x = randn({3, 20, 17, 33}), last = x.to(kLast);
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{0, 2, 3}, {2, 3}, {1}, {0}, {3}, {}}) {
    CHECK(testing::identical(last.sum(dims), x.sum(dims)));
    CHECK(testing::identical(last.mean(dims), x.mean(dims)));
    CHECK(testing::identical(last.var(dims), x.var(dims)));
    CHECK(testing::identical(last.norm(2, dims), x.norm(2, dims)));
    CHECK(testing::identical(last.logsumexp(dims), x.logsumexp(dims)));
    CHECK(testing::identical(last.amax(dims), x.amax(dims)));
  }
  CHECK(testing::identical(last.sum(), x.sum()));
  CHECK(testing::identical(std::get<1>(last.max(1)), std::get<1>(x.max(1))));
}

TEST_CASE("the layout of gray images is that of the strides") {
  const Tensor x = randn({2, 1, 6, 5}), last = x.to(kLast);
  CHECK(last.suggest_memory_format() == kLast);
  CHECK(last.to(kRows).suggest_memory_format() == kRows);
  nn::Conv2d conv(1, 4, 3);
  conv->to(kLast);
  const Tensor out = conv(x);
  CHECK(out.is_contiguous(kLast));
  CHECK(max_pool2d(last, 2).suggest_memory_format() == kLast);
  out.sum().backward();
  CHECK(conv->weight.grad().is_contiguous(kLast));
}

TEST_CASE("results are no views") {
  const Tensor x = randn({2, 8, 2, 2}).to(kLast), w = ones({2, 8, 1, 1}).requires_grad_();
  Tensor pooled, resized, padded;
  {
    const NoGradGuard no_grad;
    pooled = max_pool2d(x, 2);
    resized = nn::functional::interpolate(
        x, nn::functional::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2}).mode(kNearest));
    padded = pad(x, {1, 1, 1, 1}, "replicate");
  }
  for (Tensor* out : {&pooled, &resized, &padded}) {
    CHECK_FALSE(out->is_view());
    const Tensor other = out->detach();
    out->add_(w);
    CHECK(out->requires_grad());
  }
}

TEST_CASE("six paddings of a volume without a batch") {
  const Tensor x = randn({2, 3, 4, 5});
  for (const char* mode : {"replicate", "circular", "reflect"}) {
    CAPTURE(mode);
    CHECK(testing::identical(pad(x.to(kLast), {1, 1, 1, 1, 1, 1}, mode), pad(x, {1, 1, 1, 1, 1, 1}, mode)));
  }
}

TEST_CASE("files are row-major") {
  const test::TempFolder folder;
  nn::Sequential rows = net(), last = net();
  last->to(kLast);
  serialize::save_safetensors(folder.path() + "/rows", rows->state_dict());
  serialize::save_safetensors(folder.path() + "/last", last->state_dict());
  CHECK(bytes_of(folder.path() + "/rows") == bytes_of(folder.path() + "/last"));
  save(last, folder.path() + "/module");
  nn::Sequential other = net();
  for (const Tensor& p : other->parameters()) p.detach().zero_();
  other->to(kLast);
  load(other, folder.path() + "/module");
  same(other->parameters(), rows->parameters());
  CHECK(other->parameters()[0].is_contiguous(kLast));
}

TEST_CASE("flat parameters keep the layout") {
  nn::Sequential rows = net(), last = net();
  last->to(kLast);
  nn::FlatParameters flat(*last);
  CHECK(flat.is_flat());
  same(last->parameters(), rows->parameters());
  CHECK(last->parameters()[0].is_contiguous(kLast));
  const Tensor x = randn({2, 3, 12, 12});
  for (nn::Sequential* model : {&rows, &last}) {
    manual_seed(7);
    (*model)->forward(x).sum().backward();
  }
  flat.collect();
  const Tensors own = rows->parameters(), others = last->parameters();
  for (std::size_t i = 0; i < own.size(); ++i) {
    CHECK(others[i].grad().storage() == flat.grad().storage());
    CHECK(testing::identical(others[i].grad(), own[i].grad()));
  }
  rows->to(kLast);
  rows->to(kRows);
  CHECK(rows->parameters()[0].is_contiguous());
}

TEST_CASE("a module's layout") {
  nn::Sequential model(nn::Conv3d(2, 3, 2), nn::Conv2d(2, 3, 2));
  model->to(MemoryFormat::ChannelsLast3d);
  CHECK(model->parameters()[0].is_contiguous(MemoryFormat::ChannelsLast3d));
  CHECK(model->parameters()[2].is_contiguous());
  CHECK_THROWS_AS(model->to(MemoryFormat::Preserve), Error);
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
  CHECK(copy->parameters()[0].is_contiguous(MemoryFormat::ChannelsLast3d));
  CHECK_THROWS_AS(ones({2, 3}).to(kLast), Error);
  const Tensor x = ones({2, 3, 4, 5}).to(kLast);
  CHECK(x.to(MemoryFormat::Preserve).is_same(x));
  CHECK_THROWS_AS(x.view({2, -1}), Error);
}

TEST_CASE_TEMPLATE("pooling and normalisation in inference have the bits of rows", T, float, double) {
  const NoGradGuard no_grad;
  for (const int64_t channels : {3, 16, 37}) {
    Tensor x = randn({2, channels, 13, 11}, scalar_type_of<T>);
    x[1][0][5].fill_(NAN);
    x[1][1][6].fill_(-INFINITY);
    x[0][2] = where(x[0][2] < 0, zeros({}), -zeros({}));
    const Tensor last = x.to(kLast);
    const auto same_layouts = [&](const auto& f) {
      const Tensor out = f(last);
      CHECK(out.is_contiguous(kLast));
      CHECK(testing::identical(out, f(x)));
    };
    same_layouts([](const Tensor& t) { return max_pool2d(t, 2); });
    same_layouts([](const Tensor& t) { return max_pool2d(t, 3, 2, 1); });
    same_layouts([](const Tensor& t) { return max_pool2d(t, {3, 2}, {1, 3}, 1, {2, 1}, true); });
    same_layouts([](const Tensor& t) { return avg_pool2d(t, 2); });
    same_layouts([](const Tensor& t) { return avg_pool2d(t, 3, 2, 1, true, false); });
    same_layouts([](const Tensor& t) { return avg_pool2d(t, {6, 11}, 1); });
    same_layouts([](const Tensor& t) { return avg_pool2d(t, {4, 5}, 3, {2, 1}, false, true, 7); });
    for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{{1, 1}, {3, 4}, {2, 1}})
      same_layouts([&](const Tensor& t) { return adaptive_avg_pool2d(t, size); });
    const Tensor mean = randn({channels}, x.options()), var = rand({channels}, x.options()),
                 weight = randn({channels}, x.options()), bias = randn({channels}, x.options());
    same_layouts([&](const Tensor& t) { return batch_norm(t, weight, bias, mean, var, false, 0.1, 1e-5); });
    same_layouts([&](const Tensor& t) { return batch_norm(t, {}, {}, mean, var, false, 0.1, 1e-5); });
  }
  // More elements than are summed in one run.
  const Tensor large = randn({1, 17, 70, 90}, scalar_type_of<T>);
  CHECK(testing::identical(adaptive_avg_pool2d(large.to(kLast), 1), adaptive_avg_pool2d(large, 1)));
}

namespace {
// Views its input as rows.
struct ViewImpl : nn::Cloneable<ViewImpl> {
  void reset() override {}
  Tensor forward(const Tensor& x) { return x.view({x.size(0), -1}).view(x.sizes()); }
};
TANDEM_MODULE(View);
}  // namespace

TEST_CASE("a module that is no layer gets row-major tensors") {
  const NoGradGuard no_grad;
  nn::Sequential model(nn::Conv2d(3, 40, 3), nn::Conv2d(40, 40, 3), nn::ReLU(), View(), nn::Conv2d(40, 40, 3));
  model->eval();
  nn::fuse(model);
  CHECK(model[0]->as<nn::Conv2d>()->layout == kLast);
  CHECK(model->forward(randn({2, 3, 12, 12})).is_contiguous());
}

TEST_CASE("fused networks are channels-last inside, with the bits of rows") {
  const NoGradGuard no_grad;
  nn::Sequential model(nn::Conv2d(nn::Conv2dOptions(3, 40, 3).padding(1)), nn::BatchNorm2d(40), nn::ReLU(),
                       nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(40, 40, 3).groups(40)), nn::ReLU6(),
                       nn::Sequential(nn::Conv2d(nn::Conv2dOptions(40, 64, 1).stride(2)), nn::Hardswish(),
                                      nn::Conv2d(nn::Conv2dOptions(64, 8, 3).groups(4))),
                       nn::Sigmoid(), nn::Conv2d(8, 33, 2), nn::Conv2d(33, 5, 1));
  model->eval();
  nn::fuse(model);
  std::vector<nn::Conv2dImpl*> convolutions;
  model->apply([&](nn::Module& module) {
    if (auto* conv = module.as<nn::Conv2d>()) convolutions.push_back(conv);
  });
  REQUIRE(convolutions.size() == 6);
  const Tensor x = randn({2, 3, 25, 27});
  CHECK(convolutions[0]->forward(x).is_contiguous(kLast));
  const Tensor out = model->forward(x), from_last = model->forward(x.to(kLast));
  CHECK(out.is_contiguous());
  CHECK(from_last.is_contiguous());
  for (nn::Conv2dImpl* conv : convolutions) conv->layout = nullopt;
  const Tensor rows = model->forward(x);
  CHECK(testing::identical(out, rows));
  CHECK(testing::identical(from_last, rows));
  {
    const AutoGradMode recorded(true);
    convolutions[0]->layout = kLast;
    CHECK(convolutions[0]->forward(x).is_contiguous());
  }
}
