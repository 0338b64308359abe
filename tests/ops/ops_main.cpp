// Runs the harness over all operations; the last line is "N passed, N failed, N skipped".
//
//   test_ops [--references FILE] [NAME…]   check, against PyTorch's results if FILE contains them
//   test_ops --dump FILE                   write inputs and cotangents for torch_references.py
//   test_ops --autocast FILE               compare dtypes under autocast with the table of torch_autocast.py
//   test_ops --batches                     compare rows of batches with the same rows alone
//   test_ops --list                        list the cases, one per line
//   test_ops --described                   list the operations that have a description
#include <cstdio>
#include <cstring>
#include <map>

#include "tandem/nn/files/safetensors.h"
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"
#include "tandem/tests/ops/pointwise_table.h"
#include "tandem/tests/strict.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

void dump(const char* path) {
  OrderedDict<std::string, Tensor> tensors;
  OrderedDict<std::string, std::string> expressions;
  for (const OpTest& test : all_cases()) {
    if (test.torch.empty()) continue;
    for (std::size_t i = 0; i < test.cases.size(); ++i)
      for (const ScalarType type : {kFloat, kDouble}) {
        const std::string key = concat(test.name, "/", i, "/", name(type));
        const Tensors inputs = make_inputs(test, i, type);
        const Evaluation e = evaluate(test, inputs);
        std::string wanted;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          tensors.insert(concat(key, "/x", k), inputs[k].detach());
          wanted += inputs[k].requires_grad() && test.first_order ? "1" : "0";
        }
        for (std::size_t k = 0; k < e.cotangents.size(); ++k)
          if (e.cotangents[k].defined()) tensors.insert(concat(key, "/g", k), e.cotangents[k]);
        expressions.insert(key, wanted + " " + test.torch);
      }
  }
  serialize::save_safetensors(path, tensors, expressions);
  std::printf("%zu tensors of %zu cases\n", tensors.size(), expressions.size());
}

void list_described() {
  const auto print = [](const auto& f, bool plain, bool in_place) {
    if (plain) std::printf("%s\n", f.name.c_str());
    if (in_place) std::printf("%s_\n", f.name.c_str());
  };
  for (const UnaryFunction& f : unary_functions()) print(f, true, f.in_place != nullptr);
  for (const BinaryFunction& f : binary_functions()) print(f, true, f.in_place != nullptr);
  for (const Operation& f : operations()) print(f, f.overloads != nullptr, f.in_place != nullptr);
}

int check_all(const References& references, const std::vector<std::string>& names) {
  int passed = 0, failed = 0, skipped = 0, checks = 0;
  for (const OpTest& test : all_cases()) {
    if (!names.empty() && std::find(names.begin(), names.end(), test.name) == names.end()) continue;
    const Report report = run(test, references);
    checks += report.checks;
    skipped += !report.skipped.empty();
    (report.failures.empty() ? passed : failed) += 1;
    for (std::size_t i = 0; i < report.failures.size() && i < 4; ++i)
      std::printf("FAILED %s\n", report.failures[i].c_str());
  }
  std::printf("%d checks; skipped are the modes of an operation that need a CUDA device\n", checks);
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const tandem::test::Strict strict;
  if (argc == 3 && std::strcmp(argv[1], "--dump") == 0) return dump(argv[2]), 0;
  if (argc == 3 && std::strcmp(argv[1], "--autocast") == 0) return check_autocast(argv[2]);
  if (argc == 2 && std::strcmp(argv[1], "--batches") == 0) return check_batches();
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const OpTest& test : all_cases()) std::printf("%s\n", test.name.c_str());
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--described") == 0) return list_described(), 0;
  References references;
  serialize::SafeTensors file;
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.size() >= 2 && names[0] == "--references") {
    file = serialize::load_safetensors(names[1]);
    references = [&file](const std::string& key) { return file.tensors.contains(key) ? file.tensors[key] : Tensor(); };
    names.erase(names.begin(), names.begin() + 2);
  }
  return check_all(references, names);
}
