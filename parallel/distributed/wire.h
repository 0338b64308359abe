// Little-endian numbers and strings, written to a string and read from untrusted bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tandem/core/error.h"

namespace tandem::distributed::detail {

using Bytes = std::span<const unsigned char>;
inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

template <class Number>
void put(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    out += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i) & 0xff);
}

/// With a length of type Length in front.
template <class Length>
void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<Length>(text.size()));
  out += text;
}

/// Every function throws Error if the bytes end too early.
class WireReader {
 public:
  WireReader(Bytes bytes, const char* what) : rest_(bytes), what_(what) {}

  template <class Number>
  Number number() {
    need(sizeof(Number));
    uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value |= uint64_t{rest_[i]} << (8 * i);
    rest_ = rest_.subspan(sizeof(Number));
    return static_cast<Number>(value);
  }
  /// Throws Error if the length in front exceeds `most`.
  template <class Length>
  std::string_view text(std::size_t most) {
    const auto length = number<Length>();
    check(length <= most, what_, ": a length of ", length, " bytes, at most ", most, " are possible");
    return raw(length);
  }
  std::string_view raw(std::size_t bytes) {
    need(bytes);
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), bytes);
    rest_ = rest_.subspan(bytes);
    return text;
  }
  std::size_t left() const { return rest_.size(); }
  void end() const { check(rest_.empty(), what_, ": ", rest_.size(), " bytes too many"); }

 private:
  void need(std::size_t bytes) const {
    check(rest_.size() >= bytes, what_, ": ends ", bytes - rest_.size(), " bytes too early");
  }
  Bytes rest_;
  const char* what_;
};

}  // namespace tandem::distributed::detail
