// Which overloads are chosen by calls with braces, numbers, bools, vectors and no arguments. Each call yields
// a line with the result's shape and first values, "throws", or "does not compile". Includes only
// <torch/torch.h>, so LibTorch can produce the same lines: bench/libtorch/overloads.py writes them to
// overloads.txt. The calls are in overloads_*.cpp.
#pragma once
#include <torch/torch.h>

#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#ifdef __clang__  // the calls convert on purpose
#pragma clang diagnostic ignored "-Wliteral-conversion"
#pragma clang diagnostic ignored "-Wconstant-conversion"
#endif

namespace overloads {

inline std::string show(double value) {
  if (value != value) return "nan";  // with either sign
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}
inline std::string show(bool value) { return value ? "true" : "false"; }
inline std::string show(int64_t value) { return std::to_string(value); }
inline std::string show(torch::IntArrayRef values) {
  std::string out = "(";
  for (const int64_t v : values) out += (out.size() > 1 ? " " : "") + std::to_string(v);
  return out + ")";
}
inline std::string show(const std::vector<int64_t>& values) { return show(torch::IntArrayRef(values)); }
inline std::string show(const torch::Tensor& t) {
  std::string out = "[";
  for (int64_t d = 0; d < t.dim(); ++d) out += (d > 0 ? ", " : "") + std::to_string(t.size(d));
  out += "]";
  if (t.scalar_type() != torch::kFloat)
    out += t.scalar_type() == torch::kLong ? " long" : t.scalar_type() == torch::kBool ? " bool" : " other";
  const torch::Tensor row = t.detach().to(torch::kDouble).contiguous().reshape({-1});
  for (int64_t i = 0; i < row.numel() && i < 6; ++i) out += " " + show(row[i].template item<double>());
  return out;
}
inline std::string show(const std::vector<torch::Tensor>& list) {
  std::string out = "list";
  for (const torch::Tensor& t : list) out += " " + show(t);
  return out;
}
template <class... T>
std::string show(const std::tuple<T...>& parts) {
  return std::apply([](const auto&... part) { return "tuple" + ((" " + show(part)) + ...); }, parts);
}
template <std::size_t N>
std::string show(const torch::ExpandingArray<N>& array) {
  std::string out = "<";
  for (std::size_t i = 0; i < N; ++i) out += (i > 0 ? " " : "") + std::to_string((*array)[i]);
  return out + ">";
}

/// The operands available to a line.
struct Given {
  torch::Tensor t = (torch::arange(20, torch::kFloat) * 7).remainder(11).view({4, 5});  // distinct values within a row
  torch::Tensor u = torch::arange(3, torch::kFloat).view({1, 3, 1});
  torch::Tensor n = torch::arange(2, torch::kLong);
  torch::Tensor m = torch::arange(4, torch::kLong) > 1;
  torch::Tensor image = torch::arange(32, torch::kFloat).view({1, 2, 4, 4});
  std::vector<int64_t> v{0}, w{1, 0};
  torch::TensorOptions o = torch::TensorOptions(torch::kFloat);
};

/// torch::IntArrayRef under a name that depends on a template argument.
template <class G>
struct Names {
  using Array = torch::IntArrayRef;
};

class Lines {
 public:
  template <class F>
  void add(const char* text, F f) {
    std::string result;
    try {
      result = f(given_);
    } catch (const std::exception&) {
      result = "throws";
    }
    text_ += std::string(text) + "  ->  " + result + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  Given given_;
  std::string text_;
};

void add_reductions(Lines& lines);
void add_shapes(Lines& lines);
void add_others(Lines& lines);
void add_modules(Lines& lines);
void add_samplers(Lines& lines);

}  // namespace overloads

// Uses a generic lambda, so failure to compile is a result. t, u, n, m, image: tensors; v, w: vectors; r: an
// array reference; o: options.
#define LINE(...)                                                                        \
  lines.add(#__VA_ARGS__, [](const auto& given) -> std::string {                         \
    [[maybe_unused]] auto t = given.t.clone();                                           \
    [[maybe_unused]] auto u = given.u.clone();                                           \
    [[maybe_unused]] const auto &n = given.n, &m = given.m, &image = given.image;        \
    [[maybe_unused]] const auto &v = given.v, &w = given.w;                              \
    [[maybe_unused]] const auto& o = given.o;                                            \
    [[maybe_unused]] const typename overloads::Names<decltype(given)>::Array r(given.v); \
    if constexpr (requires { (__VA_ARGS__); })                                           \
      return overloads::show(__VA_ARGS__);                                               \
    else                                                                                 \
      return "does not compile";                                                         \
  });
