// Describes linear algebra on complex matrices, as complex_table.cpp describes other operations: from real inputs [...,
// 2]. Phases of singular vectors and eigenvectors are arbitrary, so functions of them are described that do not depend
// on these.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Cases = std::vector<std::vector<InputSpec>>;

Tensor z(const Tensor& x) { return complex(x.select(-1, 0), x.select(-1, 1)); }
Tensor unit(const Tensor& x) { return eye(x.size(-1), x.options().requires_grad(false)); }
/// The arguments "herm(z(x0))", … of the references.
Tensor herm(const Tensor& x) { return z(x) + z(x).mH(); }
Tensor sym(const Tensor& x) { return z(x) + z(x).mT(); }
Tensor hpd(const Tensor& x) { return z(x).matmul(z(x).mH()) + unit(z(x)) * 2; }
Tensor far(const Tensor& x) { return z(x) + unit(z(x)) * 5; }
Tensor lower(const Tensor& x) { return z(x).tril(-1) + unit(z(x)) * 2; }
/// With zeros on the diagonal, so that decompositions pivot with blocks of 2.
Tensor indefinite(const Tensor& x) { return x * (1 - unit(x)); }

const Cases kSquare = {{real({3, 3, 2})}, {real({2, 1, 2, 2, 2})}, {real({0, 2, 2, 2})}, {real({1, 1, 2})}},
            kOne = {{real({3, 3, 2})}}, kShapes = {{real({3, 3, 2})}, {real({2, 2, 4, 2})}, {real({4, 2, 2})}},
            kSystem = {{real({3, 3, 2}), real({3, 2, 2})}}, kVector = {{real({2, 3, 3, 2}), real({2, 3, 2})}},
            kLeast = {{real({4, 2, 2}), real({4, 2, 2})}, {real({2, 4, 2}), real({2, 1, 2})}},
            kLarge = {{real({17, 17, 2})}, {real({2, 5, 5, 2})}, {real({0, 3, 3, 2})}};

OpTest test(const std::string& name, const std::string& torch, TensorFn fn, Cases cases) {
  return {.name = "complex " + name,
          .torch = torch.empty() ? "" : "all_parts(" + torch + ")",
          .fn =
              [fn](const Tensors& x) {
                Tensors out = fn(x);
                for (Tensor& t : out)
                  if (t.is_complex()) t = view_as_real(t);
                return out;
              },
          .cases = std::move(cases),
          .tolerance32 = 1e-3,
          .tolerance64 = 1e-10};
}
OpTest refused(OpTest base, std::vector<Refusal> refusals) {
  base.refusals = std::move(refusals);
  return base;
}
template <class... T>
Tensors list(const std::tuple<T...>& x) {
  return std::apply([](const auto&... t) { return Tensors{t...}; }, x);
}
Tensor zero_in_batch(Device device) { return stack({eye(2), zeros({2, 2})}).to(kComplexDouble).to(device); }

