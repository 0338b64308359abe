// Initialisation: ranges, moments and exact patterns.
#include "tandem/nn/init.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "tandem/autograd/ops.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/tests/as_pytorch.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::AsPyTorch;
using test::error_of;

namespace {

struct Moments {
  double mean = 0, std = 0, least = 1e300, most = -1e300;
};
Moments moments(const Tensor& t) {
  Moments m;
  const float* x = t.data_ptr<float>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    m.mean += x[i];
    m.least = std::fmin(m.least, x[i]);
    m.most = std::fmax(m.most, x[i]);
  }
  m.mean /= static_cast<double>(t.numel());
  for (int64_t i = 0; i < t.numel(); ++i) m.std += (x[i] - m.mean) * (x[i] - m.mean);
  m.std = std::sqrt(m.std / static_cast<double>(t.numel()));
  return m;
}

// Each initialiser, for a weight that all of them take.
using Initialiser = std::function<Tensor(Tensor)>;
const std::vector<std::pair<const char*, Initialiser>> kInitialisers{
    {"uniform_", [](Tensor t) { return nn::init::uniform_(t); }},
    {"normal_", [](Tensor t) { return nn::init::normal_(t); }},
    {"constant_", [](Tensor t) { return nn::init::constant_(t, 7); }},
    {"zeros_", [](Tensor t) { return nn::init::zeros_(t); }},
    {"ones_", [](Tensor t) { return nn::init::ones_(t); }},
    {"eye_", [](Tensor t) { return nn::init::eye_(t); }},
    {"dirac_", [](Tensor t) { return nn::init::dirac_(t.unsqueeze(2)), t; }},
    {"xavier_uniform_", [](Tensor t) { return nn::init::xavier_uniform_(t); }},
    {"xavier_normal_", [](Tensor t) { return nn::init::xavier_normal_(t); }},
    {"kaiming_uniform_", [](Tensor t) { return nn::init::kaiming_uniform_(t); }},
    {"kaiming_normal_", [](Tensor t) { return nn::init::kaiming_normal_(t); }},
    {"orthogonal_", [](Tensor t) { return nn::init::orthogonal_(t); }},
    {"sparse_", [](Tensor t) { return nn::init::sparse_(t, 0.5); }}};

// The same draws: `a` and `b` fill tensors of these sizes with the same numbers.
void same_draws(std::vector<int64_t> sizes, const Initialiser& a, const Initialiser& b) {
  manual_seed(5);
  const Tensor x = a(zeros(sizes, kDouble));
  manual_seed(5);
  const Tensor y = b(zeros(sizes, kDouble));
  CHECK(x.allclose(y, 1e-12, 1e-15));
  CHECK(x.abs().max().item<double>() > 0);
}

bool is(const Tensor& t, const std::vector<double>& values) {
  return allclose(t.detach().to(kDouble).reshape({-1}), tensor(values).to(kDouble), 1e-6, 1e-6);
}

}  // namespace

TEST_CASE("bounds and moments") {
  manual_seed(1);
  const Tensor w = empty({200, 100});
  const auto within = [](const Moments& m, double bound) {
    CHECK(m.least >= -bound);
    CHECK(m.most <= bound);
    CHECK(m.most > 0.99 * bound);
    CHECK(std::fabs(m.mean) < 0.02 * bound);
  };
  within(moments(nn::init::kaiming_uniform_(w, std::sqrt(5.0))), 1 / std::sqrt(100.0));
  within(moments(nn::init::xavier_uniform_(w)), std::sqrt(6.0 / 300));
  CHECK(moments(nn::init::xavier_normal_(w, 2)).std == doctest::Approx(2 * std::sqrt(2.0 / 300)).epsilon(0.03));
  CHECK(moments(nn::init::kaiming_normal_(w, 0, kFanOut, kReLU)).std ==
        doctest::Approx(std::sqrt(2.0 / 200)).epsilon(0.03));
  const Moments n = moments(nn::init::normal_(w, 3, 0.5));
  CHECK(n.mean == doctest::Approx(3).epsilon(0.01));
  CHECK(n.std == doctest::Approx(0.5).epsilon(0.03));
  CHECK(nn::init::calculate_fans(empty({8, 4, 3, 5})).in == 60);
  CHECK(nn::init::calculate_fans(empty({8, 4, 3, 5})).out == 120);
  CHECK_THROWS_AS(nn::init::xavier_uniform_(empty({3})), Error);
}

