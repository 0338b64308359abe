// Signatures of captured steps.
#include "tandem/nn/step_signature.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/global_context.h"
#include "tandem/core/memory_format.h"

namespace tandem::detail {

void StepSignature::add_modes() {
  grad_mode = GradMode::is_enabled();
  inference = InferenceMode::is_enabled();
  const Context& c = globalContext();
  math = static_cast<uint32_t>(c.allowTF32CuBLAS()) | static_cast<uint32_t>(c.allowTF32CuDNN()) << 1 |
         static_cast<uint32_t>(c.benchmarkCuDNN()) << 2 | static_cast<uint32_t>(c.deterministicCuDNN()) << 3;
}

namespace {
std::string input_difference(const StepSignature& now, const StepSignature& before) {
  if (now.inputs.size() != before.inputs.size())
    return concat("the number of inputs is ", now.inputs.size(), ", was ", before.inputs.size());
  for (std::size_t i = 0; i < now.inputs.size(); ++i) {
    const auto &a = now.inputs[i], &b = before.inputs[i];
    if (!(a.sizes == b.sizes)) return concat("input ", i, " has shape ", a.sizes, ", was ", b.sizes);
    if (a.dtype != b.dtype) return concat("input ", i, " has dtype ", a.dtype, ", was ", b.dtype);
    if (a.format != b.format)
      return concat("input ", i, " is ",
                    is_channels_last(a.format) ? "channels-last, was row-major" : "row-major, was channels-last");
    if (a.device != b.device) return concat("input ", i, " is on ", a.device, ", was on ", b.device);
  }
  return {};
}
}  // namespace

std::string difference(const StepSignature& now, const StepSignature& before) {
  if (now.device != before.device) return concat("the device is ", now.device, ", was ", before.device);
  if (std::string text = input_difference(now, before); !text.empty()) return text;
  if (now.parameters.size() != before.parameters.size())
    return concat("the number of parameters is ", now.parameters.size(), ", was ", before.parameters.size());
  for (std::size_t i = 0; i < now.parameters.size(); ++i) {
    const auto &a = now.parameters[i], &b = before.parameters[i];
    if (a.data != b.data) return concat("parameter ", i, " is in different memory");
    if (a.requires_grad != b.requires_grad)
      return concat("requires_grad of parameter ", i, " is ", a.requires_grad ? "true" : "false");
  }
  if (now.buffers != before.buffers) return "a buffer is in different memory";
  if (now.training != before.training) return "a module changed its mode (train or eval)";
  if (now.grad_mode != before.grad_mode || now.inference != before.inference)
    return concat("gradients are ", now.grad_mode ? "on" : "off", ", were ", before.grad_mode ? "on" : "off");
  if (now.math != before.math) return "a switch of globalContext() (TF32, cuDNN) changed";
  return {};
}

}  // namespace tandem::detail
