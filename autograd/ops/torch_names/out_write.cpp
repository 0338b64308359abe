// Copying a result to a given tensor.
#include "tandem/autograd/ops/torch_names/out_write.h"

#include <atomic>
#include <string>

#include "tandem/autograd/ops/view/whole_tensor.h"
#include "tandem/autograd/record.h"
#include "tandem/core/warning.h"

namespace tandem::autograd::detail {
namespace {

void warn_resize(const char* operation, const Tensor& out, const Tensor& result) {
  static std::atomic_flag warned;
  if (!WarningUtils::is_due(warned)) return;
  warn(concat(operation, ": out has the shape ", out.sizes(), " and takes the result's, ", result.sizes(),
              "; give an empty tensor or one of that shape"));
}

}  // namespace

Tensor& write_to(const char* operation, Tensor& out, const Tensor& result) {
  check(out.defined(), operation, ": out is undefined; give a tensor, e.g. empty({0})");
  check(!result.requires_grad() && !(GradMode::is_enabled() && out.requires_grad()), operation,
        ": a result that requires a gradient cannot be written to a given tensor; call the function without "
        "out, or under "
        "NoGradGuard\n  out ",
        out);
  check(out.device() == result.device(), operation, ": devices differ\n  out    ", out, "\n  result ", result);
  check(can_cast(result.dtype(), out.dtype()), operation, ": the result has dtype ", result.dtype(),
        ", which is not cast to that of out: ", out);
  const Tensor to = out.detach();
  if (to.sizes() != result.sizes()) {
    if (to.numel() != 0) warn_resize(operation, out, result);
    check(!out.requires_grad(), operation, ": out requires a gradient and has another shape than the result: ", out);
    out.resize_(result.sizes());
  }
  NoGradGuard no_grad;
  return out.copy_(result);
}

}  // namespace tandem::autograd::detail
