// Error messages of AnyModule and AnyValue, and default arguments.
#include "tandem/nn/any_module.h"

#include "tandem/core/base/demangle.h"

namespace tandem::nn::detail {

std::string type_name(const std::type_info& type) { return tandem::detail::demangle(type.name()); }

void wrong_argument(const Module& module, std::size_t index, const std::type_info& expected,
                    const std::type_info& got) {
  fail("Expected argument #", index, " to be of type ", type_name(expected), ", but received value of type ",
       type_name(got), " in forward() of ", module.name());
}
void wrong_argument_count(const Module& module, std::size_t required, std::size_t expected, std::size_t got) {
  const std::string& name = module.name();
  check(required == expected, name, "'s forward() method expects at least ", required, " argument(s) and at most ",
        expected, " argument(s), but received ", got, ".");
  fail(name, "'s forward() method expects ", expected, " argument(s), but received ", got, ".",
       got > expected ? ""
                      : " If " + name +
                            "'s forward() method has default arguments, please make sure the forward() method is "
                            "declared with a corresponding `FORWARD_HAS_DEFAULT_ARGS` macro.");
}
void wrong_module(const Module& module, const std::type_info& requested) {
  fail("Attempted to cast module of type ", type_name(typeid(module)), " to type ", type_name(requested));
}

unsigned first_default(DefaultArguments defaults) { return defaults.begin()->first; }
std::vector<AnyValue> with_defaults(std::vector<AnyValue> arguments, DefaultArguments defaults) {
  for (const auto& [index, value] : defaults)
    if (index >= arguments.size()) arguments.push_back(value);
  return arguments;
}

}  // namespace tandem::nn::detail
