// Matrix products and recurrent layers.
#include "tandem/autograd/ops/linalg/quantized_linear.h"
#include "tandem/autograd/ops/nn/recurrent_layer.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/tests/cuda/on_device.h"
#include "tandem/tests/cuda/strict.h"

using namespace tandem;

namespace {

using Inputs = std::vector<Tensor>;

// The same numbers in several layouts: by rows, by columns, rows further apart, in no order, and one line for all.
Inputs layouts(int64_t rows, int64_t columns, ScalarType type) {
  return {randn({rows, columns}).to(type), randn({columns, rows}).to(type).t(),
          randn({rows, columns + 3}).to(type).narrow(1, 1, columns),
          randn({2 * rows, 2 * columns}).to(type).slice(0, 0, 2 * rows, 2).slice(1, 0, 2 * columns, 2),
          randn({1, columns}).to(type).expand({rows, columns})};
}

void check_product(const Tensor& a, const Tensor& b, double beta, double alpha) {
  CAPTURE(a.describe());
  CAPTURE(b.describe());
  CAPTURE(beta);
  Dims sizes(a.sizes());
  sizes.back() = b.size(-1);
  same_bits(randn(sizes).to(a.dtype()), {a, b}, [&](const Backend& backend, const Tensor& out, const Inputs& in) {
    backend.linalg.matmul(out, in[0], in[1], beta, alpha);
  });
}

}  // namespace

TEST_CASE("strict: matrix products of all layouts and depths") {
  if (!is_strict_device()) return;
  for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf}) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{5, 1, 70}, {1, 1, 37}, {1, 9, 33}, {3, 17, 20}, {18, 5, 1}})
      for (const Tensor& a : layouts(m, k, type))
        for (const Tensor& b : layouts(k, n, type)) check_product(a, b, 1, 1);
    for (const int64_t k : {0, 15, 256, 257, 512, 513, 1100, 2100})
      for (const int64_t n : {1, 2}) {
        const Tensor a = randn({3, k}).to(type), b = randn({k, n}).to(type);
        for (const double beta : {0., 1., 0.3}) check_product(a, b, beta, 1.7);
        check_product(randn({k, 3}).to(type).t(), b, 0.3, 1.7);
        check_product(a, randn({n, k}).to(type).t(), 1, 0);
        check_product(a, randn({k, 2 * n}).to(type).slice(1, 0, 2 * n, 2), 0.3, -1);
      }
    for (const double beta : {0., 1., -1., 0.3})  // nothing is added, not even 0
      same_bits(full({2, 3}, -0.0, TensorOptions(type)), {randn({2, 0}).to(type), randn({0, 3}).to(type)},
                [&](const Backend& backend, const Tensor& out, const Inputs& in) {
                  backend.linalg.matmul(out, in[0], in[1], beta, 1);
                });
  }
}

TEST_CASE("strict: batches of matrix products, and their gradients") {
  if (!is_strict_device()) return;
  for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf}) {
    const auto product = [](const Tensors& x) { return x[0].bmm(x[1]); };
    same(product, {randn({140, 18, 20}).to(type), randn({140, 20, 17}).to(type)});  // in large tiles
    same(product, {randn({20, 6, 5}).to(type).transpose(0, 2), randn({5, 20, 1}).to(type)});
    same(product, {randn({1, 6, 5}).to(type).expand({4, 6, 5}), randn({4, 1, 5}).to(type).transpose(1, 2)}, false);
    same(product, {randn({0, 6, 5}).to(type), randn({0, 5, 2}).to(type)});
    same([](const Tensors& x) { return einsum("bij,kj,bk->bi", x); },
         {randn({5, 4, 30}).to(type), randn({6, 30}).to(type), randn({5, 6}).to(type)});
    same([](const Tensors& x) { return addmm(x[0], x[1], x[2], 0.7, 1.3); },
         {randn({9, 21}).to(type), randn({9, 600}).to(type), randn({600, 21}).to(type)});
  }
  for (const ScalarType type : {kComplexFloat, kComplexDouble})
    same([](const Tensors& x) { return x[0].mm(x[1]).mv(x[2]); },
         {randn({7, 70}, type), randn({70, 9}, type), randn({9}, type)}, false);
}

TEST_CASE("strict: NaN, infinity and the smallest numbers in products") {
  if (!is_strict_device()) return;
  const float infinity = std::numeric_limits<float>::infinity(), least = std::numeric_limits<float>::denorm_min();
  Tensor a = randn({5, 66}), b = randn({66, 3}) * 1e-38;
  a.select(1, 7).fill_(infinity);
  b.select(1, 1).fill_(-least);
  a.select(0, 2).fill_(0.4);
  a.select(0, 4).fill_(-0.0);
  for (const double beta : {0., 1., -0.5}) {
    const auto bits_of_numbers = [&](const Tensors& x) {  // a NaN has the bits of its device
      return addmm(zeros({5, 3}, x[0].options()), x[0], x[1], beta, 1).nan_to_num(-7);
    };
    same(bits_of_numbers, {a, b}, false);
    same(bits_of_numbers, {a.to(kBFloat16), b.to(kBFloat16)}, false);
  }
}

