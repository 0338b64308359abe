// Error messages of AnyModule and AnyValue, and default arguments.
#include "tandem/nn/any_module.h"

#include "tandem/core/base/demangle.h"

namespace tandem::nn::detail {

std::string type_name(const std::type_info& type) { return tandem::detail::demangle(type.name()); }

void wrong_argument(const Module& module, std::size_t index, const std::type_info& expected,
                    const std::type_info& got) {
  fail(module.name(), ": argument #", index, " of forward is of type ", type_name(expected), ", but got ",
       type_name(got));
}
void wrong_argument_count(const Module& module, std::size_t expected, std::size_t got) {
  fail(module.name(), ": forward takes ", expected, " argument(s), but got ", got);
}

unsigned first_default(DefaultArguments defaults) { return defaults.begin()->first; }
std::vector<AnyValue> with_defaults(std::vector<AnyValue> arguments, DefaultArguments defaults) {
  for (const auto& [index, value] : defaults)
    if (index >= arguments.size()) arguments.push_back(value);
  return arguments;
}

}  // namespace tandem::nn::detail
