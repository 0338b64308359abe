#include "tandem/parallel/distributed/key_values.h"

#include <charconv>
#include <limits>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/store.h"

namespace tandem::distributed::detail {

Value KeyValues::find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

void KeyValues::check_fits(std::string_view key, std::string_view value) const {
  const auto found = entries_.find(key);
  const bool replaces = found != entries_.end();
  const std::size_t more = value.size() + (replaces ? 0 : key.size() + kEntryBytes);
  const std::size_t less = replaces && found->second.use_count() == 1 ? found->second->size() : 0;
  if (more > max_bytes_ || *bytes_ - less > max_bytes_ - more)
    throw DistributedError(concat("the store is full: ", *bytes_, " bytes are stored, ", more,
                                  " more were given, and the most is ", max_bytes_,
                                  "; delete keys that are not needed any more, and keep large data in files"));
}

void KeyValues::set(std::string_view key, std::string_view value) {
  check_fits(key, value);
  const auto subtract = [bytes = bytes_](const std::string* text) {
    *bytes -= text->size();
    delete text;
  };
  auto text = std::make_unique<const std::string>(value);
  *bytes_ += value.size();  // before the pointer, whose constructor calls `subtract` if it fails
  const Value stored(text.release(), subtract);
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    found->second = stored;
    return;
  }
  entries_.emplace(key, stored);
  *bytes_ += key.size() + kEntryBytes;
}

bool KeyValues::erase(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  *bytes_ -= found->first.size() + kEntryBytes;
  entries_.erase(found);
  return true;
}

int64_t KeyValues::sum(std::string_view key, int64_t amount) const {
  const Value value = find(key);
  int64_t number = 0, sum = 0;
  if (value != nullptr) {
    const char* end = value->data() + value->size();
    const auto [last, error] = std::from_chars(value->data(), end, number);
    check(error == std::errc{} && last == end && !value->empty(), "add: the value of the key ", quoted(key),
          " is not a decimal number: ", quoted(*value), "; use another key, or set it to a number");
  }
  check(!__builtin_add_overflow(number, amount, &sum), "add: the sum of ", number, " and ", amount, " under the key ",
        quoted(key), " is not an int64");
  return sum;
}

bool KeyValues::equals(std::string_view key, std::string_view expected) const {
  const Value value = find(key);
  return value != nullptr ? *value == expected : expected.empty();
}

void check_key(std::string_view what, std::string_view key) {
  check(key.size() <= Store::kMaxKey, what, ": the key has ", key.size(), " bytes, at most ", Store::kMaxKey,
        " are possible: ", quoted(key));
}

void check_value(std::string_view what, std::string_view value) {
  check(value.size() <= Store::kMaxValue, what, ": the value has ", value.size(), " bytes, at most ", Store::kMaxValue,
        " are possible; write larger data to a file and store its path");
}

void check_not_forked(uint32_t process, const char* what) {
  check(process == tandem::detail::this_process(), what,
        ": the store belongs to the process that created it; a forked child must create its own");
}

std::string quoted(std::string_view key) {
  constexpr std::size_t kShown = 100;
  const char* hex = "0123456789abcdef";
  std::string out = "'";
  for (const char c : key.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      out += c;
    else
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
  }
  return out + (key.size() > kShown ? "…'" : "'");
}

void fail_waiting(const std::string& what, std::string_view key, int64_t milliseconds) {
  throw DistributedError(concat(what, ": the key ", quoted(key), " was not set within ",
                                1e-3 * static_cast<double>(milliseconds),
                                " s; the process that sets it may have failed or not have started"));
}

}  // namespace tandem::distributed::detail
