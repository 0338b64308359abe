// Warnings on stderr, printed once per process: hence a separate executable.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"

using namespace tandem;

namespace {
// The text that `f` prints on stderr.
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
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}
}  // namespace

TEST_CASE("backward with create_graph warns once about the reference cycle of a leaf and its gradient") {
  const Tensor x = ones({2}, TensorOptions().requires_grad(true));
  CHECK(printed_by([&] {
          (x * x).sum().backward();
          autograd::grad({(x * x).sum()}, {x}, {}, true, true);
        }) == "");
  const std::string text = printed_by([&] { (x * x).sum().backward({}, true, true); });
  CHECK(text.find("warning: backward(create_graph = true)") != std::string::npos);
  CHECK(printed_by([&] { (x * x).sum().backward({}, true, true); }) == "");
  x.mutable_grad().reset();
}
