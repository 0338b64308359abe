// How layers print themselves. Internal to their sources.
#pragma once
#include <ostream>

namespace tandem::nn::detail {

inline const char* word(bool value) { return value ? "true" : "false"; }
/// "tandem::nn::NAME(PARTS)"
inline void print(std::ostream& stream, const char* name, const auto&... parts) {
  stream << "tandem::nn::" << name << "(";
  (stream << ... << parts) << ")";
}

}  // namespace tandem::nn::detail

/// Defines pretty_print() of the layer Name; the parts of its text in parentheses follow.
#define TANDEM_PRINTED_AS(Name, ...) \
  void Name##Impl::pretty_print(std::ostream& stream) const { detail::print(stream, #Name __VA_OPT__(, ) __VA_ARGS__); }
