// Literal: a string literal as a template argument.
#pragma once
#include <cstddef>

namespace tandem {

template <std::size_t N>
struct Literal {
  char text[N] = {};
  consteval Literal(const char (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
};

}  // namespace tandem
