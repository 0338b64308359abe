// Describes the operations on complex numbers. The harness gives real inputs [..., 2], from which the cases make
// complex tensors, and compares the parts of the results; z() and parts() in torch_references.py do the same.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

// A case whose function takes complex tensors.
OpTest of_complex(const char* name, const char* torch, Tensor (*f)(const Tensors& z),
                  std::vector<std::vector<InputSpec>> inputs, bool differentiable = true) {
  const TensorFn fn = [f](const Tensors& x) {
    Tensors z;
    for (const Tensor& t : x) z.push_back(complex(t.select(-1, 0), t.select(-1, 1)));
    const Tensor out = f(z);
    return Tensors{out.is_complex() ? view_as_real(out) : out};
  };
  OpTest test{concat("complex ", name), concat("parts(", torch, ")"), fn, std::move(inputs)};
  test.first_order = test.second_order = differentiable;
  test.tolerance32 = 2e-5;
  return test;
}

const std::vector<std::vector<InputSpec>> kOne = {{real({3, 4, 2})}, {real({2})}};
const std::vector<std::vector<InputSpec>> kTwo = {{real({3, 4, 2}), real({4, 2})}, {real({2}), real({3, 2})}};

std::vector<OpTest> part_tests() {
  return {
      of_complex(
          "abs", "z(x0).abs()", [](const Tensors& z) { return z[0].abs(); }, kOne),
      of_complex(
          "angle", "z(x0).angle()", [](const Tensors& z) { return z[0].angle(); }, kOne),
      of_complex(
          "sgn", "torch.sgn(z(x0))", [](const Tensors& z) { return sgn(z[0]); }, kOne),
      of_complex(
          "real", "z(x0).real", [](const Tensors& z) { return tandem::real(z[0]); }, kOne),
      of_complex(
          "imag", "z(x0).imag", [](const Tensors& z) { return imag(z[0]); }, kOne),
      of_complex(
          "conj", "z(x0).conj()", [](const Tensors& z) { return z[0].conj(); }, kOne),
      of_complex("adjoint", "z(x0).mH", [](const Tensors& z) { return z[0].mH(); }, {{real({3, 4, 2})}}),
  };
}

std::vector<OpTest> arithmetic_tests() {
  return {
      of_complex(
          "add", "z(x0).add(z(x1), alpha=2-1j)",
          [](const Tensors& z) { return z[0].add(z[1], Complex<double>(2, -1)); }, kTwo),
      of_complex(
          "sub", "z(x0) - z(x1)", [](const Tensors& z) { return z[0] - z[1]; }, kTwo),
      of_complex(
          "mul", "z(x0) * z(x1)", [](const Tensors& z) { return z[0] * z[1]; }, kTwo),
      of_complex(
          "mul number", "z(x0) * (2-1j)", [](const Tensors& z) { return z[0] * Complex<double>(2, -1); }, kOne),
      of_complex(
          "mul real", "z(x0) * x1[..., 0]", [](const Tensors& z) { return z[0] * tandem::real(z[1]); }, kTwo),
      of_complex(
          "div", "z(x0) / (z(x1) + 3)", [](const Tensors& z) { return z[0] / (z[1] + 3); }, kTwo),
      of_complex(
          "neg", "-z(x0)", [](const Tensors& z) { return -z[0]; }, kOne),
      of_complex(
          "eq", "z(x0) == z(x1) * 0 + z(x0)", [](const Tensors& z) { return z[0] == z[1] * 0 + z[0]; }, kTwo, false),
      of_complex(
          "where", "torch.where(x0[..., 0] > 0, z(x0), z(x1))",
          [](const Tensors& z) { return where(tandem::real(z[0]) > 0, z[0], z[1]); }, kTwo),
      of_complex(
          "reciprocal", "1 / z(x0)", [](const Tensors& z) { return z[0].reciprocal(); }, kOne),
      of_complex(
          "square", "z(x0).square()", [](const Tensors& z) { return z[0].square(); }, kOne),
      of_complex(
          "pow", "z(x0) ** z(x1)", [](const Tensors& z) { return z[0].pow(z[1]); }, kTwo),
      of_complex(
          "pow number", "z(x0) ** (1.5-2j)", [](const Tensors& z) { return z[0].pow(Complex<double>(1.5, -2)); }, kOne),
      of_complex(
          "pow cube", "z(x0) ** 3", [](const Tensors& z) { return z[0].pow(3); }, kOne),
      of_complex(
          "pow of number", "(2+1j) ** z(x0)", [](const Tensors& z) { return pow(Scalar(Complex<double>(2, 1)), z[0]); },
          kOne),
      of_complex(
          "addcmul", "torch.addcmul(z(x0), z(x0), z(x1), value=2)",
          [](const Tensors& z) { return addcmul(z[0], z[0], z[1], 2); }, kTwo),
      of_complex(
          "lerp", "torch.lerp(z(x0), z(x0) * 2, 0.3)", [](const Tensors& z) { return lerp(z[0], z[0] * 2, 0.3); },
          kOne),
      of_complex(
          "sum", "z(x0).sum(0)", [](const Tensors& z) { return z[0].sum(0); }, kOne),
      of_complex(
          "mean", "z(x0).mean()", [](const Tensors& z) { return z[0].mean(); }, kOne),
      of_complex(
          "prod", "z(x0).prod(0)", [](const Tensors& z) { return z[0].prod(0); }, kOne),
      of_complex(
          "cumsum", "z(x0).cumsum(0)", [](const Tensors& z) { return z[0].cumsum(0); }, kOne),
      of_complex(
          "cumprod", "z(x0).cumprod(0)", [](const Tensors& z) { return z[0].cumprod(0); }, kOne),
      of_complex(
          "norm", "z(x0).norm()", [](const Tensors& z) { return z[0].norm(); }, kOne),
      of_complex(
          "norm 3", "torch.linalg.vector_norm(z(x0), 3, 0)",
          [](const Tensors& z) { return linalg_vector_norm(z[0], 3, IntArrayRef(0)); }, kOne),
      of_complex("var", "z(x0).var(0)", [](const Tensors& z) { return z[0].var(0); }, {{real({3, 4, 2})}}),
      of_complex(
          "any", "(z(x0) * 0).any()", [](const Tensors& z) { return (z[0] * 0).any(); }, kOne, false),
  };
}

