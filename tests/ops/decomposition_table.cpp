// Describes the decompositions of matrices and the functions of torch.linalg. Signs of singular vectors and
// eigenvectors are arbitrary, so functions of them are described that do not depend on the signs.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using sv = std::string_view;
using Two = std::tuple<T, T>;
using Three = std::tuple<T, T, T>;
using Four = std::tuple<T, T, T, T>;
using Cases = std::vector<std::vector<InputSpec>>;

Tensor unit(const Tensor& x) { return eye(x.size(-1), x.options().requires_grad(false)); }
/// Symmetric positive definite, far from singular, symmetric: the arguments "spd(x0)", … of the references.
Tensor spd(const Tensor& x) { return x.matmul(x.mT()) + unit(x) * 2; }
Tensor far(const Tensor& x) { return x + unit(x) * 5; }
Tensor sym(const Tensor& x) { return x + x.mT(); }
/// Symmetric, with zeros on the diagonal, so that decompositions pivot with blocks of 2.
Tensor indefinite(const Tensor& x) { return sym(x) * (1 - unit(x)); }
/// A triangle far from singular.
Tensor lower(const Tensor& x) { return x.tril(-1) + unit(x) * 2; }

const Cases kSquare = {{real({3, 3})}, {real({2, 1, 4, 4})}, {real({0, 3, 3})}, {real({2, 0, 0})}},
            kFull = {{real({3, 3})}, {real({2, 4, 4})}},
            kIndefinite = {{real({3, 3})},
                           {real({2, 1, 7, 7})},
                           {real({70, 70})},
                           {real({0, 3, 3})},
                           {real({2, 0, 0})}},
            kAnyShape = {{real({3, 3})}, {real({2, 2, 4})}, {real({5, 3})}, {real({0, 3, 2})}},
            kFullShapes = {{real({3, 3})}, {real({2, 2, 4})}, {real({5, 3})}},
            kTall = {{real({3, 3})}, {real({2, 5, 3})}},
            kSystem = {{real({3, 3}), real({3, 2})},
                       {real({3, 3}), real({3})},
                       {real({2, 3, 3}), real({2, 3})},
                       {real({2, 1, 3, 3}), real({4, 3, 2})}},
            kMatrices = {{real({3, 3}), real({3, 2})}, {real({2, 1, 3, 3}), real({4, 3, 2})}};

/// V diag(exp(L)) V⁻¹, which depends neither on the order nor on the phases of the eigenvectors.
Tensor eig_exp(const Tensor& x) {
  const auto [values, vectors] = linalg_eig(x);
  return matmul(vectors * values.exp().unsqueeze(-2), linalg_inv(vectors));
}

OpTest test(std::string name, std::string torch, TensorFn fn, Cases cases) {
  return {.name = std::move(name),
          .torch = std::move(torch),
          .fn = std::move(fn),
          .cases = std::move(cases),
          .tolerance32 = 3e-4,
          .tolerance64 = 1e-10};
}
/// Of a function of the inverse of the eigenvectors, whose condition multiplies the rounding errors.
OpTest eig_test(std::string name, std::string torch, TensorFn fn, Cases cases) {
  OpTest out = test(std::move(name), std::move(torch), std::move(fn), std::move(cases));
  out.tolerance32 = 2e-3;
  return out;
}
OpTest refused(OpTest base, std::vector<Refusal> refusals) {
  base.refusals = std::move(refusals);
  return base;
}
Tensors list(const Two& x) { return {std::get<0>(x), std::get<1>(x)}; }
Tensors list(const Three& x) { return {std::get<0>(x), std::get<1>(x), std::get<2>(x)}; }

Tensor zero_in_batch(Device device) { return stack({eye(2), zeros({2, 2})}).to(device); }

