// The functions of pointwise_table.h and operation_table.h: their overloads, and their descriptions for Python.
#include <cstdio>

#include "tandem/tests/ops/operation_table.h"
#include "tandem/tests/ops/pointwise_table.h"
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

bool is_number(const std::string& word) { return accepts<Scalar>(word[0]); }
bool is_tensor(const std::string& word) { return word[0] == 't'; }

/// Whether there are `tensors` tensors or numbers, and then that many parameters.
bool fits(const Words& words, std::size_t tensors, std::size_t parameters) {
  return words.size() == tensors + parameters &&
         std::none_of(words.begin() + static_cast<std::ptrdiff_t>(tensors), words.end(), is_tensor);
}

/// The words after the first `tensors`.
Parameters parameters_of(const Words& words, std::size_t tensors) {
  Parameters list;
  for (std::size_t i = tensors; i < words.size(); ++i)
    if (words[i][0] == 's')
      list.emplace_back(words[i].substr(1));
    else
      list.push_back(words[i][0] == 'n' ? Parameter(nullopt) : Parameter(read_word<Scalar>(words[i], {})));
  return list;
}

template <class F>
void add_one(Table& table, const std::string& name, std::size_t parameters, F f) {
  if (f == nullptr) return;
  table.add(name, {[parameters](const Words& words) { return fits(words, 1, parameters) && is_tensor(words[0]); },
                   [f](const Words& words, const Tensors& tensors) {
                     return Tensors{f(read_word<Tensor>(words[0], tensors), parameters_of(words, 1))};
                   }});
}

/// A and B: Tensor or Scalar.
template <class A, class B, class F>
void add_two(Table& table, const std::string& name, std::size_t parameters, F f) {
  if (f == nullptr) return;
  table.add(name, {[parameters](const Words& words) {
                     return fits(words, 2, parameters) &&
                            (std::is_same_v<A, Tensor> ? is_tensor : is_number)(words[0]) &&
                            (std::is_same_v<B, Tensor> ? is_tensor : is_number)(words[1]);
                   },
                   [f](const Words& words, const Tensors& tensors) {
                     return Tensors{
                         f(read_word<A>(words[0], tensors), read_word<B>(words[1], tensors), parameters_of(words, 2))};
                   }});
}

std::string quoted(const std::string& text) { return concat('"', text, '"'); }

/// ["…", "…"]
template <class List, class F>
std::string list_of(const List& list, F text) {
  std::string all;
  for (const auto& item : list) all += (all.empty() ? "" : ", ") + text(item);
  return concat("[", all, "]");
}

/// What both kinds of functions have.
template <class F>
std::string common(const F& f) {
  const auto values = [](const Parameters& list) { return list_of(list, python); };
  return concat("\"name\": ", quoted(f.name), ", \"torch\": ", quoted(torch_name(f)),
                ", \"keyword\": ", quoted(f.keyword), ", \"parameters\": ", list_of(f.parameters, quoted),
                ", \"extremes\": ", list_of(f.extremes, [&](const Parameters& p) { return quoted(values(p)); }));
}

const char* flag(bool value) { return value ? "true" : "false"; }

std::string description(const UnaryFunction& f) {
  const char* const types[] = {"all", "numbers", "floats", "integers"};
  return concat("{", common(f), ", \"kind\": ", quoted(f.domain.drawn),
                ", \"types\": ", quoted(types[static_cast<int>(f.types)]),
                ", \"in_place\": ", flag(f.in_place != nullptr), "}");
}

std::string description(const BinaryFunction& f) {
  return concat("{", common(f), ", \"kind\": ", quoted(f.drawn), ", \"right\": ", flag(f.right != nullptr),
                ", \"left\": ", flag(f.left != nullptr), ", \"in_place\": ", flag(f.in_place != nullptr),
                ", \"in_place_right\": ", flag(f.in_place_right != nullptr), "}");
}

std::string description(const Operation& f) {
  return concat("{\"name\": ", quoted(f.name), ", \"torch\": ", quoted(torch_name(f)), ", \"drawn\": ", quoted(f.drawn),
                "}");
}

}  // namespace

void add_described(Table& table) {
  for (const Operation& f : operations()) {
    if (f.overloads != nullptr) f.overloads(table, f.name);
    if (f.in_place != nullptr) f.in_place(table, f.name + "_");
  }
  for (const UnaryFunction& f : unary_functions()) {
    add_one(table, f.name, f.parameters.size(), f.function);
    add_one(table, f.name + "_", f.parameters.size(), f.in_place);
  }
  for (const BinaryFunction& f : binary_functions()) {
    const std::size_t count = f.parameters.size();
    add_two<Tensor, Tensor>(table, f.name, count, f.function);
    add_two<Tensor, Scalar>(table, f.name, count, f.right);
    add_two<Scalar, Tensor>(table, f.name, count, f.left);
    add_two<Tensor, Tensor>(table, f.name + "_", count, f.in_place);
    add_two<Tensor, Scalar>(table, f.name + "_", count, f.in_place_right);
  }
}

void print_described() {
  const auto text = [](const auto& f) { return description(f); };
  std::printf("{\"unary\": %s,\n\"binary\": %s,\n\"operations\": %s}\n", list_of(unary_functions(), text).c_str(),
              list_of(binary_functions(), text).c_str(), list_of(operations(), text).c_str());
}

}  // namespace tandem::testing