// Functions of one number by their names in PyTorch, away from the ends of branch cuts.
std::vector<OpTest> function_tests() {
  std::vector<OpTest> list;
  const auto add = [&list](const char* name, Tensor (Tensor::*f)() const) {
    OpTest test = of_complex(name, "", nullptr, kOne);
    test.torch = concat("parts(torch.", name, "(z(x0)))");
    test.fn = [f](const Tensors& x) {
      return Tensors{view_as_real((complex(x[0].select(-1, 0), x[0].select(-1, 1)).*f)())};
    };
    list.push_back(std::move(test));
  };
  add("exp", &Tensor::exp);
  add("exp2", &Tensor::exp2);
  add("expm1", &Tensor::expm1);
  add("log", &Tensor::log);
  add("log2", &Tensor::log2);
  add("log10", &Tensor::log10);
  add("log1p", &Tensor::log1p);
  add("sqrt", &Tensor::sqrt);
  add("rsqrt", &Tensor::rsqrt);
  add("sin", &Tensor::sin);
  add("cos", &Tensor::cos);
  add("tan", &Tensor::tan);
  add("asin", &Tensor::asin);
  add("acos", &Tensor::acos);
  add("atan", &Tensor::atan);
  add("sinh", &Tensor::sinh);
  add("cosh", &Tensor::cosh);
  add("tanh", &Tensor::tanh);
  add("asinh", &Tensor::asinh);
  add("acosh", &Tensor::acosh);
  add("atanh", &Tensor::atanh);
  add("sigmoid", &Tensor::sigmoid);
  return list;
}

