// Warnings on stderr, printed once per process: so this is a separate executable.
#include <doctest/doctest.h>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/autograd/printed.h"

using namespace tandem;
using testing::printed_by;

TEST_CASE("backward with create_graph warns once about the reference cycle of a leaf and its gradient") {
  const Tensor x = ones({2}, TensorOptions().requires_grad(true));
  CHECK(printed_by([&] {
          (x * x).sum().backward();
          autograd::grad({(x * x).sum()}, {x}, {}, true, true);
        }) == "");
  const std::string text = printed_by([&] { (x * x).sum().backward({}, true, true); });
  CHECK(text.find("tandem: warning: Using backward() with create_graph=True") != std::string::npos);
  CHECK(printed_by([&] { (x * x).sum().backward({}, true, true); }) == "");
  x.mutable_grad().reset();
}
