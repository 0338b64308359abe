// A row has the same bits in any batch, for sizes that take each way through the kernels. test_ops --batches does the same
// for all descriptions, whose sizes are small.
#include <doctest/doctest.h>

#include "tandem/tandem.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

using Function = std::function<Tensor(const Tensor&)>;

// `batch_dim`: of input and output. The first and the last row of each batch are compared.
void check_rows(const Function& f, const Tensor& all, int64_t batch_dim = 0) {
  const auto run = [&](const Tensor& x) {
    Tensor input = x.clone().requires_grad_();
    const Tensor out = f(input);
    const Tensor weights = out.detach().to(kDouble).cos().to(out.dtype());
    return Tensors{out.detach(), autograd::grad({out}, {input}, {weights})[0]};
  };
  const auto row = [&](const Tensor& t, int64_t i) { return t.narrow(batch_dim, i, 1).contiguous(); };
  const Tensors first = run(row(all, 0));
  for (const int64_t size : {2, 3, 4, 5, 7, 13, 64}) {
    if (size > all.size(batch_dim)) break;
    const Tensors among = run(all.narrow(batch_dim, 0, size).contiguous()), last = run(row(all, size - 1));
    for (std::size_t i = 0; i < 2; ++i) {
      const char* what = i == 0 ? "output" : "gradient";
      CHECK_MESSAGE(identical(row(among[i], 0), first[i]), what, " of the first row among ", size);
      CHECK_MESSAGE(identical(row(among[i], size - 1), last[i]), what, " of the last row among ", size);
    }
  }
}

}  // namespace

TEST_CASE("rows of linear layers and matrix products do not depend on the batch") {
  manual_seed(1);
  for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf})
    for (const std::pair<int64_t, int64_t>& size : {std::pair<int64_t, int64_t>{1, 1},
                                                    {3, 2},
                                                    {84, 10},
                                                    {400, 120},
                                                    {600, 40},
                                                    {17, 513},
                                                    {513, 17},
                                                    {784, 1},
                                                    {1030, 70},
                                                    {512, 1000},
                                                    {2048, 96}}) {
      const int64_t in = size.first, out = size.second;
      INFO(in, " to ", out, " ", name(type));
      const Tensor x = randn({64, in}, kDouble).to(type), w = (randn({out, in}, kDouble) / 8).to(type),
                   b = randn({out}, kDouble).to(type), columns = w.t().contiguous();
      check_rows([&](const Tensor& rows) { return linear(rows, w, b); }, x);
      check_rows([&](const Tensor& rows) { return rows.mm(columns); }, x);
      check_rows([&](const Tensor& rows) { return addmm(b, rows, columns, 0.5, 2); }, x);
    }
}

TEST_CASE("rows of recurrent layers do not depend on the batch") {
  manual_seed(1);
  for (const int64_t hidden : {1, 5, 33, 128}) {
    INFO("hidden ", hidden);
    const Tensor x = randn({6, 64, 20});
    nn::LSTM lstm(nn::LSTMOptions(20, hidden).num_layers(2));
    nn::GRU gru(nn::GRUOptions(20, hidden).bidirectional(true));
    nn::RNN rnn(nn::RNNOptions(20, hidden));
    nn::LSTMCell cell(20, hidden);
    check_rows([&](const Tensor& steps) { return std::get<0>(lstm(steps)); }, x, 1);
    check_rows([&](const Tensor& steps) { return std::get<0>(gru(steps)); }, x, 1);
    check_rows([&](const Tensor& steps) { return std::get<0>(rnn(steps)); }, x, 1);
    check_rows([&](const Tensor& rows) { return std::get<0>(cell(rows)); }, x[0]);
  }
}