TEST_CASE("initial values of Linear") {
  manual_seed(2);
  nn::Linear fc(400, 50);
  CHECK(moments(fc->weight).most <= 0.05);
  CHECK(moments(fc->weight).most > 0.0499);
  CHECK(moments(fc->bias).most <= 0.05);
  CHECK(moments(fc->bias).least < 0);
  manual_seed(2);
  nn::Linear same(400, 50);
  CHECK(same->weight.data_ptr<float>()[77] == fc->weight.data_ptr<float>()[77]);
}

TEST_CASE("patterns") {
  const Tensor eye = nn::init::eye_(empty({2, 3}));
  for (int64_t i = 0; i < 6; ++i) CHECK(eye.data_ptr<float>()[i] == (i % 4 == 0 ? 1 : 0));
  const Tensor dirac = nn::init::dirac_(empty({2, 2, 3, 3}));
  for (int64_t i = 0; i < 36; ++i) CHECK(dirac.data_ptr<float>()[i] == (i == 4 || i == 31 ? 1 : 0));
  CHECK(nn::init::constant_(empty({2}), 4).data_ptr<float>()[1] == 4);

  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{3, 7}, {7, 3}}) {
    const Tensor q = nn::init::orthogonal_(empty({rows, columns}), 2);
    const Tensor product = rows < columns ? mm(q, q.t()) : mm(q.t(), q);
    for (int64_t i = 0; i < 9; ++i)
      CHECK(product.data_ptr<float>()[i] == doctest::Approx(i % 4 == 0 ? 4 : 0).epsilon(1e-5));
  }
  const Tensor sparse = nn::init::sparse_(empty({10, 4}), 0.25);
  int zeros = 0;
  for (int64_t i = 0; i < 40; ++i) zeros += sparse.data_ptr<float>()[i] == 0;
  CHECK(zeros == 12);
}

TEST_CASE("gains") {
  CHECK(nn::init::calculate_gain(kLinear) == 1);
  CHECK(nn::init::calculate_gain(kReLU) == doctest::Approx(std::sqrt(2.0)));
  CHECK(nn::init::calculate_gain(kLeakyReLU, 0.2) == doctest::Approx(std::sqrt(2 / 1.04)));
  CHECK(nn::init::calculate_gain(kTanh) == doctest::Approx(5.0 / 3));
}

TEST_CASE("initialisation is not recorded, changes the tensor itself and may be skipped") {
  for (const auto& each : kInitialisers) {
    CAPTURE(each.first);
    const Initialiser& initialise = each.second;
    const Tensor w = full({4, 4}, 3.0, requires_grad());
    {
      const Tensor draws = default_generator().get_state();
      const nn::init::SkipGuard skip;
      CHECK(nn::init::is_skipped());
      {
        const nn::init::SkipGuard no_more(false);
        CHECK(nn::init::is_skipped());
        CHECK(initialise(w).is_same(w));
      }
      CHECK(nn::init::is_skipped());
      CHECK(initialise(w).is_same(w));
      CHECK(w.eq(3).all().item<bool>());
      CHECK(default_generator().get_state().equal(draws));
    }
    CHECK_FALSE(nn::init::is_skipped());
    {
      const nn::init::SkipGuard no(false);
      CHECK_FALSE(nn::init::is_skipped());
    }
    CHECK(initialise(w).is_same(w));
    CHECK(w.is_leaf());
    CHECK(w.requires_grad());
    CHECK(w.ne(3).any().item<bool>());
    CHECK(GradMode::is_enabled());
  }
}