// Reductions and layers.
std::vector<OpTest> other_tests() {
  const std::vector<std::vector<InputSpec>> image = {{real({2, 4, 5, 3, 2}), real({2, 2, 3, 2, 2}), real({2, 2})}},
                                            spread = {{real({4, 3, 2}, -1, 1)}};
  return {
      of_complex("cov", "torch.cov(z(x0))", [](const Tensors& z) { return cov(z[0]); }, {{real({3, 4, 2})}}),
      of_complex("corrcoef", "torch.corrcoef(z(x0))", [](const Tensors& z) { return corrcoef(z[0]); },
                 {{real({3, 4, 2})}}),
      of_complex(
          "logsumexp", "torch.logsumexp(z(x0), 1)", [](const Tensors& z) { return logsumexp(z[0], 1); }, spread),
      of_complex("logaddexp", "torch.logaddexp(z(x0), z(x1))", [](const Tensors& z) { return logaddexp(z[0], z[1]); },
                 {{real({3, 4, 2}, -1, 1), real({4, 2}, -1, 1)}}),
      of_complex(
          "logcumsumexp", "torch.logcumsumexp(z(x0), 1)", [](const Tensors& z) { return logcumsumexp(z[0], 1); },
          spread),
      of_complex(
          "silu", "F.silu(z(x0))", [](const Tensors& z) { return silu(z[0]); }, kOne),
      of_complex("soft_margin_loss", "F.soft_margin_loss(z(x0), z(x1))",
                 [](const Tensors& z) { return soft_margin_loss(z[0], z[1]); },
                 {{real({3, 4, 2}, -1, 1), real({4, 2}, -1, 1)}}),
      of_complex("scatter_reduce", "z(x0).scatter_reduce(0, torch.zeros(3, 4, dtype=torch.long), z(x1), 'prod')",
                 [](const Tensors& z) {
                   const TensorOptions whole = TensorOptions(kLong).device(z[0].device());
                   return scatter_reduce(z[0], 0, zeros({3, 4}, whole), z[1], "prod");
                 },
                 {{real({3, 4, 2}), real({3, 4, 2})}}),
      of_complex(
          "softsign", "F.softsign(z(x0))", [](const Tensors& z) { return softsign(z[0]); }, kOne),
      of_complex(
          "tanhshrink", "F.tanhshrink(z(x0))", [](const Tensors& z) { return tanhshrink(z[0]); }, kOne),
      of_complex("renorm", "torch.renorm(z(x0), 2, 0, 1)", [](const Tensors& z) { return renorm(z[0], 2, 0, 1); },
                 {{real({3, 4, 2})}}),
      of_complex("rms_norm", "F.rms_norm(z(x0), (4,))", [](const Tensors& z) { return rms_norm(z[0], {4}); },
                 {{real({3, 4, 2})}}),
      of_complex("linear", "F.linear(z(x0), z(x1), z(x2))", [](const Tensors& z) { return linear(z[0], z[1], z[2]); },
                 {{real({2, 3, 4, 2}), real({2, 4, 2}), real({2, 2})}}),
      of_complex(
          "conv2d", "F.conv2d(z(x0), z(x1), z(x2), (2, 1), (1, 0), 1, 2)",
          [](const Tensors& z) {
            return conv2d(z[0], z[1], z[2], {2, 1}, {1, 0}, {1, 1}, 2);
          },
          image),
      of_complex("conv_transpose2d", "F.conv_transpose2d(z(x0), z(x1), z(x2), 2)",
                 [](const Tensors& z) {
                   return conv_transpose2d(z[0], z[1], z[2], {2, 2});
                 },
                 {{real({2, 2, 2, 2}), real({2, 2, 2, 2, 2}), real({2, 2})}}),
      of_complex("linspace", "z(x0) * torch.linspace(1-1j, 2+3j, 5, dtype=z(x0).dtype)",
                 [](const Tensors& z) {
                   return z[0] *
                          linspace(Complex<double>(1, -1), Complex<double>(2, 3), 5, z[0].dtype()).to(z[0].device());
                 },
                 {{real({5, 2})}}),
      of_complex(
          "logspace", "z(x0) * torch.logspace(1-1j, 0.5+1j, 5, 3.0, dtype=z(x0).dtype)",
          [](const Tensors& z) {
            return z[0] *
                   logspace(Complex<double>(1, -1), Complex<double>(0.5, 1), 5, 3.0, z[0].dtype()).to(z[0].device());
          },
          {{real({5, 2})}}),
  };
}