TEST_CASE("strict: linear layers") {
  if (!is_strict_device()) return;
  for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf})
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{5, 7, 3}, {1, 33, 520}, {4, 1, 70}, {2, 3, 0}, {70, 20, 5}})
      for (const Tensor& x : layouts(m, k, type))
        for (const Tensor& w : {randn({n, k}).to(type), randn({k, n}).to(type).t()})
          for (const Tensor& bias : {randn({n}).to(type), Tensor()}) {
            CAPTURE(x.describe());
            CAPTURE(w.describe());
            same_bits(empty({m, n}, type), {x, w, bias},
                      [](const Backend& backend, const Tensor& out, const Inputs& in) {
                        backend.linalg.linear(out, in[0], in[1], in[2]);
                      });
          }
  // The gradient of a transposed weight lies as on the CPU.
  same([](const Tensors& x) { return linear(x[0], x[1].t()); }, {randn({3, 4, 6}), randn({6, 5})});
}

TEST_CASE("strict: linear layers of int8 weights") {
  if (!is_strict_device()) return;
  for (const auto& [n, k, group] : {std::array<int64_t, 3>{1, 5, 3}, {65, 4100, 64}, {50, 127, 32}, {3, 0, 4}}) {
    const autograd::QuantizedMatrix w = autograd::quantize(randn({n, k}), group);
    const auto product = [](const Tensors& x) {
      return autograd::quantized_linear(x[0], x[1], x[2], x.size() > 3 ? x[3] : Tensor());
    };
    for (const int64_t m : {1, 5, 16, 17, 40})
      for (const ScalarType type : {kFloat, kHalf}) {
        const Tensor x = randn({m, k}).to(type);
        same(product, {x, w.values, w.scales, randn({n}).to(type)}, false);
        same(product, {x, w.values, w.scales}, false);
      }
  }
}

TEST_CASE("strict: recurrent layers") {
  if (!is_strict_device()) return;
  // Longer products than one piece are not in one kernel: of 70 doubles, only those of the gradient.
  struct Size {
    int64_t size;
    ScalarType type;
  };
  for (const Size& of : {Size{1, kFloat}, {5, kBFloat16}, {33, kFloat}, {70, kDouble}})
    for (const RecurrentKind kind :
         {RecurrentKind::kLstm, RecurrentKind::kGru, RecurrentKind::kTanh, RecurrentKind::kRelu}) {
      const int64_t size = of.size, gates = gate_count(kind) * size, batch = 4;
      const ScalarType type = of.type;
      for (const std::vector<int64_t>& rows : {std::vector<int64_t>{4, 4, 3, 1}, {4, 4}})
        for (const bool reverse : {false, true}) {
          CAPTURE(size);
          CAPTURE(static_cast<int>(kind));
          int64_t count = 0;
          for (const int64_t r : rows) count += r;
          const auto layer = [&](const Tensors& x) {
            const autograd::RecurrentState s =
                autograd::recurrent_layer("layer", kind, x[0], autograd::recurrent_steps(rows), reverse, x[1],
                                          kind == RecurrentKind::kLstm ? x[2] : Tensor(), {x[3], x[4], {}, {}, {}});
            return cat({s.out, s.h, s.c.defined() ? s.c : s.h});
          };
          same(layer, {randn({count, 3}).to(type), randn({batch, size}).to(type), randn({batch, size}).to(type),
                       randn({gates, 3}).to(type), (randn({gates, size}) * 0.2).to(type)});
        }
    }
  const int64_t size = 270;
  same(
      [](const Tensors& x) {
        return std::get<0>(rnn_tanh(x[0], x[1], TensorList(x.data() + 2, 2), false, 1, 0, true, false, false));
      },
      {randn({3, 2, 4}, kDouble), randn({1, 2, size}, kDouble), randn({size, 4}, kDouble),
       randn({size, size}, kDouble) * 0.05});
}

TEST_CASE("strict: autocast has one set of lists") {
  if (!is_strict_device()) return;
  const auto in_region = [](auto f) {
    return [f](const Tensors& x) {
      const autocast::AutocastGuard mixed(x[0].device().type(), kBFloat16);
      return f(x);
    };
  };
  const Tensors matrices{randn({6, 8}), randn({8, 8}), randn({8})};
  same(in_region([](const Tensors& x) { return x[0].mm(x[1]).to(kFloat).mv(x[2]); }), matrices);
  same(in_region([](const Tensors& x) { return layer_norm(linear(x[0], x[1]), {8}).to(kFloat); }), matrices);
  same(in_region([](const Tensors& x) { return softmax(x[0].mm(x[1]), 1).pow(2).to(kFloat); }), matrices);
  same(in_region([](const Tensors& x) {
         return std::get<0>(gru(x[0], x[1], TensorList(x.data() + 2, 2), false, 1, 0, true, false, false)).to(kFloat);
       }),
       {randn({3, 2, 4}), randn({1, 2, 5}), randn({15, 4}), randn({15, 5})});
}