std::vector<Operation> factorizations() {
  return {
      {OPERATION(linalg_cholesky, T(CT, bool)), .torch = "lambda a, u: torch.linalg.cholesky(a, upper=u)",
       .tests = {refused(test(
                             "linalg_cholesky", "torch.linalg.cholesky(spd(x0))",
                             [](const Tensors& x) { return Tensors{linalg_cholesky(spd(x[0]))}; }, kSquare),
                         {{[](Device d) { return Tensors{linalg_cholesky(zero_in_batch(d))}; },
                           "linalg.cholesky: (Batch element 1): "}}),
                 test(
                     "linalg_cholesky upper", "torch.linalg.cholesky(spd(x0), upper=True)",
                     [](const Tensors& x) { return Tensors{linalg_cholesky(spd(x[0]), true)}; }, kFull)}},
      {OPERATION(linalg_cholesky_ex, Two(CT, bool, bool)),
       .torch = "lambda a, u, c: torch.linalg.cholesky_ex(a, upper=u, check_errors=c)",
       .tests = {test(
           "linalg_cholesky_ex", "torch.linalg.cholesky_ex(spd(x0))",
           [](const Tensors& x) { return list(linalg_cholesky_ex(spd(x[0]))); }, kFull)}},
      {OPERATION(linalg_lu_factor, Two(CT, bool)), .torch = "torch.linalg.lu_factor",
       .tests = {test(
           "linalg_lu_factor", "torch.linalg.lu_factor(x0)",
           [](const Tensors& x) { return list(linalg_lu_factor(x[0])); }, kAnyShape)}},
      {OPERATION(linalg_lu_factor_ex, Three(CT, bool, bool)), .torch = "torch.linalg.lu_factor_ex",
       .tests = {refused(test(
                             "linalg_lu_factor_ex", "torch.linalg.lu_factor_ex(x0)",
                             [](const Tensors& x) { return list(linalg_lu_factor_ex(x[0])); }, kFullShapes),
                         {{[](Device d) {
                             return list(linalg_lu_factor_ex(zeros({2, 2}).to(d), true, true));
                           },
                           "linalg.lu_factor_ex: U[1"}})}},
      {OPERATION(linalg_lu, Three(CT, bool)), .torch = "torch.linalg.lu",
       .tests = {test(
           "linalg_lu", "torch.linalg.lu(x0)", [](const Tensors& x) { return list(linalg_lu(x[0])); }, kAnyShape)}},
      {OPERATION(lu_unpack, Three(CT, CT, bool, bool)), .tests = {test(
                                                            "lu_unpack", "torch.lu_unpack(*torch.linalg.lu_factor(x0))",
                                                            [](const Tensors& x) {
                                                              const auto [lu, pivots] = linalg_lu_factor(x[0]);
                                                              return list(lu_unpack(lu, pivots));
                                                            },
                                                            kFullShapes)}},
      {OPERATION(linalg_ldl_factor, Two(CT, bool)), .torch = "lambda a, h: torch.linalg.ldl_factor(a, hermitian=h)",
       .tests = {refused(
           without_gradient(test(
               "linalg_ldl_factor", "torch.linalg.ldl_factor(sym(x0))",
               [](const Tensors& x) { return list(linalg_ldl_factor(sym(x[0].detach()))); }, kIndefinite)),
           {{[](Device d) { return list(linalg_ldl_factor(zero_in_batch(d))); },
             "linalg.ldl_factor: (Batch element 1): D[1"},
            {[](Device d) {
               return list(linalg_ldl_factor(ones({2, 3}).to(d)));
             },
             "square"},
            {[](Device d) { return list(linalg_ldl_factor(eye(2).to(d).requires_grad_())); }, "no gradient"}})}},
      {OPERATION(linalg_ldl_factor_ex, Three(CT, bool, bool)),
       .torch = "lambda a, h, c: torch.linalg.ldl_factor_ex(a, hermitian=h, check_errors=c)",
       .tests = {without_gradient(test(
                     "linalg_ldl_factor_ex", "torch.linalg.ldl_factor_ex(sym(x0))",
                     [](const Tensors& x) { return list(linalg_ldl_factor_ex(sym(x[0].detach()))); }, kIndefinite)),
                 without_gradient(test(
                     "linalg_ldl_factor_ex zeros", "torch.linalg.ldl_factor_ex(x0 - x0)",
                     [](const Tensors& x) { return list(linalg_ldl_factor_ex((x[0] - x[0]).detach())); }, kFull))}},
      {OPERATION(linalg_ldl_solve, T(CT, CT, CT, bool)),
       .torch = "lambda f, p, b, h: torch.linalg.ldl_solve(f, p, b, hermitian=h)",
       .tests = {refused(
           without_gradient(test("linalg_ldl_solve",
                                 "torch.linalg.ldl_solve(*torch.linalg.ldl_factor(indefinite(x0)), x1)",
                                 [](const Tensors& x) {
                                   const auto [ld, pivots] = linalg_ldl_factor(indefinite(x[0].detach()));
                                   return Tensors{linalg_ldl_solve(ld, pivots, x[1].detach())};
                                 },
                                 {{real({3, 3}), real({3, 2})},
                                  {real({9, 9}), real({9, 4})},
                                  {real({2, 4, 4}), real({2, 4, 2})},
                                  {real({0, 3, 3}), real({3, 2})}})),
           {{[](Device d) { return Tensors{linalg_ldl_solve(eye(2).to(d), full({2}, 3, kInt).to(d), eye(2).to(d))}; },
             "pivots must be between 1 and 2"},
            {[](Device d) {
               return Tensors{linalg_ldl_solve(eye(2).to(d), full({2}, 1, kInt).to(d), ones({3, 1}).to(d))};
             },
             "B must have 2 rows"}})}},
      {OPERATION(linalg_polar, Two(CT)), .torch = "torch.ops.aten.linalg_polar",
       .tests = {refused(test("linalg_polar", "torch.ops.aten.linalg_polar(x0)",
                              [](const Tensors& x) { return list(linalg_polar(x[0])); },
                              {{real({3, 3})}, {real({2, 5, 3})}, {real({0, 3, 2})}, {real({2, 0, 0})}}),
                         {{[](Device d) {
                             return list(linalg_polar(ones({2, 3}).to(d)));
                           },
                           "at least as many rows as columns"}}),
                 test(
                     "linalg_polar h", "torch.ops.aten.linalg_polar(x0)[1]",
                     [](const Tensors& x) { return Tensors{std::get<1>(linalg_polar(x[0]))}; }, kTall),
                 test(
                     "linalg_polar u", "torch.ops.aten.linalg_polar(x0)[0]",
                     [](const Tensors& x) { return Tensors{std::get<0>(linalg_polar(x[0]))}; }, kTall)}},
      {OPERATION(linalg_matrix_sqrth, T(CT)), .torch = "torch.ops.aten.linalg_matrix_sqrth",
       .tests = {refused(test(
                             "linalg_matrix_sqrth", "torch.ops.aten.linalg_matrix_sqrth(spd(x0))",
                             [](const Tensors& x) { return Tensors{linalg_matrix_sqrth(spd(x[0]))}; }, kSquare),
                         {{[](Device d) {
                             return Tensors{linalg_matrix_sqrth(ones({2, 3}).to(d))};
                           },
                           "square"}})}},
      {OPERATION(linalg_qr, Two(CT, sv)), .torch = "torch.linalg.qr",
       .tests =
           {test(
                "linalg_qr", "torch.linalg.qr(x0)", [](const Tensors& x) { return list(linalg_qr(x[0])); }, kAnyShape),
            without_gradient(test(
                "linalg_qr complete", "torch.linalg.qr(x0, 'complete')",
                [](const Tensors& x) { return list(linalg_qr(x[0].detach(), "complete")); }, kAnyShape)),
            without_gradient(test(
                "linalg_qr r", "torch.linalg.qr(x0, 'r')[1]",
                [](const Tensors& x) { return Tensors{std::get<1>(linalg_qr(x[0].detach(), "r"))}; }, kAnyShape))}},
      {OPERATION(geqrf, Two(CT)),
       .tests = {without_gradient(test(
           "geqrf", "torch.geqrf(x0)", [](const Tensors& x) { return list(geqrf(x[0].detach())); }, kFullShapes))}},
      {OPERATION(linalg_householder_product, T(CT, CT)), .torch = "torch.linalg.householder_product",
       .tests = {test("linalg_householder_product", "torch.linalg.householder_product(x0, x1)",
                      [](const Tensors& x) { return Tensors{linalg_householder_product(x[0], x[1])}; },
                      {{real({4, 3}), real({3})}, {real({2, 3, 3}), real({2, 2})}})}},
      {OPERATION(ormqr, T(CT, CT, CT, bool, bool)),
       .tests = {test("ormqr", "torch.ormqr(x0, x1, x2)",
                      [](const Tensors& x) { return Tensors{ormqr(x[0], x[1], x[2])}; },
                      {{real({4, 3}), real({3}), real({4, 2})}}),
                 test("ormqr right transpose", "torch.ormqr(x0, x1, x2, False, True)",
                      [](const Tensors& x) { return Tensors{ormqr(x[0], x[1], x[2], false, true)}; },
                      {{real({2, 4, 3}), real({2, 3}), real({2, 5, 4})}})}},
  };
}