std::vector<OpTest> matrix_tests() {
  const std::vector<std::vector<InputSpec>> matrices = {{real({3, 4, 2}), real({4, 2, 2})}},
                                            vectors = {{real({4, 2}), real({4, 2})}},
                                            square = {{real({3, 3, 2}), real({3, 2, 2})}};
  return {
      of_complex(
          "mm", "z(x0) @ z(x1)", [](const Tensors& z) { return z[0].mm(z[1]); }, matrices),
      of_complex("matmul batch", "z(x0) @ z(x1)", [](const Tensors& z) { return z[0].matmul(z[1]); },
                 {{real({2, 3, 4, 2}), real({2, 4, 2, 2})}, {real({2, 3, 4, 2}), real({4, 2})}}),
      of_complex(
          "addmm", "torch.addmm(z(x0) @ z(x1), z(x0), z(x1), beta=2, alpha=1j)",
          [](const Tensors& z) { return addmm(z[0].mm(z[1]), z[0], z[1], 2, Complex<double>(0, 1)); }, matrices),
      of_complex(
          "dot", "z(x0).dot(z(x1))", [](const Tensors& z) { return z[0].dot(z[1]); }, vectors),
      of_complex(
          "vdot", "torch.vdot(z(x0), z(x1))", [](const Tensors& z) { return z[0].vdot(z[1]); }, vectors),
      of_complex(
          "einsum", "torch.einsum('ij,jk->ki', z(x0), z(x1))",
          [](const Tensors& z) {
            return einsum("ij,jk->ki", {z[0], z[1]});
          },
          matrices),
      of_complex(
          "tensordot", "torch.tensordot(z(x0), z(x1), ([1], [0]))",
          [](const Tensors& z) { return tensordot(z[0], z[1], {1}, {0}); }, matrices),
      of_complex("kron", "torch.kron(z(x0), z(x1))", [](const Tensors& z) { return z[0].kron(z[1]); },
                 {{real({2, 2, 2}), real({2, 1, 2})}}),
      of_complex(
          "solve", "torch.linalg.solve(z(x0) + 4 * torch.eye(3), z(x1))",
          [](const Tensors& z) { return linalg_solve(z[0] + eye(3, z[0].options()) * 4, z[1]); }, square),
      of_complex("inverse", "torch.inverse(z(x0) + 4 * torch.eye(3))",
                 [](const Tensors& z) { return (z[0] + eye(3, z[0].options()) * 4).inverse(); }, {{real({3, 3, 2})}}),
      of_complex("index_add", "torch.index_add(z(x0), 0, torch.tensor([1, 1, 0]), z(x0) * 2)",
                 [](const Tensors& z) {
                   return z[0].index_add(0, tensor({1, 1, 0}).to(z[0].device()), z[0] * 2);
                 },
                 {{real({3, 4, 2})}}),
      of_complex(
          "scatter_add", "torch.scatter_add(z(x0), 1, torch.tensor([[1, 1], [0, 3], [2, 2]]), z(x0)[:, :2] * 2)",
          [](const Tensors& z) {
            return z[0].scatter_add(1, tensor({{1, 1}, {0, 3}, {2, 2}}).to(z[0].device()), z[0].narrow(1, 0, 2) * 2);
          },
          {{real({3, 4, 2})}}),
  };
}

}  // namespace

std::vector<Operation> complex_operations() {
  return {
      {OPERATION(complex, T(CT, CT)), .tests = part_tests()},
      {OPERATION(polar, T(CT, CT)), .tests = arithmetic_tests()},
      {OPERATION(view_as_real, T(CT)), .tests = function_tests()},
      {OPERATION(view_as_complex, T(CT)), .tests = matrix_tests()},
      {OPERATION(real, T(CT)), .examples = {{"real", "x0", {{tandem::testing::real({3, 4})}}}}},
      {OPERATION(conj, T(CT)), .examples = {{"conj", "x0", {{tandem::testing::real({3})}}}}},
      {OPERATION(conj_physical, T(CT)), .in_place =
                                            [](Table& table, const std::string& name) {
                                              give<T(T)>(table, name, [](T x) -> T { return conj_physical_(x); });
                                            }},
      {OPERATION(resolve_conj, T(CT))},
      {OPERATION(resolve_neg, T(CT))},
      {OPERATION(imag, T(CT)), .tests = other_tests()},
      {OPERATION(angle, T(CT)), .examples = {{"angle", "x0", {{distinct({3, 4})}}}}},
      {OPERATION(sgn, T(CT)), .examples = {{"sgn", "x0", {{distinct({3, 4})}}}}},
      {OPERATION(isreal, T(CT)), .examples = {{"isreal", "x0", {{constant({3, 4})}}, false}}},
      {OPERATION(adjoint, T(CT)), .examples = {{"adjoint", "x0", {{tandem::testing::real({2, 3, 4})}}}},
       .tests = complex_linalg_tests()},
  };
}

}  // namespace tandem::testing
