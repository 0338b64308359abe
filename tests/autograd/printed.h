// What a function prints on stderr.
#pragma once
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace tandem::testing {

template <class F>
std::string printed_by(F f) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  const int before = ::dup(2);
  ::dup2(::fileno(file), 2);
  f();
  ::dup2(before, 2);
  ::close(before);
  std::rewind(file);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace tandem::testing
