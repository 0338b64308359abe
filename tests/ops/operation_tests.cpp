// The list of all operations of operation_table.h, and the harness's cases of them.
#include <memory>

#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"
#include "tandem/tests/ops/pointwise_table.h"

namespace tandem::testing {
namespace {

OpTest test_of(const Operation& f, const Example& e) {
  const auto table = std::make_shared<Table>();
  f.overloads(*table, f.name);
  OpTest test{
      .name = e.name,
      .torch = concat("(", torch_name(f), ")(", e.arguments, ")"),
      .fn = [table, &f, words = words_of(e.arguments)](const Tensors& x) { return table->call(f.name, words, x); },
      .cases = e.inputs,
      .first_order = e.differentiable,
      .second_order = e.differentiable};
  if (e.output >= 0) {
    test.torch += concat("[", e.output, "]");
    test.fn = [all = test.fn, k = static_cast<std::size_t>(e.output)](const Tensors& x) {
      return Tensors{all(x).at(k)};
    };
  }
  return test;
}

// Decompositions, Fourier transforms and complex numbers exist for float32 and float64 only, as in PyTorch on the CPU.
// The harness checks that they refuse the half types.
bool refuses_half(const std::string& name) {
  static const char* const kBegins[] = {"cholesky_",
                                        "complex ",
                                        "fft_",
                                        "geqrf",
                                        "istft",
                                        "linalg_cholesky",
                                        "linalg_cond",
                                        "linalg_det",
                                        "linalg_eig",
                                        "linalg_householder_product",
                                        "linalg_inv",
                                        "linalg_ldl",
                                        "linalg_lstsq",
                                        "linalg_lu",
                                        "linalg_matrix_exp",
                                        "linalg_matrix_norm -2",
                                        "linalg_matrix_norm 2",
                                        "linalg_matrix_norm nuc",
                                        "linalg_matrix_rank",
                                        "linalg_matrix_sqrth",
                                        "linalg_norm matrix",
                                        "linalg_norm nuc",
                                        "linalg_pinv",
                                        "linalg_polar",
                                        "linalg_qr",
                                        "linalg_slogdet",
                                        "linalg_solve",
                                        "linalg_svd",
                                        "linalg_tensorinv",
                                        "linalg_tensorsolve",
                                        "logdet",
                                        "lu_",
                                        "nextafter",
                                        "nuclear_norm",
                                        "ormqr",
                                        "stft",
                                        "svd",
                                        "triangular_solve"};
  if (name.find("fftshift") != std::string::npos) return false;
  for (const char* begin : kBegins)
    if (name.starts_with(begin)) return true;
  return false;
}

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all =
      joined({reduction_operations, view_operations, index_operations, complex_operations, composite_operations,
              linalg_operations, decomposition_operations, matrix_operations, special_operations, ternary_operations,
              factory_operations, numeric_operations, nn_operations, volume_operations, loss_operations,
              recurrent_operations, attention_operations, fft_operations});
  return all;
}

std::vector<OpTest> operation_cases() {
  std::vector<OpTest> list;
  for (const Operation& f : operations()) {
    for (const Example& e : f.examples) list.push_back(test_of(f, e));
    list.insert(list.end(), f.tests.begin(), f.tests.end());
  }
  for (OpTest& test : list)
    if (refuses_half(test.name)) test.half_units = 0;
  return list;
}

}  // namespace tandem::testing