std::vector<Operation> spectra() {
  return {
      {OPERATION(linalg_eigh, Two(CT, sv)), .torch = "torch.linalg.eigh",
       .tests = {test(
                     "linalg_eigh", "[(lambda w, v: (w, v * v))(*torch.linalg.eigh(sym(x0)))][0]",
                     [](const Tensors& x) {
                       const auto [w, v] = linalg_eigh(sym(x[0]));
                       return Tensors{w, v * v};
                     },
                     kSquare),
                 test(
                     "linalg_eigh upper", "torch.linalg.eigh(sym(x0), 'U')[1].square()",
                     [](const Tensors& x) { return Tensors{std::get<1>(linalg_eigh(sym(x[0]), "U")).square()}; },
                     kFull)}},
      {OPERATION(linalg_eigvalsh, T(CT, sv)), .torch = "torch.linalg.eigvalsh",
       .tests = {test(
           "linalg_eigvalsh", "torch.linalg.eigvalsh(sym(x0))",
           [](const Tensors& x) { return Tensors{linalg_eigvalsh(sym(x[0]))}; }, kFull)}},
      {OPERATION(linalg_eig, Two(CT)),
       .tests = {refused(eig_test(
                             "linalg_eig", "parts(eig_exp(x0))",
                             [](const Tensors& x) { return Tensors{view_as_real(eig_exp(x[0]))}; }, kFull),
                         {{[](Device d) {
                             return list(linalg_eig((zeros({2, 2}) / 0).to(d)));
                           },
                           "linalg.eig: The matrix is not finite"},
                          {[](Device d) {
                             return list(linalg_eig(ones({2, 3}).to(d)));
                           },
                           "linalg.eig: expected square matrices"},
                          {[](Device d) {
                             const Tensor x = tensor({{0.0, 1.0}, {-1.0, 0.0}}).to(d).requires_grad_();
                             imag(std::get<1>(linalg_eig(x))).sum().backward();
                             return Tensors{};
                           },
                           "the phase of an eigenvector is arbitrary"}}),
                 eig_test("linalg_eig complex", "parts(eig_exp(z(x0)))",
                          [](const Tensors& x) {
                            return Tensors{view_as_real(eig_exp(complex(x[0].select(-1, 0), x[0].select(-1, 1))))};
                          },
                          {{real({3, 3, 2})}, {real({2, 2, 2, 2})}, {real({1, 1, 2})}}),
                 test("linalg_eig rows", "torch.linalg.eig(x0)[1].abs().square().sum(-1)",
                      [](const Tensors& x) { return Tensors{std::get<1>(linalg_eig(x[0])).abs().square().sum(-1)}; },
                      {{real({3, 3})}, {real({2, 4, 4})}, {real({0, 3, 3})}, {real({2, 0, 0})}})}},
      {OPERATION(linalg_eigvals, T(CT)),
       .tests = {test(
           "linalg_eigvals", "parts(torch.linalg.eigvals(x0).pow(3).sum(-1))",
           [](const Tensors& x) { return Tensors{view_as_real(linalg_eigvals(x[0]).pow(3).sum(-1))}; }, kFull)}},
      {OPERATION(linalg_svd, Three(CT, bool, optional<sv>)),
       .torch = "lambda a, f, d: torch.linalg.svd(a, f, driver=d)",
       .tests = {test(
                     "linalg_svd", "[(lambda u, s, vh: (u * u, s, vh * vh))(*torch.linalg.svd(x0, False))][0]",
                     [](const Tensors& x) {
                       const auto [u, s, vh] = linalg_svd(x[0], false);
                       return Tensors{u * u, s, vh * vh};
                     },
                     kAnyShape),
                 test(
                     "linalg_svd product", "[(lambda u, s, vh: u @ vh)(*torch.linalg.svd(x0, False))][0]",
                     [](const Tensors& x) {
                       const auto [u, s, vh] = linalg_svd(x[0], false);
                       return Tensors{u.matmul(vh)};
                     },
                     kFullShapes),
                 without_gradient(test(
                     "linalg_svd full", "",
                     [](const Tensors& x) {
                       const auto [u, s, vh] = linalg_svd(x[0].detach());
                       const int64_t k = s.size(-1);
                       return Tensors{
                           u.matmul(u.mT()), vh.matmul(vh.mT()),
                           (u.narrow(-1, 0, k) * s.unsqueeze(-2)).matmul(vh.narrow(-2, 0, k)) - x[0].detach()};
                     },
                     kAnyShape))}},
      {OPERATION(linalg_svdvals, T(CT, optional<sv>)), .torch = "lambda a, d: torch.linalg.svdvals(a, driver=d)",
       .tests = {test(
           "linalg_svdvals", "torch.linalg.svdvals(x0)", [](const Tensors& x) { return Tensors{linalg_svdvals(x[0])}; },
           kAnyShape)}},
      {OPERATION(svd, Three(CT, bool, bool)), .torch = "torch.svd",
       .tests = {test(
           "svd", "[(lambda u, s, v: (u * u, s, v * v))(*torch.svd(x0))][0]",
           [](const Tensors& x) {
             const auto [u, s, v] = svd(x[0]);
             return Tensors{u * u, s, v * v};
           },
           kFullShapes)}},
      {OPERATION(linalg_pinv, T(CT, optional<double>, optional<double>, bool)),
       .torch = "lambda a, p, q, h: torch.linalg.pinv(a, atol=p, rtol=q, hermitian=h)",
       .tests = {test(
                     "linalg_pinv", "torch.linalg.pinv(x0)",
                     [](const Tensors& x) { return Tensors{linalg_pinv(x[0])}; }, kAnyShape),
                 test(
                     "linalg_pinv hermitian", "torch.linalg.pinv(sym(x0), hermitian=True)",
                     [](const Tensors& x) {
                       return Tensors{linalg_pinv(sym(x[0]), optional<double>(), optional<double>(), true)};
                     },
                     kFull)}},
      {OPERATION(linalg_matrix_rank, T(CT, optional<double>, optional<double>, bool)),
       .torch = "lambda a, p, q, h: torch.linalg.matrix_rank(a, atol=p, rtol=q, hermitian=h)",
       .tests = {without_gradient(test(
           "linalg_matrix_rank", "torch.linalg.matrix_rank(x0[..., :1] * x0[..., :1, :])",
           [](const Tensors& x) { return Tensors{linalg_matrix_rank(x[0].narrow(-1, 0, 1) * x[0].narrow(-2, 0, 1))}; },
           kFullShapes))}},
      {OPERATION(linalg_cond, T(CT, const optional<Scalar>&), T(CT, sv)), .torch = "torch.linalg.cond",
       .tests = {test(
           "linalg_cond", "torch.stack([torch.linalg.cond(x0, p) for p in (None, -2, 1, float('inf'), 'nuc')])",
           [](const Tensors& x) {
             return Tensors{
                 stack({linalg_cond(x[0]), linalg_cond(x[0], -2), linalg_cond(x[0], 1),
                        linalg_cond(x[0], std::numeric_limits<double>::infinity()), linalg_cond(x[0], "nuc")})};
           },
           kFull)}},
  };
}

