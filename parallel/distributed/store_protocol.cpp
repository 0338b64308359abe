#include "tandem/parallel/distributed/store_protocol.h"

#include <algorithm>
#include <array>

namespace tandem::distributed::detail {
namespace {

constexpr std::size_t kHelloHeader = kMagic.size() + 4 + 2;

// Throws unless the bytes are the beginning of a message, or a message that begins with the magic.
void check_magic(Bytes bytes, const char* what) {
  const std::size_t there = std::min(bytes.size(), kMagic.size());
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), there);
  check(begin == kMagic.substr(0, there), what, ": not the protocol of a TCPStore");
}

void check_operation(const Request& request) {
  const auto number = static_cast<uint8_t>(request.operation);
  check(number >= static_cast<uint8_t>(Operation::kSet) && number <= static_cast<uint8_t>(Operation::kDelete),
        "request: unknown operation ", number);
  const bool list = request.operation == Operation::kCheck || request.operation == Operation::kWait;
  check(list || request.keys.size() == 1, "request: operation ", number, " has one key, not ", request.keys.size());
  const bool compares = request.operation == Operation::kCompareSet;
  check(compares || request.expected.empty(), "request: only compare_set has an expected value");
  check(compares || request.operation == Operation::kSet || request.value.empty(),
        "request: only set and compare_set have a value");
}

}  // namespace

std::string encode(const Hello& hello) {
  check(hello.job_key.size() <= kMaxJobKey, "TCPStore: the job key has ", hello.job_key.size(), " bytes, at most ",
        kMaxJobKey, " are possible");
  std::string out(kMagic);
  put(out, hello.version);
  put_text<uint16_t>(out, hello.job_key);
  return out;
}

std::string encode(const Welcome& welcome) {
  std::string out(kMagic);
  put(out, welcome.version);
  put(out, static_cast<uint8_t>(welcome.verdict));
  return out;
}

std::string encode(const Request& request) {
  std::string body;
  put(body, static_cast<uint8_t>(request.operation));
  put(body, request.number);
  put(body, static_cast<uint16_t>(request.keys.size()));
  for (const std::string_view key : request.keys) put_text<uint16_t>(body, key);
  put_text<uint32_t>(body, request.value);
  put_text<uint32_t>(body, request.expected);
  std::string out;
  put_text<uint32_t>(out, body);
  return out;
}

std::string encode_reply_header(Status status, int64_t number, std::size_t text_bytes) {
  std::string out;
  put(out, static_cast<uint32_t>(kReplyHeader + text_bytes));
  put(out, static_cast<uint8_t>(status));
  put(out, number);
  put(out, static_cast<uint32_t>(text_bytes));
  return out;
}

std::optional<Hello> parse_hello(Bytes bytes) {
  check_magic(bytes, "hello");
  if (bytes.size() < kHelloHeader) return std::nullopt;
  WireReader reader(bytes.subspan(kMagic.size()), "hello");
  Hello hello;
  hello.version = reader.number<uint32_t>();
  if (hello.version != kProtocolVersion) return hello;
  const auto length = reader.number<uint16_t>();
  check(length <= kMaxJobKey, "hello: a job key of ", length, " bytes, at most ", kMaxJobKey, " are possible");
  if (reader.left() < length) return std::nullopt;
  hello.job_key = reader.raw(length);
  reader.end();
  return hello;
}

Welcome parse_welcome(Bytes bytes) {
  check_magic(bytes, "welcome");
  check(bytes.size() == kWelcomeBytes, "welcome: ", bytes.size(), " bytes instead of ", kWelcomeBytes);
  WireReader reader(bytes.subspan(kMagic.size()), "welcome");
  Welcome welcome;
  welcome.version = reader.number<uint32_t>();
  const auto verdict = reader.number<uint8_t>();
  check(verdict >= static_cast<uint8_t>(Verdict::kAccepted) && verdict <= static_cast<uint8_t>(Verdict::kFull),
        "welcome: unknown verdict ", verdict);
  welcome.verdict = static_cast<Verdict>(verdict);
  return welcome;
}

std::optional<std::size_t> parse_length(Bytes bytes, std::size_t most) {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  const auto length = WireReader(bytes, "message").number<uint32_t>();
  check(length > 0 && length <= most, "message: a length of ", length, " bytes, must be 1 to ", most);
  return length;
}

Request parse_request(Bytes body) {
  WireReader reader(body, "request");
  Request request;
  request.operation = static_cast<Operation>(reader.number<uint8_t>());
  request.number = reader.number<int64_t>();
  const auto keys = reader.number<uint16_t>();
  check(keys <= kMaxKeys, "request: ", keys, " keys, at most ", kMaxKeys, " are possible");
  check(keys <= reader.left() / sizeof(uint16_t), "request: ", keys, " keys in ", reader.left(), " bytes");
  request.keys.reserve(keys);
  for (int i = 0; i < keys; ++i) request.keys.push_back(reader.text<uint16_t>(Store::kMaxKey));
  request.value = reader.text<uint32_t>(Store::kMaxValue);
  request.expected = reader.text<uint32_t>(Store::kMaxValue);
  reader.end();
  check_operation(request);
  return request;
}

Reply parse_reply(Bytes body) {
  WireReader reader(body, "reply");
  Reply reply;
  const auto status = reader.number<uint8_t>();
  check(status >= static_cast<uint8_t>(Status::kOk) && status <= static_cast<uint8_t>(Status::kFailed),
        "reply: unknown status ", status);
  reply.status = static_cast<Status>(status);
  reply.number = reader.number<int64_t>();
  reply.text = reader.text<uint32_t>(Store::kMaxValue);
  reader.end();
  return reply;
}

bool same_job_key(std::string_view a, std::string_view b) {
  if (a.size() > kMaxJobKey || b.size() > kMaxJobKey) return false;
  std::array<char, kMaxJobKey> padded_a{}, padded_b{};
  std::copy(a.begin(), a.end(), padded_a.begin());
  std::copy(b.begin(), b.end(), padded_b.begin());
  volatile unsigned different = a.size() != b.size();  // volatile: no early exit from the loop
  for (std::size_t i = 0; i < kMaxJobKey; ++i)
    different = different | static_cast<unsigned char>(padded_a[i] ^ padded_b[i]);
  return different == 0;
}

}  // namespace tandem::distributed::detail
