// A user's program that runs an ONNX model: links tandem_onnx, too.
#include <tandem/onnx/onnx.h>
#include <tandem/tandem.h>

#include <cstdio>

int main() {
  // y = Relu(x), as Python's onnx writes it.
  const std::string file(
      "\010\007:5\012\014\012\001x\022\001y\042\004Relu\022\001g"
      "Z\020\012\001x\022\013\012\011\010\001\022\005\012\003\022\001Nb\020\012\001y\022\013\012\011\010\001\022\005"
      "\012\003\022\001NB\004\012\000\020\015",
      63);
  auto model = tandem::onnx::parse(file.data(), file.size(), "relu.onnx");
  std::printf("%g\n", model->forward(tandem::tensor({-1.f, 2.f})).sum().item<double>());
}
