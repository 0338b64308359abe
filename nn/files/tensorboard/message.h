// Builds a message in the binary format of Protocol Buffers, field by field.
// https://protobuf.dev/programming-guides/encoding
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::tensorboard {

class Message {
 public:
  Message& integer(int field, int64_t value);        // int32, int64 and enumerations
  Message& real(int field, double value);            // double
  Message& single(int field, double value);          // float
  Message& text(int field, std::string_view value);  // string and bytes
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  Message& reals(int field, const std::vector<double>& values);  // repeated double, packed
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value);
  void key(int field, int wire_type);
  void fixed64(double value);
  std::string bytes_;
};

}  // namespace tandem::tensorboard
