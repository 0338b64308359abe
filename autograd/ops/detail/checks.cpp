// Argument checks that several operations share.
#include "tandem/autograd/ops/detail/checks.h"

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/data.h"

namespace tandem::autograd {

void check_alike(const char* operation, const char* first_name, const Tensor& first, const char* second_name,
                 const Tensor& second) {
  check(first.dtype() == second.dtype(), operation, ": dtypes differ\n  ", first_name, " ", first, "\n  ", second_name,
        " ", second, "\n  convert one with .to(dtype)");
  check(first.device() == second.device(), operation, ": devices differ\n  ", first_name, " ", first, "\n  ",
        second_name, " ", second, "\n  move one with .to(device)");
}

void check_parameter(const char* operation, const Tensor& input, const char* name, const Tensor& parameter) {
  const bool wider = isReducedFloatingType(input.dtype()) && parameter.dtype() == kFloat;
  if (!wider || input.device() != parameter.device()) check_alike(operation, "input", input, name, parameter);
}

void set_pair(const char* operation, const char* what, IntArrayRef value, int64_t least, std::array<int64_t, 2>& pair) {
  check(value.size() == 1 || value.size() == 2, operation, ": ", what, " takes one or two numbers, got ", value);
  for (std::size_t d = 0; d < 2; ++d) {
    pair[d] = value[value.size() == 1 ? 0 : d];
    check(pair[d] >= least, operation, ": ", what, " must be at least ", least, ", got ", value);
    check(pair[d] <= INT32_MAX, operation, ": ", what, " may be at most ", INT32_MAX, ", got ", value);
  }
}

void check_floating_point(const char* operation, const Tensor& self) {
  check(self.is_floating_point(), operation, ": expected floating point, got ", self);
}

void check_range(const char* operation, const Tensor& values, double low, double high, const char* message) {
  const Tensor x = values.detach();
  backend(x).data.check_range((x.is_floating_point() ? x : x.to(kDouble)).contiguous(),
                              {.low = low, .high = high, .operation = operation, .message = message});
}

}  // namespace tandem::autograd
