#include "tandem/nn/files/tensorboard/message.h"

#include <bit>

namespace tandem::tensorboard {
namespace {
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
}

void Message::varint(uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
  bytes_ += static_cast<char>(value);
}

void Message::key(int field, int wire_type) { varint(static_cast<uint64_t>(field) << 3 | wire_type); }

void Message::fixed64(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift);
}

Message& Message::integer(int field, int64_t value) {
  key(field, kVarint);
  varint(static_cast<uint64_t>(value));
  return *this;
}

Message& Message::real(int field, double value) {
  key(field, kFixed64);
  fixed64(value);
  return *this;
}

Message& Message::single(int field, double value) {
  key(field, kFixed32);
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift);
  return *this;
}

Message& Message::text(int field, std::string_view value) {
  key(field, kBytes);
  varint(value.size());
  bytes_ += value;
  return *this;
}

Message& Message::reals(int field, const std::vector<double>& values) {
  key(field, kBytes);
  varint(8 * values.size());
  for (const double value : values) fixed64(value);
  return *this;
}

}  // namespace tandem::tensorboard
