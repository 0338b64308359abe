// The operations that are not elementwise, each described once: its overloads, PyTorch's function, and examples.
// Derived from it are the cases of the harness and the two sides of the random comparison with PyTorch, for which
// torch_cases/ draws arguments.
#pragma once
#include <string>
#include <vector>

#include "tandem/testing.h"
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {

/// A case of the harness: one call of the operation.
struct Example {
  std::string name;
  std::string arguments;  ///< all of them, in Python; x0, x1, … are the inputs
  std::vector<std::vector<InputSpec>> inputs;
  bool differentiable = true;
  int output = -1;  ///< the one of several to compare; -1: all
};

struct Operation {
  std::string name;  ///< without the underscore of the in-place form
  void (*overloads)(Table& table, const std::string& name) = nullptr;
  void (*in_place)(Table& table, const std::string& name) = nullptr;
  std::string torch = "";  ///< PyTorch's function of the same arguments, in Python; empty: torch.NAME
  std::vector<Example> examples = {};
  std::vector<OpTest> tests = {};  ///< cases of the harness that are not one call of the function
  std::string drawn = "";          ///< of a reduction: a function of torch_cases/reductions.py
};

const std::vector<Operation>& operations();

// One file per family.
std::vector<Operation> reduction_operations();
std::vector<Operation> view_operations();
std::vector<Operation> index_operations();
std::vector<Operation> complex_operations();
std::vector<OpTest> complex_linalg_tests();  ///< of complex_operations()
std::vector<Operation> composite_operations();
std::vector<Operation> linalg_operations();
std::vector<Operation> decomposition_operations();
std::vector<Operation> matrix_operations();
std::vector<Operation> special_operations();
std::vector<Operation> ternary_operations();
std::vector<Operation> factory_operations();
std::vector<Operation> numeric_operations();
std::vector<Operation> nn_operations();
std::vector<Operation> volume_operations();
std::vector<Operation> loss_operations();
std::vector<Operation> recurrent_operations();
std::vector<Operation> attention_operations();
std::vector<Operation> fft_operations();

/// In Python: torch.NAME with the last argument as its dtype.
inline std::string with_dtype(const char* name) { return concat("lambda *a: torch.", name, "(*a[:-1], dtype=a[-1])"); }

inline std::vector<Operation> joined(std::initializer_list<std::vector<Operation> (*)()> families) {
  std::vector<Operation> list;
  for (const auto family : families)
    for (Operation& f : family()) list.push_back(std::move(f));
  return list;
}

template <class F, class R, class... A>
void give_one(Table& table, const std::string& name, std::type_identity<R(A...)> signature, F f) {
  table.add(name, signature, [f](A... a) -> R { return f(std::forward<A>(a)...); });
}
template <class... Signatures, class F>
void give(Table& table, const std::string& name, F f) {
  (give_one(table, name, std::type_identity<Signatures>(), f), ...);
}

// The overloads of f with these signatures.
#define GIVE(f, ...)                                                                                                  \
  [](Table& table, const std::string& name) {                                                                         \
    give<__VA_ARGS__>(table, name, [](auto&&... a) -> decltype(auto) { return f(std::forward<decltype(a)>(a)...); }); \
  }
// The name and the overloads of an operation.
#define OPERATION(f, ...) .name = #f, .overloads = GIVE(f, __VA_ARGS__)
// The overloads of a member, with the tensor first.
#define MEMBER(f, ...)                                                                                     \
  [](Table& table, const std::string& name) {                                                              \
    give<__VA_ARGS__>(table, name, [](T x, auto&&... a) { return x.f(std::forward<decltype(a)>(a)...); }); \
  }
#define WRITE(f, ...) .in_place = MEMBER(f##_, __VA_ARGS__)

}  // namespace tandem::testing
