// Matrix products against a triple loop in double, for various shapes, strides, transposes, alpha and beta.
#include "tandem/core/cpu/linalg/gemm.h"

#include "../kernel_testing.h"

using namespace tandem;
using namespace tandem::testing_kernels;

namespace {

template <class T>
struct Problem {
  cpu::GemmArgs<T> args;
  std::vector<T> a, b, c;

  Problem(int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, std::mt19937& random, int64_t batch = 1) {
    args = {.m = m, .n = n, .k = k, .trans_a = trans_a, .trans_b = trans_b, .batch = batch};
    args.lda = (trans_a ? m : k) + pick(random, 0, 3);
    args.ldb = (trans_b ? n == 0 ? 0 : k : n) + pick(random, 0, 3);
    args.ldc = n + pick(random, 0, 3);
    args.batch_stride_a = args.lda * (trans_a ? k : m);
    args.batch_stride_b = args.ldb * (trans_b ? n : k);
    args.batch_stride_c = args.ldc * m;
    a = random_values<T>(args.batch_stride_a * batch, random);
    b = random_values<T>(args.batch_stride_b * batch, random);
    c = random_values<T>(args.batch_stride_c * batch, random);
  }

  std::vector<double> reference() const {
    std::vector<double> out(c.begin(), c.end());
    for (int64_t i = 0; i < args.batch; ++i) reference_one(i, out);
    return out;
  }
  void reference_one(int64_t batch, std::vector<double>& out) const {
    const T* pa = a.data() + batch * args.batch_stride_a;
    const T* pb = b.data() + batch * args.batch_stride_b;
    for (int64_t i = 0; i < args.m; ++i) {
      for (int64_t j = 0; j < args.n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < args.k && args.alpha != 0; ++p)
          sum += static_cast<double>(pa[args.trans_a ? p * args.lda + i : i * args.lda + p]) *
                 static_cast<double>(pb[args.trans_b ? j * args.ldb + p : p * args.ldb + j]);
        double& to = out[static_cast<std::size_t>(batch * args.batch_stride_c + i * args.ldc + j)];
        to = static_cast<double>(args.alpha) * sum + (args.beta == 0 ? 0 : static_cast<double>(args.beta) * to);
      }
    }
  }
  std::vector<T> run() {
    return on_any_threads<T>(static_cast<int64_t>(c.size()), [&](T* out) {
      std::copy(c.begin(), c.end(), out);
      cpu::GemmArgs<T> g = args;
      g.a = a.data(), g.b = b.data(), g.c = out;
      cpu::gemm(g);
    });
  }
  double error() { return worst_error(run(), reference()); }
};

}  // namespace

TEST_CASE_TEMPLATE("gemm equals a triple loop on random shapes", T, float, double) {
  std::mt19937 random(1);
  for (int round = 0; round < 120; ++round) {
    const int64_t limit = round % 10 == 0 ? 150 : 40;
    const int64_t m = pick(random, 0, limit), n = pick(random, 0, limit), k = pick(random, 0, 2 * limit);
    Problem<T> problem(m, n, k, pick(random, 0, 1), pick(random, 0, 1), random,
                       pick(random, 0, 3) ? 1 : pick(random, 0, 12));
    problem.args.alpha = T(pick(random, 0, 3)) - 1;
    problem.args.beta = T(pick(random, 0, 3)) / 2;
    INFO("m ", m, " n ", n, " k ", k, " trans ", problem.args.trans_a, problem.args.trans_b);
    CHECK(problem.error() < tolerance<T>);
  }
}

TEST_CASE_TEMPLATE("gemm: one and a few rows times a large matrix", T, float, double) {
  std::mt19937 random(4);
  for (int64_t m = 1; m <= 5; ++m)
    for (const auto& size : {std::pair<int64_t, int64_t>{771, 389}, {4321, 67}, {67, 4321}, {9001, 9}, {2, 40001}})
      for (const bool trans_b : {false, true}) {
        const int64_t n = size.first, k = size.second;
        Problem<T> problem(m, n, k, pick(random, 0, 1), trans_b, random);
        problem.args.alpha = T(pick(random, 1, 3));
        problem.args.beta = T(pick(random, 0, 2)) / 2;
        INFO("m ", m, " n ", n, " k ", k, " trans ", problem.args.trans_a, trans_b);
        CHECK(problem.error() < tolerance<T>);
      }
}

TEST_CASE_TEMPLATE("gemm: several blocks in every direction", T, float, double) {
  std::mt19937 random(2);
  CHECK(Problem<T>(1100, 70, 450, false, false, random).error() < tolerance<T>);
  CHECK(Problem<T>(50, 1200, 810, true, true, random).error() < tolerance<T>);
  CHECK(Problem<T>(256, 128, 800, false, false, random).error() < tolerance<T>);
  CHECK(Problem<T>(256, 10, 128, false, true, random).error() < tolerance<T>);
}

TEST_CASE_TEMPLATE("gemm: one row, one column", T, float, double) {
  std::mt19937 random(3);
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (int64_t n : {1, 15, 300, 3000}) {
        CHECK(Problem<T>(n, 1, 130, ta, tb, random).error() < tolerance<T>);
        CHECK(Problem<T>(1, n, 130, ta, tb, random).error() < tolerance<T>);
      }
}

TEST_CASE_TEMPLATE("gemm on integers is exact", T, int64_t, int32_t, int16_t) {
  std::mt19937 random(4);
  for (bool ta : {false, true}) {
    Problem<T> problem(7, 9, ta ? 3 : 2, ta, !ta, random, 3);
    problem.args.beta = 1;
    CHECK(problem.error() == 0);
  }
}

TEST_CASE("gemm on bytes wraps") {
  const uint8_t a = 20, b = 20;
  uint8_t c = 1;
  cpu::gemm<uint8_t>({.m = 1, .n = 1, .k = 1, .a = &a, .lda = 1, .b = &b, .ldb = 1, .c = &c, .ldc = 1, .beta = 1});
  CHECK(c == 145);  // 401 mod 256
  const int8_t x = -100, y = 100;
  int8_t z = 0;
  cpu::gemm<int8_t>({.m = 1, .n = 1, .k = 1, .a = &x, .lda = 1, .b = &y, .ldb = 1, .c = &z, .ldc = 1});
  CHECK(z == static_cast<int8_t>(-10000));
}

TEST_CASE("gemm: NaN propagates, even against zero; beta 0 does not read C") {
  for (int64_t n : {1, 5, 40}) {
    std::vector<float> a(static_cast<std::size_t>(20 * 30), 0.f), b(static_cast<std::size_t>(30 * n), 0.f);
    std::vector<float> c(static_cast<std::size_t>(20 * n), NAN);
    a[3 * 30 + 7] = NAN;
    b[8 * static_cast<std::size_t>(n)] = INFINITY;
    cpu::gemm<float>(
        {.m = 20, .n = n, .k = 30, .a = a.data(), .lda = 30, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n});
    for (int64_t i = 0; i < 20; ++i)
      for (int64_t j = 0; j < n; ++j) CHECK(std::isnan(c[static_cast<std::size_t>(i * n + j)]) == (i == 3 || j == 0));
  }
}