std::vector<OpTest> factorizations() {
  return {
      refused(test(
                  "cholesky", "torch.linalg.cholesky(spd(z(x0)))",
                  [](const Tensors& x) { return Tensors{linalg_cholesky(hpd(x[0]))}; }, kSquare),
              {{[](Device d) { return Tensors{linalg_cholesky(zero_in_batch(d))}; },
                "linalg.cholesky: (Batch element 1): "},
               {[](Device d) {
                  return Tensors{linalg_cholesky(ones({2, 3}).to(kComplexFloat).to(d))};
                },
                "expected square matrices"}}),
      test(
          "cholesky upper", "torch.linalg.cholesky(spd(z(x0)), upper=True)",
          [](const Tensors& x) { return Tensors{linalg_cholesky(hpd(x[0]), true)}; }, kOne),
      test(
          "cholesky_solve", "torch.cholesky_solve(z(x1), lower(z(x0)).mH, upper=True)",
          [](const Tensors& x) { return Tensors{cholesky_solve(z(x[1]), lower(x[0]).mH(), true)}; }, kSystem),
      test(
          "cholesky_inverse", "torch.cholesky_inverse(lower(z(x0)))",
          [](const Tensors& x) { return Tensors{cholesky_inverse(lower(x[0]))}; }, kOne),
      test(
          "lu_factor", "torch.linalg.lu_factor(z(x0))",
          [](const Tensors& x) { return list(linalg_lu_factor(z(x[0]))); }, kShapes),
      without_gradient(test(
          "lu", "torch.linalg.lu(z(x0))", [](const Tensors& x) { return list(linalg_lu(z(x[0]))); }, kLarge)),
      test(
          "qr", "torch.linalg.qr(z(x0))", [](const Tensors& x) { return list(linalg_qr(z(x[0]))); }, kShapes),
      without_gradient(test(
          "qr complete", "torch.linalg.qr(z(x0), 'complete')",
          [](const Tensors& x) { return list(linalg_qr(z(x[0].detach()), "complete")); }, kShapes)),
      without_gradient(test(
          "geqrf", "torch.geqrf(z(x0))", [](const Tensors& x) { return list(geqrf(z(x[0].detach()))); }, kShapes)),
      test("householder_product", "torch.linalg.householder_product(z(x0), z(x1))",
           [](const Tensors& x) { return Tensors{linalg_householder_product(z(x[0]), z(x[1]))}; },
           {{real({3, 2, 2}), real({2, 2})}}),
      test("ormqr", "torch.ormqr(z(x0), z(x1), z(x2), False, True)",
           [](const Tensors& x) { return Tensors{ormqr(z(x[0]), z(x[1]), z(x[2]), false, true)}; },
           {{real({3, 2, 2}), real({2, 2}), real({2, 3, 2})}}),
      without_gradient(test(
          "ldl_factor", "torch.linalg.ldl_factor(z(x0) + z(x0).mT)",
          [](const Tensors& x) { return list(linalg_ldl_factor(sym(x[0].detach()))); }, kLarge)),
      without_gradient(test(
          "ldl_factor hermitian", "torch.linalg.ldl_factor(indefinite(z(x0)), hermitian=True)",
          [](const Tensors& x) { return list(linalg_ldl_factor(indefinite(herm(x[0].detach())), true)); }, kLarge)),
      without_gradient(test(
          "ldl_solve", "torch.linalg.ldl_solve(*torch.linalg.ldl_factor(z(x0) + z(x0).mT), z(x1))",
          [](const Tensors& x) {
            const auto [ld, pivots] = linalg_ldl_factor(sym(x[0].detach()));
            return Tensors{linalg_ldl_solve(ld, pivots, z(x[1].detach()))};
          },
          kSystem)),
      without_gradient(test("ldl_solve hermitian", "torch.linalg.solve(indefinite(z(x0)), z(x1))",
                            [](const Tensors& x) {
                              const auto [ld, pivots] = linalg_ldl_factor(indefinite(herm(x[0].detach())), true);
                              return Tensors{linalg_ldl_solve(ld, pivots, z(x[1].detach()), true)};
                            },
                            {{real({4, 4, 2}), real({4, 2, 2})}, {real({9, 9, 2}), real({9, 1, 2})}})),
  };
}

