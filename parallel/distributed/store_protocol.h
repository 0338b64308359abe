// The bytes between a TCPStore and its server, and parsers for them. Parsers take untrusted bytes: every length is
// compared with its bound and with the bytes that are there before anything is allocated.
//
//   client  Hello: magic, version (u32), length of the job key (u16), job key
//   server  Welcome: magic, version (u32), verdict (u8)
//   then, one at a time: a request from the client, a reply from the server, each as length (u32), body
//
//   request body  operation (u8), number (i64), number of keys (u16), each key (u16 length, bytes),
//                 value (u32 length, bytes), expected (u32 length, bytes)
//   reply body    status (u8), number (i64), text (u32 length, bytes)
//
// Numbers are little-endian. A get or a wait that must wait is answered once the keys exist or the time is over.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/parallel/distributed/store.h"
#include "tandem/parallel/distributed/wire.h"

namespace tandem::distributed::detail {

inline constexpr std::string_view kMagic = "TNDMSTOR";
inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr std::size_t kMaxJobKey = 256;
inline constexpr std::size_t kMaxHello = kMagic.size() + 4 + 2 + kMaxJobKey;
inline constexpr std::size_t kWelcomeBytes = kMagic.size() + 4 + 1;
/// Keys in one request; a client splits longer lists.
inline constexpr std::size_t kMaxKeys = 1024;
inline constexpr std::size_t kLengthBytes = 4;
/// Bytes of the largest request: 1024 keys, or a key with two values (compare_set).
inline constexpr std::size_t kMaxRequest = 64 + kMaxKeys * (Store::kMaxKey + 2) + 2 * Store::kMaxValue;
inline constexpr std::size_t kReplyHeader = 1 + 8 + 4;
inline constexpr std::size_t kMaxReply = kReplyHeader + Store::kMaxValue;

struct Hello {
  uint32_t version = kProtocolVersion;
  std::string_view job_key;
};

enum class Verdict : uint8_t { kAccepted = 1, kWrongVersion, kWrongJobKey, kFull };

struct Welcome {
  uint32_t version = kProtocolVersion;
  Verdict verdict = Verdict::kAccepted;
};

enum class Operation : uint8_t { kSet = 1, kGet, kAdd, kCheck, kWait, kCompareSet, kDelete };

/// Refers to the bytes that it was parsed from.
struct Request {
  Operation operation = Operation::kCheck;
  int64_t number = 0;                  ///< add: the amount; get and wait: milliseconds
  std::vector<std::string_view> keys;  ///< wait and check: up to kMaxKeys; others: one
  std::string_view value = {};         ///< set and compare_set
  std::string_view expected = {};      ///< compare_set
};

enum class Status : uint8_t {
  kOk = 1,
  kTimeout,  ///< number: index of the first missing key
  kInvalid,  ///< text: what the caller did wrong
  kFailed,   ///< text: why the store cannot do it
};

struct Reply {
  Status status = Status::kOk;
  int64_t number = 0;          ///< add: the sum; check and delete: 0 or 1
  std::string_view text = {};  ///< get and compare_set: the value
};

std::string encode(const Hello& hello);
std::string encode(const Welcome& welcome);
/// With the length in front.
std::string encode(const Request& request);
/// A reply whose text of `text_bytes` bytes follows.
std::string encode_reply_header(Status status, int64_t number, std::size_t text_bytes);

/// Each of these throws Error if the bytes are not, or cannot become, what is expected.

/// nullopt if the Hello is incomplete. Nothing may follow it. If the version is another one, only its number is read.
std::optional<Hello> parse_hello(Bytes bytes);
Welcome parse_welcome(Bytes bytes);
/// Bytes of the body that follows the first kLengthBytes; nullopt if these are incomplete.
std::optional<std::size_t> parse_length(Bytes bytes, std::size_t most);
/// A whole body, without the length.
Request parse_request(Bytes body);
Reply parse_reply(Bytes body);

/// Takes equally long for all keys of at most kMaxJobKey bytes.
bool same_job_key(std::string_view a, std::string_view b);

}  // namespace tandem::distributed::detail