TEST_CASE("the bounds and deviations of all kinds of draws") {
  namespace init = nn::init;
  const auto uniform = [](double bound) { return [bound](Tensor t) { return t.uniform_(-bound, bound); }; };
  const auto normal = [](double std) { return [std](Tensor t) { return t.normal_(0, std); }; };
  same_draws(
      {3, 2}, [](Tensor t) { return init::uniform_(t); }, [](Tensor t) { return t.uniform_(0, 1); });
  same_draws(
      {3, 2}, [](Tensor t) { return init::uniform_(t, -3, 5); }, [](Tensor t) { return t.uniform_(-3, 5); });
  same_draws(
      {3, 2}, [](Tensor t) { return init::normal_(t); }, normal(1));
  same_draws(
      {3, 2}, [](Tensor t) { return init::normal_(t, 2, 3); }, [](Tensor t) { return t.normal_(2, 3); });
  // Fans of [8, 4, 3, 5]: 4 * 15 in, 8 * 15 out.
  const std::vector<int64_t> kernel{8, 4, 3, 5};
  same_draws(
      kernel, [](Tensor t) { return init::xavier_uniform_(t); }, uniform(std::sqrt(6.0 / 180)));
  same_draws(
      kernel, [](Tensor t) { return init::xavier_uniform_(t, 3); }, uniform(3 * std::sqrt(6.0 / 180)));
  same_draws(
      kernel, [](Tensor t) { return init::xavier_normal_(t); }, normal(std::sqrt(2.0 / 180)));
  same_draws(
      kernel, [](Tensor t) { return init::xavier_normal_(t, 3); }, normal(3 * std::sqrt(2.0 / 180)));
  struct Gain {
    init::NonlinearityType kind;
    double a, gain;
  };
  for (const Gain& g : std::vector<Gain>{{kLeakyReLU, 0, std::sqrt(2.0)},
                                         {kLeakyReLU, 2, std::sqrt(2.0 / 5)},
                                         {kReLU, 2, std::sqrt(2.0)},
                                         {kTanh, 2, 5.0 / 3},
                                         {kSELU, 2, 0.75},
                                         {kSigmoid, 2, 1},
                                         {kLinear, 2, 1},
                                         {kConv1D, 2, 1},
                                         {kConv2D, 2, 1},
                                         {kConv3D, 2, 1},
                                         {kConvTranspose1D, 2, 1},
                                         {kConvTranspose2D, 2, 1},
                                         {kConvTranspose3D, 2, 1}}) {
    CHECK(init::calculate_gain(g.kind, g.a) == doctest::Approx(g.gain).epsilon(1e-12));
    for (const auto mode : {kFanIn, kFanOut}) {
      const double std = g.gain / std::sqrt(mode == kFanIn ? 60.0 : 120.0);
      same_draws(
          kernel, [&](Tensor t) { return init::kaiming_uniform_(t, g.a, mode, g.kind); },
          uniform(std::sqrt(3.0) * std));
      same_draws(
          kernel, [&](Tensor t) { return init::kaiming_normal_(t, g.a, mode, g.kind); }, normal(std));
    }
  }
  same_draws(
      kernel, [](Tensor t) { return init::kaiming_uniform_(t); }, uniform(std::sqrt(6.0 / 60)));
  same_draws(
      kernel, [](Tensor t) { return init::kaiming_normal_(t); }, normal(std::sqrt(2.0 / 60)));
  CHECK(init::calculate_gain(kLeakyReLU) == doctest::Approx(std::sqrt(2 / 1.0001)).epsilon(1e-12));
  for (const auto& [sizes, in, out] : std::vector<std::tuple<std::vector<int64_t>, int64_t, int64_t>>{
           {{2, 3}, 3, 2}, {{2, 3, 5}, 15, 10}, {{2, 3, 5, 7}, 105, 70}, {{2, 3, 5, 7, 11}, 1155, 770}}) {
    CHECK(init::calculate_fans(tandem::empty(sizes)).in == in);
    CHECK(init::calculate_fans(tandem::empty(sizes)).out == out);
  }
  // Parameters without elements.
  for (const std::vector<int64_t>& none : {std::vector<int64_t>{0, 3}, {3, 0}}) {
    CHECK(init::kaiming_uniform_(tandem::empty(none)).numel() == 0);
    CHECK(init::kaiming_normal_(tandem::empty(none)).numel() == 0);
    CHECK(init::orthogonal_(tandem::empty(none)).numel() == 0);
  }
}

