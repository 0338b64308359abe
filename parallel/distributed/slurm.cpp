#include "tandem/parallel/distributed/slurm.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tandem/core/error.h"
#include "tandem/parallel/distributed/key_values.h"

namespace tandem::distributed::detail {
namespace {

constexpr std::size_t kMaxHost = 255;

[[noreturn]] void fail_list(const char* variable, std::string_view list, const char* what) {
  fail(variable, " is ", quoted(list), ", must be ", what);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool of_a_host(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' ||
         c == ':';
}

// Takes a number from the front; false if there is none.
bool take_number(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !is_digit(text[0])) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string first_host(const char* variable, std::string_view list) {
  constexpr const char* kForm = "a list of hosts such as node[01-03,7],gpu4";
  std::string host;
  std::string_view rest = list;
  while (!rest.empty() && rest[0] != ',' && host.size() <= kMaxHost) {
    if (rest[0] != '[') {
      if (!of_a_host(rest[0])) fail_list(variable, list, kForm);
      host += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) fail_list(variable, list, kForm);
    const std::string_view first = rest.substr(1, rest.find_first_of("-,]") - 1);
    if (first.empty() || !std::all_of(first.begin(), first.end(), is_digit)) fail_list(variable, list, kForm);
    host += first;
    rest.remove_prefix(end + 1);
  }
  if (host.empty() || host.size() > kMaxHost) fail_list(variable, list, kForm);
  return host;
}

int tasks_of_node(const char* variable, std::string_view list, int64_t node) {
  constexpr const char* kForm = "a list of numbers of tasks such as 4(x2),3, with an entry for SLURM_NODEID";
  for (std::string_view rest = list; !rest.empty();) {
    int64_t tasks = 0, times = 1;
    if (!take_number(rest, tasks) || tasks < 1 || tasks > std::numeric_limits<int>::max())
      fail_list(variable, list, kForm);
    if (rest.starts_with("(x")) {
      rest.remove_prefix(2);
      if (!take_number(rest, times) || times < 1 || !rest.starts_with(")")) fail_list(variable, list, kForm);
      rest.remove_prefix(1);
    }
    if (node < times) return static_cast<int>(tasks);
    node -= times;
    if (rest.size() == 1 || (!rest.empty() && rest[0] != ',')) break;
    if (!rest.empty()) rest.remove_prefix(1);
  }
  fail_list(variable, list, kForm);
}

}  // namespace tandem::distributed::detail
