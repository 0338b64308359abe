// The list of scenarios, and the bits of tensors.
#include "tandem/tests/faults/scenario.h"

#include "tandem/core/dtype.h"

namespace tandem::faults {

std::vector<Scenario>& scenarios() {
  static std::vector<Scenario> all;
  return all;
}

void Sum::add(const Tensor& tensor) {
  const Tensor values = tensor.detach().contiguous();
  const auto bytes = static_cast<std::size_t>(values.numel() * item_size(values.scalar_type()));
  if (bytes > 0) add(std::string_view(static_cast<const char*>(values.data_ptr()), bytes));
}

}  // namespace tandem::faults