TEST_CASE("patterns in tensors of any layout") {
  namespace init = nn::init;
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{2, 3}, {3, 2}, {3, 3}, {1, 4}}) {
    const Tensor parts = full({columns + 1, 2 * rows}, 5.0), eye = parts.slice(0, 1).slice(1, 0, 2 * rows, 2).t();
    init::eye_(eye);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) CHECK(eye[i][j].item<double>() == (i == j));
    CHECK(parts.eq(5).sum().item<int64_t>() == 2 * rows * (columns + 1) - rows * columns);
    // A convolution with odd or even kernels: the middle of 4 is element 2.
    for (const std::vector<int64_t>& kernel : {std::vector<int64_t>{3}, {4, 3}, {1, 2, 5}}) {
      std::vector<int64_t> sizes{rows, columns};
      sizes.insert(sizes.end(), kernel.begin(), kernel.end());
      const Tensor whole = full({rows + 1, columns, 60}, 5.0);
      Tensor w = whole.slice(0, 1).slice(2, 0, tensor(kernel).prod().item<int64_t>()).view(sizes);
      init::dirac_(w);
      CHECK(w.sum().item<int64_t>() == std::min(rows, columns));
      CHECK(whole[0].eq(5).all().item<bool>());
      for (int64_t c = 0; c < std::min(rows, columns); ++c) {
        Tensor at = w[c][c];
        for (const int64_t size : kernel) at = at[size / 2];
        CHECK(at.item<double>() == 1);
      }
    }
  }
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{3, 7}, {7, 3}, {4, 4}, {4, 2, 3}, {3, 1, 2}, {1, 5}, {5, 1}})
    for (const double gain : {1.0, 3.0}) {
      const Tensor q = gain == 1 ? init::orthogonal_(tandem::empty(sizes, kDouble))
                                 : init::orthogonal_(tandem::empty(sizes, kDouble), gain);
      const Tensor m = q.flatten(1), product = m.size(0) <= m.size(1) ? mm(m, m.t()) : mm(m.t(), m);
      CHECK(product.allclose(eye(product.size(0), kDouble) * (gain * gain), 1e-12, 1e-12));
    }
  struct Sparse {
    double sparsity;
    int64_t zeros;  // in each column of 10
  };
  for (const auto& [sparsity, zeros] : {Sparse{0, 0}, {0.25, 3}, {0.3, 3}, {0.31, 4}, {1, 10}}) {
    manual_seed(3);
    const Tensor t = init::sparse_(ones({10, 300}), sparsity, 0.5);
    CHECK(t.eq(0).sum(0).eq(zeros).all().item<bool>());
    if (zeros == 10) continue;
    const double others = static_cast<double>(300 * (10 - zeros));
    CHECK(std::sqrt(t.square().sum().item<double>() / others) == doctest::Approx(0.5).epsilon(0.05));
    CHECK(std::fabs(t.sum().item<double>() / others) < 0.05);
    if (zeros == 3)  // any rows
      for (int64_t row = 0; row < 10; ++row)
        CHECK(static_cast<double>(t[row].eq(0).sum().item<int64_t>()) == doctest::Approx(90).epsilon(0.4));
  }
  manual_seed(3);
  CHECK(std::fabs(init::sparse_(empty({1000, 4}), 0).std().item<double>() - 0.01) < 0.001);
}

TEST_CASE("what cannot be initialised is refused, and stays as it was") {
  namespace init = nn::init;
  const auto refused = [](const std::vector<std::vector<int64_t>>& shapes, const Initialiser& f,
                          const std::string& text) {
    for (const std::vector<int64_t>& sizes : shapes) {
      const Tensor t = full(sizes, 5.0);
      CHECK(error_of([&] { f(t); }) == concat(text, t));
      CHECK(t.eq(5).all().item<bool>());
    }
  };
  const std::vector<std::vector<int64_t>> none{{}, {3}}, no_matrix{{}, {3}, {2, 2, 2}};
  refused(
      no_matrix, [](Tensor t) { return init::eye_(t); }, "init.eye_: expected a matrix, got ");
  refused(
      no_matrix, [](Tensor t) { return init::sparse_(t, 0.5); }, "init.sparse_: expected a matrix, got ");
  refused(
      {{2, 2}, {1, 1, 1, 1, 1, 1}}, [](Tensor t) { return init::dirac_(t); },
      "init.dirac_: expected 3 to 5 dimensions, got ");
  refused(
      none, [](Tensor t) { return init::orthogonal_(t); }, "init.orthogonal_: expected at least 2 dimensions, got ");
  for (const std::size_t i : {7, 8, 9, 10})
    refused(none, kInitialisers[i].second, "init.calculate_fans: expected at least 2 dimensions, got ");
  for (const double sparsity : {-0.01, 1.01, std::nan("")})
    CHECK(error_of([&] {
            init::sparse_(ones({2, 2}), sparsity);
          }) == concat("init.sparse_: sparsity must be in [0, 1], got ", sparsity));
}

TEST_CASE("orthogonal and sparse initial values are PyTorch's") {
  const auto drawn = [](std::vector<int64_t> sizes, const Initialiser& f) {
    const AsPyTorch mode(7);
    return f(tandem::empty(sizes));
  };
  const auto orthogonal = [](double gain) { return [gain](Tensor t) { return nn::init::orthogonal_(t, gain); }; };
  CHECK(is(drawn({3, 3}, orthogonal(2)), {-0.24903965, 1.24649489, 1.54409516, -1.8904978, -0.62215507, 0.19733533,
                                          -0.60332209, 1.43498206, -1.25571859}));
  CHECK(is(drawn({3, 2}, orthogonal(1)), {-0.0755353, 0.78529733, 0.48719931, -0.50862306, 0.87001789, 0.35300258}));
  CHECK(is(drawn({2, 3}, orthogonal(1)), {-0.11844325, 0.63430709, 0.76395392, -0.48921087, 0.63223696, -0.60079044}));
  CHECK(is(drawn({5, 3}, [](Tensor t) { return nn::init::sparse_(t, 0.4, 0.5); }),
           {-0.07339755, 0.39307064, 0.47341082, 0, 0, -0.44741395, -0.17781252, 0.61619288, 0, -0.84109926, 0.15883915,
            0.06640349, 0, 0, 0}));
}