std::vector<OpTest> spectra() {
  const auto exponential = [](const Tensors& x) {
    const auto [values, vectors] = linalg_eigh(herm(x[0]));
    return Tensors{matmul(vectors * values.exp().unsqueeze(-2), vectors.mH())};
  };
  const auto squares = [](const Tensors& x) {
    const auto [u, s, vh] = linalg_svd(z(x[0]), false);
    return Tensors{u.abs().square(), s, vh.abs().square()};
  };
  return {
      test(
          "eigh", "[(lambda w, v: (w, v.abs().square()))(*torch.linalg.eigh(sym(z(x0))))][0]",
          [](const Tensors& x) {
            const auto [w, v] = linalg_eigh(herm(x[0]));
            return Tensors{w, v.abs().square()};
          },
          kSquare),
      refused(test("eigh upper",
                   "[(lambda w, v: v * w.exp().unsqueeze(-2) @ v.mH)(*torch.linalg.eigh(sym(z(x0)), 'U'))][0]",
                   exponential, kOne),
              {{[](Device d) {
                  const Tensor x = tensor({{2.0, 1.0}, {1.0, -1.0}}).to(kComplexDouble).to(d).requires_grad_();
                  (imag(std::get<1>(linalg_eigh(x))) * tensor({{1.0, 2.0}, {3.0, 4.0}}).to(d)).sum().backward();
                  return Tensors{};
                },
                "the phase of an eigenvector is arbitrary"}}),
      test(
          "eigvalsh", "torch.linalg.eigvalsh(sym(z(x0)))",
          [](const Tensors& x) { return Tensors{linalg_eigvalsh(herm(x[0]))}; }, kOne),
      test("svd", "[(lambda u, s, vh: (u.abs().square(), s, vh.abs().square()))(*torch.linalg.svd(z(x0), False))][0]",
           squares, kShapes),
      refused(test(
                  "svd product", "[(lambda u, s, vh: u @ vh)(*torch.linalg.svd(z(x0), False))][0]",
                  [](const Tensors& x) {
                    const auto [u, s, vh] = linalg_svd(z(x[0]), false);
                    return Tensors{u.matmul(vh)};
                  },
                  kShapes),
              {{[](Device d) {
                  const Tensor x = tensor({{2.0, 1.0}, {1.0, -1.0}}).to(kComplexDouble).to(d).requires_grad_();
                  (imag(std::get<0>(linalg_svd(x))) * tensor({{1.0, 2.0}, {3.0, 4.0}}).to(d)).sum().backward();
                  return Tensors{};
                },
                "the phase of a pair of singular vectors is arbitrary"},
               {[](Device d) {
                  return list(linalg_svd((zeros({2, 2}) / 0).to(kComplexFloat).to(d)));
                },
                "non-finite"}}),
      without_gradient(test("svd full", "",
                            [](const Tensors& x) {
                              const auto [u, s, vh] = linalg_svd(z(x[0]));
                              const int64_t k = s.size(-1);
                              const Tensor a = (u.narrow(-1, 0, k) * s.unsqueeze(-2)).matmul(vh.narrow(-2, 0, k));
                              return Tensors{u.matmul(u.mH()) - unit(u), vh.matmul(vh.mH()) - unit(vh), a - z(x[0])};
                            },
                            {{real({3, 3, 2})}, {real({2, 2, 4, 2})}, {real({20, 17, 2})}, {real({0, 2, 3, 2})}})),
      test(
          "svdvals", "torch.linalg.svdvals(z(x0))", [](const Tensors& x) { return Tensors{linalg_svdvals(z(x[0]))}; },
          kShapes),
      test(
          "pinv", "torch.linalg.pinv(z(x0))", [](const Tensors& x) { return Tensors{linalg_pinv(z(x[0]))}; }, kShapes),
      test(
          "pinv hermitian", "torch.linalg.pinv(sym(z(x0)), hermitian=True)",
          [](const Tensors& x) {
            return Tensors{linalg_pinv(herm(x[0]), optional<double>(), optional<double>(), true)};
          },
          kOne),
      without_gradient(test(
          "matrix_rank", "torch.linalg.matrix_rank(z(x0)[..., :1] * z(x0)[..., :1, :])",
          [](const Tensors& x) {
            return Tensors{linalg_matrix_rank(z(x[0]).narrow(-1, 0, 1) * z(x[0]).narrow(-2, 0, 1))};
          },
          kShapes)),
      test("cond", "torch.stack([torch.linalg.cond(z(x0), p) for p in (None, 1, 'nuc')])",
           [](const Tensors& x) {
             return Tensors{stack({linalg_cond(z(x[0])), linalg_cond(z(x[0]), 1), linalg_cond(z(x[0]), "nuc")})};
           },
           {{real({2, 2, 2})}}),
      test("matrix_norm", "torch.stack([torch.linalg.matrix_norm(z(x0), p) for p in (1, 2, 'nuc', 'fro')])",
           [](const Tensors& x) {
             const Tensor a = z(x[0]);
             return Tensors{stack({linalg_matrix_norm(a, 1), linalg_matrix_norm(a, 2), linalg_matrix_norm(a, "nuc"),
                                   linalg_matrix_norm(a)})};
           },
           {{real({2, 3, 2})}}),
  };
}

