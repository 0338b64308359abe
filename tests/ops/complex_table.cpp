// Describes the operations on complex numbers. The harness gives real inputs [..., 2], from which the cases make complex
// tensors, and compares the parts of the results; z() and parts() in torch_references.py do the same.
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
          "mul number", "z(x0) * (2-1j)", [](const Tensors& z) { return z[0] * Complex<double>(2, -1); },
          kOne),
      of_complex(
          "mul real", "z(x0) * x1[..., 0]", [](const Tensors& z) { return z[0] * tandem::real(z[1]); }, kTwo),
      of_complex(
          "div", "z(x0) / (z(x1) + 3)", [](const Tensors& z) { return z[0] / (z[1] + 3); }, kTwo),
      of_complex(
          "neg", "-z(x0)", [](const Tensors& z) { return -z[0]; }, kOne),
      of_complex(
          "eq", "z(x0) == z(x1) * 0 + z(x0)", [](const Tensors& z) { return z[0] == z[1] * 0 + z[0]; }, kTwo,
          false),
      of_complex(
          "where", "torch.where(x0[..., 0] > 0, z(x0), z(x1))",
          [](const Tensors& z) { return where(tandem::real(z[0]) > 0, z[0], z[1]); }, kTwo),
      of_complex(
          "sum", "z(x0).sum(0)", [](const Tensors& z) { return z[0].sum(0); }, kOne),
      of_complex(
          "mean", "z(x0).mean()", [](const Tensors& z) { return z[0].mean(); }, kOne),
  };
}

}  // namespace

std::vector<Operation> complex_operations() {
  return {
      {OPERATION(complex, T(CT, CT)), .tests = part_tests()},
      {OPERATION(polar, T(CT, CT)), .tests = arithmetic_tests()},
      {OPERATION(view_as_real, T(CT))},
      {OPERATION(view_as_complex, T(CT))},
      {OPERATION(real, T(CT)), .examples = {{"real", "x0", {{tandem::testing::real({3, 4})}}}}},
      {OPERATION(conj, T(CT)), .examples = {{"conj", "x0", {{tandem::testing::real({3})}}}}},
      {OPERATION(conj_physical, T(CT)), .in_place =
                                            [](Table& table, const std::string& name) {
                                              give<T(T)>(table, name,
                                                         [](T x) -> T { return conj_physical_(x); });
                                            }},
      {OPERATION(resolve_conj, T(CT))},
      {OPERATION(resolve_neg, T(CT))},
      {OPERATION(imag, T(CT))},
      {OPERATION(angle, T(CT)), .examples = {{"angle", "x0", {{distinct({3, 4})}}}}},
      {OPERATION(sgn, T(CT)), .examples = {{"sgn", "x0", {{distinct({3, 4})}}}}},
      {OPERATION(isreal, T(CT)), .examples = {{"isreal", "x0", {{constant({3, 4})}}, false}}},
      {OPERATION(adjoint, T(CT)), .examples = {{"adjoint", "x0", {{tandem::testing::real({2, 3, 4})}}}}},
  };
}

}  // namespace tandem::testing
