// Error messages of AnyModule and AnyValue.
#include "tandem/nn/any_module.h"

#include "tandem/core/demangle.h"

namespace tandem::nn::detail {

std::string type_name(const std::type_info& type) { return tandem::detail::demangle(type.name()); }

void wrong_argument(const Module& module, std::size_t index, const std::type_info& expected,
                    const std::type_info& got) {
  fail(module.name(), ": forward takes a ", type_name(expected), " as argument #", index, ", but got a ",
       type_name(got));
}
void wrong_argument_count(const Module& module, std::size_t expected, std::size_t got) {
  fail(module.name(), ": forward takes ", expected, " argument(s), but got ", got);
}

}  // namespace tandem::nn::detail
