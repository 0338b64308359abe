// The data of a store: what HashStore and the server of TCPStore hold, and what FileStore reads from its log.
// No locks: the owner provides them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tandem::distributed::detail {

/// A value may outlive its entry while it is being sent; it counts as stored until then.
using Value = std::shared_ptr<const std::string>;

class KeyValues {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  /// The bytes that an entry costs in addition to its key and its value.
  static constexpr std::size_t kEntryBytes = 128;

  explicit KeyValues(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}
  /// Null if the key is absent.
  Value find(std::string_view key) const;
  /// Throws DistributedError, and changes nothing, if the store would become too large.
  void set(std::string_view key, std::string_view value);
  /// Throws what set(key, value) would throw.
  void check_fits(std::string_view key, std::string_view value) const;
  bool erase(std::string_view key);
  /// Index of the first key that is absent, or keys.size().
  template <class Strings>
  std::size_t first_missing(const Strings& keys) const {
    std::size_t i = 0;
    while (i < keys.size() && entries_.count(keys[i]) > 0) ++i;
    return i;
  }
  /// The number that add(key, amount) is to store and return. Throws Error if the value is not a number or the
  /// sum is not an int64.
  int64_t sum(std::string_view key, int64_t amount) const;
  /// Whether compare_set(key, expected, …) is to store the desired value.
  bool equals(std::string_view key, std::string_view expected) const;
  /// Bytes of all entries, and of values that are still being sent.
  std::size_t bytes() const { return *bytes_; }

 private:
  std::size_t max_bytes_;
  std::shared_ptr<std::size_t> bytes_ = std::make_shared<std::size_t>(0);
  std::map<std::string, Value, std::less<>> entries_;
};

/// Throw Error if the key or the value is too long; `what` names the caller ("HashStore::set").
void check_key(std::string_view what, std::string_view key);
void check_value(std::string_view what, std::string_view value);
/// Throws Error unless this process is `process`, which created the store `what`.
void check_not_forked(uint32_t process, const char* what);
/// The key for messages: in quotes, with escapes for unprintable bytes, cut after 100 bytes.
std::string quoted(std::string_view key);
/// Throws DistributedError: `what` waited `milliseconds` for the key.
[[noreturn]] void fail_waiting(const std::string& what, std::string_view key, int64_t milliseconds);

}  // namespace tandem::distributed::detail
