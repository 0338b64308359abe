#include "tandem/parallel/distributed/store_log.h"

#include "tandem/nn/files/crc32.h"

namespace tandem::distributed::detail {

std::string encode(const Record& record) {
  std::string body, out;
  put(body, static_cast<uint8_t>(record.action));
  put_text<uint16_t>(body, record.key);
  body += record.value;
  put(out, static_cast<uint32_t>(body.size()));
  put(out, serialize::crc32(body.data(), body.size()));
  return out + body;
}

std::size_t parse_record(Bytes bytes, Record& record) {
  if (bytes.size() < kRecordHeader) return 0;
  WireReader header(bytes, "record");
  const auto length = header.number<uint32_t>();
  const auto sum = header.number<uint32_t>();
  check(length > 0 && length <= kMaxRecord - kRecordHeader, "record: a length of ", length, " bytes, must be 1 to ",
        kMaxRecord - kRecordHeader);
  if (header.left() < length) return 0;
  const auto body = bytes.subspan(kRecordHeader, length);
  check(serialize::crc32(body.data(), body.size()) == sum, "record: wrong checksum");
  WireReader reader(body, "record");
  const auto action = static_cast<Record::Action>(reader.number<uint8_t>());
  check(action == Record::Action::kSet || action == Record::Action::kErase, "record: unknown action ",
        static_cast<uint8_t>(action));
  record.action = action;
  record.key = reader.text<uint16_t>(Store::kMaxKey);
  record.value = reader.raw(reader.left());
  check(record.value.size() <= Store::kMaxValue, "record: a value of ", record.value.size(), " bytes");
  check(action == Record::Action::kSet || record.value.empty(), "record: an erased key with a value");
  return kRecordHeader + length;
}

}  // namespace tandem::distributed::detail