std::vector<Operation> solutions() {
  return {
      {OPERATION(linalg_solve, T(CT, CT, bool)), .torch = "lambda a, b, left: torch.linalg.solve(a, b, left=left)",
       .tests = {refused(test(
                             "linalg_solve", "torch.linalg.solve(far(x0), x1)",
                             [](const Tensors& x) { return Tensors{linalg_solve(far(x[0]), x[1])}; }, kSystem),
                         {{[](Device d) {
                             return Tensors{linalg_solve(zero_in_batch(d), ones({2, 2, 1}).to(d))};
                           },
                           "linalg.solve: (Batch element 1): "}}),
                 test(
                     "linalg_solve right", "torch.linalg.solve(far(x0), x1.mT, left=False)",
                     [](const Tensors& x) { return Tensors{linalg_solve(far(x[0]), x[1].mT(), false)}; }, kMatrices)}},
      {OPERATION(linalg_solve_ex, Two(CT, CT, bool, bool)),
       .torch = "lambda a, b, left, check: torch.linalg.solve_ex(a, b, left=left, check_errors=check)",
       .tests = {test(
           "linalg_solve_ex", "torch.linalg.solve_ex(far(x0), x1)",
           [](const Tensors& x) { return list(linalg_solve_ex(far(x[0]), x[1])); }, kMatrices)}},
      {OPERATION(linalg_solve_triangular, T(CT, CT, bool, bool, bool)),
       .torch = "lambda a, b, u, left, one: torch.linalg.solve_triangular(a, b, upper=u, left=left, "
                "unitriangular=one)",
       .tests =
           {test(
                "linalg_solve_triangular", "torch.linalg.solve_triangular(lower(x0), x1, upper=False)",
                [](const Tensors& x) { return Tensors{linalg_solve_triangular(lower(x[0]), x[1], false)}; }, kMatrices),
            test(
                "linalg_solve_triangular right",
                "torch.linalg.solve_triangular(x0, x1.mT, upper=True, left=False, unitriangular=True)",
                [](const Tensors& x) { return Tensors{linalg_solve_triangular(x[0], x[1].mT(), true, false, true)}; },
                kMatrices)}},
      {OPERATION(triangular_solve, Two(CT, CT, bool, bool, bool)), .torch = "torch.triangular_solve",
       .tests = {test(
           "triangular_solve", "torch.triangular_solve(x1, lower(x0).mT, True, True)[0]",
           [](const Tensors& x) { return Tensors{std::get<0>(triangular_solve(x[1], lower(x[0]).mT(), true, true))}; },
           kMatrices)}},
      {OPERATION(linalg_lu_solve, T(CT, CT, CT, bool, bool)),
       .torch = "lambda f, p, b, left, t: torch.linalg.lu_solve(f, p, b, left=left, adjoint=t)",
       .tests = {test(
                     "linalg_lu_solve", "torch.linalg.lu_solve(*torch.linalg.lu_factor(far(x0)), x1)",
                     [](const Tensors& x) {
                       const auto [lu, pivots] = linalg_lu_factor(far(x[0]));
                       return Tensors{linalg_lu_solve(lu, pivots, x[1])};
                     },
                     kMatrices),
                 test("linalg_lu_solve adjoint",
                      "torch.linalg.lu_solve(*torch.linalg.lu_factor(x0), x1.mT, left=False, adjoint=True)",
                      [](const Tensors& x) {
                        const auto [lu, pivots] = linalg_lu_factor(x[0]);
                        return Tensors{linalg_lu_solve(lu, pivots, x[1].mT(), false, true)};
                      },
                      {{real({3, 3}), real({3, 2})}})}},
      {OPERATION(lu_solve, T(CT, CT, CT)), .tests = {test(
                                               "lu_solve", "torch.lu_solve(x1, *torch.linalg.lu_factor(far(x0)))",
                                               [](const Tensors& x) {
                                                 const auto [lu, pivots] = linalg_lu_factor(far(x[0]));
                                                 return Tensors{lu_solve(x[1], lu, pivots)};
                                               },
                                               kMatrices)}},
      {OPERATION(cholesky_solve, T(CT, CT, bool)),
       .tests = {test(
           "cholesky_solve", "torch.cholesky_solve(x1, lower(x0))",
           [](const Tensors& x) { return Tensors{cholesky_solve(x[1], lower(x[0]))}; }, kMatrices)}},
      {OPERATION(cholesky_inverse, T(CT, bool)),
       .tests = {test(
           "cholesky_inverse", "torch.cholesky_inverse(lower(x0).mT, True)",
           [](const Tensors& x) { return Tensors{cholesky_inverse(lower(x[0]).mT(), true)}; }, kFull)}},
      {OPERATION(linalg_inv, T(CT)), .torch = "torch.linalg.inv",
       .tests = {refused(test(
                             "linalg_inv", "torch.linalg.inv(far(x0))",
                             [](const Tensors& x) { return Tensors{linalg_inv(far(x[0]))}; }, kSquare),
                         {{[](Device d) { return Tensors{linalg_inv(zero_in_batch(d))}; },
                           "linalg.inv: (Batch element 1): The diagonal element 1 is zero"}})}},
      {OPERATION(linalg_inv_ex, Two(CT, bool)), .torch = "lambda a, c: torch.linalg.inv_ex(a, check_errors=c)",
       .tests = {test(
           "linalg_inv_ex", "torch.linalg.inv_ex(far(x0))",
           [](const Tensors& x) { return list(linalg_inv_ex(far(x[0]))); }, kFull)}},
      {OPERATION(linalg_lstsq, Four(CT, CT, optional<double>, optional<sv>)),
       .torch = "lambda a, b, r, d: torch.linalg.lstsq(a, b, rcond=r, driver=d)",
       .tests = {test("linalg_lstsq", "torch.linalg.lstsq(x0, x1).solution",
                      [](const Tensors& x) { return Tensors{std::get<0>(linalg_lstsq(x[0], x[1]))}; },
                      {{real({5, 3}), real({5, 2})}, {real({2, 3, 4}), real({2, 3, 2})}, {real({4, 2}), real({4})}}),
                 without_gradient(test("linalg_lstsq gelsd", "tuple(torch.linalg.lstsq(x0, x1, driver='gelsd'))",
                                       [](const Tensors& x) {
                                         const auto [y, r, k, s] =
                                             linalg_lstsq(x[0].detach(), x[1].detach(), {}, "gelsd");
                                         return Tensors{y, r, k, s};
                                       },
                                       {{real({5, 3}), real({5, 2})}, {real({2, 5, 3}), real({2, 5, 1})}}))}},
      {OPERATION(linalg_det, T(CT)), .torch = "torch.linalg.det",
       .tests = {test(
           "linalg_det", "torch.linalg.det(x0)", [](const Tensors& x) { return Tensors{linalg_det(x[0])}; }, kSquare)}},
      {OPERATION(linalg_slogdet, Two(CT)), .torch = "torch.linalg.slogdet",
       .tests = {test(
           "linalg_slogdet", "torch.linalg.slogdet(x0)", [](const Tensors& x) { return list(linalg_slogdet(x[0])); },
           kSquare)}},
      {OPERATION(logdet, T(CT)),
       .tests = {test(
           "logdet", "torch.logdet(spd(x0))", [](const Tensors& x) { return Tensors{logdet(spd(x[0]))}; }, kFull)}},
  };
}

}  // namespace

std::vector<Operation> decomposition_operations() { return joined({factorizations, spectra, solutions}); }

}  // namespace tandem::testing
