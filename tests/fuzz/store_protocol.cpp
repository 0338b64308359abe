// What a client sends to the server of a TCPStore (after a byte 'C'), and what the server answers (after 'S').
#include "tandem/parallel/distributed/store_protocol.h"

#include <algorithm>

#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"

namespace tandem::fuzz {
namespace {

using namespace distributed::detail;

std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Two encodings of the same message would be a sign of bytes that nobody checked.
void check_encoding(const std::string& encoded, Bytes bytes) {
  if (encoded != text(bytes)) __builtin_trap();
}

// Takes all frames, each with its length, and passes their bodies to `parse`. True if nothing is left.
template <class Parse>
bool frames(Bytes bytes, std::size_t most, const Parse& parse) {
  while (!bytes.empty()) {
    const auto length = parse_length(bytes, most);
    if (!length || bytes.size() - kLengthBytes < *length) return false;
    check_encoding(parse(bytes.subspan(kLengthBytes, *length)), bytes.first(kLengthBytes + *length));
    bytes = bytes.subspan(kLengthBytes + *length);
  }
  return true;
}

bool from_client(Bytes bytes) {
  if (bytes.size() < kMagic.size() + 6) return parse_hello(bytes).has_value();
  // The server reads a Hello alone; here, requests follow it.
  const std::size_t key = bytes[kMagic.size() + 4] | std::size_t{bytes[kMagic.size() + 5]} << 8;
  const Bytes first = bytes.first(std::min(bytes.size(), kMagic.size() + 6 + key));
  const auto hello = parse_hello(first);
  if (!hello || hello->version != kProtocolVersion) return false;
  check_encoding(encode(*hello), first);
  return frames(bytes.subspan(first.size()), kMaxRequest, [](Bytes body) { return encode(parse_request(body)); });
}

bool from_server(Bytes bytes) {
  const Bytes first = bytes.first(std::min(bytes.size(), kWelcomeBytes));
  check_encoding(encode(parse_welcome(first)), first);
  return frames(bytes.subspan(first.size()), kMaxReply, [](Bytes body) {
    const Reply reply = parse_reply(body);
    return encode_reply_header(reply.status, reply.number, reply.text.size()) + std::string(reply.text);
  });
}

}  // namespace

bool accepts(const uint8_t* data, std::size_t size) {
  if (size == 0) return false;
  try {
    const Bytes bytes(data + 1, size - 1);
    return data[0] == 'C' ? from_client(bytes) : data[0] == 'S' && from_server(bytes);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tandem::fuzz
