// The records in the file of a FileStore.
//
//   file    magic (8 bytes), records
//   record  length of the body (u32), CRC-32 of the body (u32), body
//   body    action (u8), length of the key (u16), key, value (the rest; empty for an erased key)
//
// Numbers are little-endian. A writer that was killed leaves the beginning of a record at the end of the file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/parallel/distributed/store.h"
#include "tandem/parallel/distributed/wire.h"

namespace tandem::distributed::detail {

inline constexpr std::string_view kLogMagic = "TNDMLOG1";
inline constexpr std::size_t kRecordHeader = 8;
inline constexpr std::size_t kMaxRecord = kRecordHeader + 1 + 2 + Store::kMaxKey + Store::kMaxValue;

struct Record {
  enum class Action : uint8_t { kSet = 1, kErase };
  Action action = Action::kSet;
  std::string_view key;
  std::string_view value = {};
};

std::string encode(const Record& record);
/// Reads the first record, which refers to `bytes`. Returns its size, 0 if the bytes end before the record does.
/// Throws Error if they are not, and cannot become, a record.
std::size_t parse_record(Bytes bytes, Record& record);

}  // namespace tandem::distributed::detail