std::vector<OpTest> solutions() {
  return {
      test(
          "solve vectors", "torch.linalg.solve(far(z(x0)), z(x1))",
          [](const Tensors& x) { return Tensors{linalg_solve(far(x[0]), z(x[1]))}; }, kVector),
      refused(test(
                  "solve right", "torch.linalg.solve(far(z(x0)), z(x1).mT, left=False)",
                  [](const Tensors& x) { return Tensors{linalg_solve(far(x[0]), z(x[1]).mT(), false)}; }, kSystem),
              {{[](Device d) { return Tensors{linalg_solve(zero_in_batch(d), zero_in_batch(d))}; },
                "linalg.solve: (Batch element 1): "}}),
      test(
          "solve_triangular", "torch.linalg.solve_triangular(lower(z(x0)), z(x1), upper=False)",
          [](const Tensors& x) { return Tensors{linalg_solve_triangular(lower(x[0]), z(x[1]), false)}; }, kSystem),
      test(
          "solve_triangular right",
          "torch.linalg.solve_triangular(z(x0), z(x1).mT, upper=True, left=False, unitriangular=True)",
          [](const Tensors& x) { return Tensors{linalg_solve_triangular(z(x[0]), z(x[1]).mT(), true, false, true)}; },
          kSystem),
      test(
          "triangular_solve", "torch.triangular_solve(z(x1), lower(z(x0)), False, True)[0]",
          [](const Tensors& x) { return Tensors{std::get<0>(triangular_solve(z(x[1]), lower(x[0]), false, true))}; },
          kSystem),
      test(
          "lu_solve", "torch.linalg.lu_solve(*torch.linalg.lu_factor(far(z(x0))), z(x1), adjoint=True)",
          [](const Tensors& x) {
            const auto [lu, pivots] = linalg_lu_factor(far(x[0]));
            return Tensors{linalg_lu_solve(lu, pivots, z(x[1]), true, true)};
          },
          kSystem),
      test(
          "lu_solve right", "torch.linalg.lu_solve(*torch.linalg.lu_factor(far(z(x0))), z(x1).mT, left=False)",
          [](const Tensors& x) {
            const auto [lu, pivots] = linalg_lu_factor(far(x[0]));
            return Tensors{linalg_lu_solve(lu, pivots, z(x[1]).mT(), false)};
          },
          kSystem),
      test(
          "lstsq", "torch.linalg.lstsq(z(x0), z(x1))[0]",
          [](const Tensors& x) { return Tensors{std::get<0>(linalg_lstsq(z(x[0]), z(x[1])))}; }, kLeast),
      without_gradient(test(
          "lstsq gelsd", "torch.linalg.lstsq(z(x0), z(x1), driver='gelsd')",
          [](const Tensors& x) { return list(linalg_lstsq(z(x[0]), z(x[1]), nullopt, "gelsd")); }, kLeast)),
      test(
          "det", "torch.linalg.det(z(x0))", [](const Tensors& x) { return Tensors{linalg_det(z(x[0]))}; }, kSquare),
      test(
          "slogdet", "torch.linalg.slogdet(z(x0))", [](const Tensors& x) { return list(linalg_slogdet(z(x[0]))); },
          kSquare),
      test(
          "logdet", "torch.logdet(z(x0))", [](const Tensors& x) { return Tensors{logdet(z(x[0]))}; }, kOne),
      without_gradient(test(
          "singular", "(lambda a: (torch.linalg.det(a), *torch.linalg.slogdet(a)))(z(x0) * 0)",
          [](const Tensors& x) {
            const Tensor a = z(x[0]) * 0;
            const auto [sign, logarithm] = linalg_slogdet(a);
            return Tensors{linalg_det(a), sign, logarithm};
          },
          kOne)),
  };
}

std::vector<OpTest> functions() {
  return {
      test("matrix_exp", "torch.linalg.matrix_exp(z(x0))",
           [](const Tensors& x) { return Tensors{linalg_matrix_exp(z(x[0]))}; }, {{real({2, 2, 2})}}),
      test(
          "matrix_power", "torch.linalg.matrix_power(far(z(x0)), -3)",
          [](const Tensors& x) { return Tensors{far(x[0]).matrix_power(-3)}; }, kOne),
      test(
          "matrix_sqrth", "torch.ops.aten.linalg_matrix_sqrth(spd(z(x0)))",
          [](const Tensors& x) { return Tensors{linalg_matrix_sqrth(hpd(x[0]))}; }, kOne),
      test("polar", "torch.ops.aten.linalg_polar(z(x0))", [](const Tensors& x) { return list(linalg_polar(z(x[0]))); },
           {{real({3, 2, 2})}, {real({2, 2, 2})}}),
      test("multi_dot", "torch.linalg.multi_dot([z(x0), z(x1), z(x0)])",
           [](const Tensors& x) {
             return Tensors{linalg_multi_dot(Tensors{z(x[0]), z(x[1]), z(x[0])})};
           },
           {{real({2, 3, 2}), real({3, 2, 2})}}),
      test("vecdot", "torch.linalg.vecdot(z(x0), z(x1))",
           [](const Tensors& x) { return Tensors{linalg_vecdot(z(x[0]), z(x[1]))}; },
           {{real({2, 3, 2}), real({3, 2})}}),
      test("cross", "torch.linalg.cross(z(x0), z(x1))",
           [](const Tensors& x) { return Tensors{linalg_cross(z(x[0]), z(x[1]))}; },
           {{real({2, 3, 2}), real({2, 3, 2})}}),
      test("vander", "torch.linalg.vander(z(x0))", [](const Tensors& x) { return Tensors{linalg_vander(z(x[0]))}; },
           {{real({3, 2})}}),
      test("tensorinv", "torch.linalg.tensorinv(z(x0))",
           [](const Tensors& x) { return Tensors{linalg_tensorinv(z(x[0]))}; }, {{real({2, 1, 2, 2})}}),
  };
}

}  // namespace

std::vector<OpTest> complex_linalg_tests() {
  std::vector<OpTest> all;
  for (auto part : {factorizations, spectra, solutions, functions})
    for (OpTest& t : part()) all.push_back(std::move(t));
  return all;
}

}  // namespace tandem::testing
