// The compressed lists in Slurm's environment variables.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::distributed::detail {

/// The first host of a list such as "node[01-03,7],gpu4" (here "node01"). Throws Error that names `variable` if the
/// list is not one.
std::string first_host(const char* variable, std::string_view list);
/// Entry `node` of a list of numbers such as "4(x2),3" (here 4, 4, 3). Throws Error that names `variable` if the
/// list is not one, or is too short.
int tasks_of_node(const char* variable, std::string_view list, int64_t node);

}  // namespace tandem::distributed::detail