TEST_CASE("reductions of rows and normalisations do not depend on the batch") {
  manual_seed(1);
  for (const ScalarType type : {kFloat, kDouble})
    for (const int64_t n : {5, 40, 3000, 70'000, 300'001}) {
      INFO("rows of ", n, " ", name(type));
      const int64_t count = n > 100'000 ? 7 : 64;
      const Tensor x = randn({count, n}, type) + 0.5;
      check_rows([](const Tensor& rows) { return rows.sum(1, true); }, x);
      check_rows([](const Tensor& rows) { return rows.mean(1, true); }, x);
      check_rows([](const Tensor& rows) { return rows.var(1, true, true); }, x);
      check_rows([](const Tensor& rows) { return rows.norm(3, 1, true); }, x);
      check_rows([](const Tensor& rows) { return rows.logsumexp(1, true); }, x);
      check_rows([](const Tensor& rows) { return rows.softmax(1); }, x);
      check_rows([&](const Tensor& rows) { return layer_norm(rows, {n}); }, x);
      if (n % 5 != 0) continue;
      const Tensor channels = x.view({count, 5, n / 5});
      check_rows([](const Tensor& rows) { return rows.sum(1, true); }, channels);
      check_rows([](const Tensor& rows) { return rows.mean({1, 2}, true); }, channels);
      check_rows([](const Tensor& rows) { return group_norm(rows, 1); }, channels);
      if (n > 5)
        check_rows([](const Tensor& rows) { return instance_norm(rows, {}, {}, {}, {}, true, 0.1, 1e-5); }, channels);
    }
}

TEST_CASE("images of convolutions do not depend on the batch") {
  manual_seed(1);
  struct Case {
    std::vector<int64_t> image, weight;
    int64_t stride = 1, padding = 0, groups = 1, dilation = 1;
  };
  const Case cases[] = {{.image = {1, 28, 28}, .weight = {6, 1, 5, 5}, .padding = 2},
                        {.image = {6, 14, 14}, .weight = {16, 6, 5, 5}},
                        {.image = {64, 28, 28}, .weight = {64, 64, 3, 3}, .padding = 1},
                        {.image = {64, 14, 14}, .weight = {64, 64, 3, 3}, .padding = 1},
                        {.image = {96, 7, 7}, .weight = {80, 96, 3, 3}, .padding = 1},
                        {.image = {64, 14, 14}, .weight = {40, 64, 3, 3}, .stride = 2, .padding = 1},
                        {.image = {16, 9, 11}, .weight = {24, 16, 3, 3}, .padding = 3},
                        {.image = {2048, 7, 7}, .weight = {64, 2048, 1, 1}},
                        {.image = {64, 14, 14}, .weight = {128, 64, 1, 1}, .stride = 2},
                        {.image = {32, 14, 14}, .weight = {32, 1, 3, 3}, .padding = 1, .groups = 32},
                        {.image = {32, 10, 10}, .weight = {64, 8, 3, 3}, .padding = 1, .groups = 4},
                        {.image = {600, 4, 4}, .weight = {20, 600, 3, 3}, .padding = 1},
                        {.image = {16, 9, 9}, .weight = {40, 16, 3, 3}, .padding = 2, .dilation = 2},
                        {.image = {40, 5, 5}, .weight = {24, 40, 5, 5}}};
  for (const ScalarType type : {kFloat, kDouble, kBFloat16})
    for (const Case& c : cases) {
      INFO(IntArrayRef(c.image), " ", IntArrayRef(c.weight), " ", name(type));
      if (type == kDouble && c.image[1] > 20) continue;
      const Tensor x = randn({64, c.image[0], c.image[1], c.image[2]}).to(type), w = (randn(c.weight) / 8).to(type),
                   b = randn({c.weight[0]}).to(type);
      check_rows([&](const Tensor& rows) { return conv2d(rows, w, b, c.stride, c.padding, c.dilation, c.groups); }, x);
      if (c.groups == 1 && c.image[1] < 20)
        check_rows(
            [&](const Tensor& rows) {
              return conv_transpose2d(rows, w.transpose(0, 1).contiguous(), b, c.stride, c.padding);
            },
            x);
    }
  const Tensor line = randn({64, 16, 50}), volume = randn({64, 4, 5, 6, 7});
  const Tensor line_weight = randn({24, 16, 3}), volume_weight = randn({8, 4, 3, 3, 3});
  check_rows([&](const Tensor& rows) { return conv1d(rows, line_weight, {}, 1, 1); }, line);
  check_rows([&](const Tensor& rows) { return conv3d(rows, volume_weight, {}, 1, 1); }, volume);
}
