// Safetensors: round trips, exact bytes, a file from Python's safetensors, and errors that name the file and
// the rule. The full set of malformed files is in tests/fuzz/corpus/safetensors.
#include "tandem/nn/files/safetensors.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/files/safetensors_writer.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::TempFolder;

namespace {

std::string file(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  std::string out(reinterpret_cast<const char*>(&size), 8);
  return out + header + data;
}
std::string refusal(const std::string& bytes) {
  return test::error_of([&] { serialize::parse_safetensors(bytes.data(), bytes.size(), "x.safetensors"); });
}

}  // namespace

TEST_CASE("all dtypes and shapes survive a round trip") {
  OrderedDict<std::string, Tensor> tensors;
  for (const ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16,
                                kComplexFloat, kUInt16, kUInt32, kUInt64})
    tensors.insert(std::string("dtype ") + name(type), arange(6, kFloat).view({2, 3}).to(type));
  tensors.insert("number", full({}, 2.5));
  tensors.insert("nothing", zeros({2, 0, 3}));
  tensors.insert("transposed", arange(6, kInt).view({2, 3}).t());
  tensors.insert("quote \" back \\ line \n \u00e9 \U0001F600", ones({1}));
  OrderedDict<std::string, std::string> metadata{{"format", "pt"}, {"\t", ""}};

  const TempFolder folder;
  serialize::save_safetensors(folder / "all", tensors, metadata);
  const auto back = serialize::load_safetensors(folder / "all");
  CHECK(back.tensors.keys() == tensors.keys());
  CHECK(back.metadata.keys() == metadata.keys());
  CHECK(back.metadata["format"] == "pt");
  for (const auto& item : tensors) {
    const Tensor &t = item.value().contiguous(), &read = back.tensors[item.key()];
    CHECK((read.dtype() == t.dtype()));
    CHECK(read.sizes() == t.sizes());
    CHECK(std::memcmp(read.data_ptr(), t.data_ptr(), t.nbytes()) == 0);
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("tensors that are written one after the other give the same file, of which parts can be read") {
  OrderedDict<std::string, Tensor> tensors;
  tensors.insert("bytes", arange(3, kByte));
  tensors.insert("nothing", zeros({2, 0}));
  tensors.insert("transposed", arange(6, kFloat).view({2, 3}).t());
  tensors.insert("doubles", arange(5, kDouble));
  const OrderedDict<std::string, std::string> metadata{{"format", "pt"}};
  std::vector<serialize::TensorEntry> entries;
  for (const auto& item : tensors) entries.push_back({item.key(), item.value().dtype(), Dims(item.value().sizes())});
  const TempFolder folder;
  {
    serialize::SafeTensorsWriter writer(folder / "file", entries, metadata);
    for (const std::size_t i : {2, 0, 3}) writer.write(i, tensors[i].value());
    CHECK_THROWS_WITH(writer.commit(), doctest::Contains("tensor 'nothing' has not been written"));
    CHECK_THROWS_WITH(writer.write(1, ones({2})), doctest::Contains("tensor 'nothing' was announced as F32[2,0]"));
  }
  CHECK(folder.entries() == 0);
  serialize::SafeTensorsWriter writer(folder / "file", entries, metadata);
  for (const std::size_t i : {2, 0, 3, 1}) writer.write(i, tensors[i].value());
  writer.commit();
  CHECK(test::read_file(folder / "file") == serialize::safetensors_bytes(tensors, metadata));

  const serialize::SafeTensorsReader reader(folder / "file");
  const Tensor part = zeros({3}, kDouble);
  reader.read_elements(2, 2, part);  // 0 3 1 4 2 5
  for (int64_t i = 0; i < 3; ++i)
    CHECK(part.data_ptr<double>()[i] == (std::vector<double>{1, 4, 2})[static_cast<std::size_t>(i)]);
  CHECK_THROWS_WITH(reader.read_elements(2, 4, part), doctest::Contains("has 6 elements; there are not 3 from 4 on"));
  CHECK_NOTHROW(reader.verify({0, 1, 2, 3}));
}

TEST_CASE("complex128 has no place in a file") {
  OrderedDict<std::string, Tensor> tensors;
  tensors.insert("z", zeros({2}, kComplexDouble));
  CHECK_THROWS_WITH_AS(serialize::safetensors_bytes(tensors), doctest::Contains("no dtype for complex128"), Error);
}

TEST_CASE("the exact bytes of a file") {
  OrderedDict<std::string, Tensor> tensors;
  tensors.insert("b", ones({3}, TensorOptions(kByte)));
  tensors.insert("d", full({1}, 1.0, TensorOptions(kDouble)));
  const std::string bytes = serialize::safetensors_bytes(tensors);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  CHECK(header % 8 == 0);
  const std::string json =
      R"({"__metadata__":{"tandem.crc32":"{\"tensors\":{\"b\":\"35194f03\",\"d\":\"251a23ce\"},\"metadata\":{}}"},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},"d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
  CHECK(bytes.substr(8, header) == json + std::string((8 - json.size() % 8) % 8, ' '));
  CHECK(bytes.size() == 8 + header + 11);
  CHECK(bytes.substr(8 + header) == std::string("\0\0\0\0\0\0\xf0\x3f\1\1\1", 11));
}

TEST_CASE("elements follow by decreasing size, else in their order") {
  OrderedDict<std::string, Tensor> tensors{
      {"a", ones({1}, kByte)}, {"b", ones({1})}, {"c", ones({1})}, {"d", ones({1}, kByte)}};
  tensors.insert("e", ones({1}, kDouble));
  const std::string bytes = serialize::safetensors_bytes(tensors);
  const char* offsets[] = {"[16,17]", "[8,12]", "[12,16]", "[17,18]", "[0,8]"};
  for (std::size_t i = 0, at = 0; i < 5; ++i) {
    const std::size_t found = bytes.find(offsets[i], at);
    CHECK(found != std::string::npos);
    at = found;
  }
}

TEST_CASE("a file from Python's safetensors 0.8.0") {
  const std::string header =
      "{\"__metadata__\":{\"k\":\"\u00e9\",\"format\":\"pt\"},\"step\":{\"dtype\":\"I64\",\"shape\":[],"
      "\"data_offsets\":[0,8]},\"weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
      "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[32,34]}}";
  REQUIRE(header.size() == 0xd8);
  const std::string data("\7\0\0\0\0\0\0\0\0\0\0\0\0\0\x80?\0\0\0@\0\0@@\0\0\x80@\0\0\xa0@\1\0", 34);
  const std::string bytes = file(header, data);
  const auto read = serialize::parse_safetensors(bytes.data(), bytes.size(), "x");
  CHECK(read.metadata["k"] == "\u00e9");
  CHECK(read.tensors["step"].item<int64_t>() == 7);
  CHECK(read.tensors["weight"].sizes() == IntArrayRef{2, 3});
  for (int64_t i = 0; i < 6; ++i) CHECK(read.tensors["weight"].data_ptr<float>()[i] == static_cast<float>(i));
  CHECK(read.tensors["mask"].data_ptr<bool>()[0]);
}

TEST_CASE("headers may contain white space and escapes, and tensors in any order") {
  const std::string bytes = file(
      "{ \"\\u00e9\\ud83d\\ude00\" :\t{\"shape\": [ ], \"data_offsets\":[2 ,4], \"dtype\":\"I16\"} , "
      "\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}  ",
      std::string("\1\0\7\0", 4));
  const auto read = serialize::parse_safetensors(bytes.data(), bytes.size(), "x");
  CHECK(read.tensors["\u00e9\U0001F600"].item<int16_t>() == 7);
  CHECK(read.tensors["a"].data_ptr<bool>()[0]);
  CHECK(serialize::parse_safetensors(file("{}", "").data(), 10, "x").tensors.is_empty());
}

TEST_CASE("errors name the file and the rule") {
  const std::string eight(8, '\0');
  const auto says = [](const std::string& error, const char* rule) {
    CHECK(error.starts_with("x.safetensors"));
    CHECK_MESSAGE(error.find(rule) != std::string::npos, error);
  };
  says(refusal("abc"), "fewer than 8");
  says(refusal(std::string(8, '\xff')), "the limit of 100000000");
  says(refusal(file("{}", "").substr(0, 9)), "is truncated");
  says(refusal(file(" {}", "")), "begin with '{'");
  says(refusal(file("{}", "x")), "1 bytes of elements");
  says(refusal(file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234")), "is truncated");
  says(refusal(file(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight)), "needs 12 bytes");
  says(refusal(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight)), "leave gaps");
  says(refusal(file(R"({"a":{"dtype":"Q8","shape":[1],"data_offsets":[0,8]}})", eight)), "dtype 'Q8'");
  says(refusal(file(R"({"a":{},"a":{}})", "")), "lacks dtype");
  says(refusal(file(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", eight)), "lacks shape");
  says(refusal(file(R"({"a":{"dtype":"F32","shape":[2]}})", "")), "lacks data_offsets");
  says(refusal(file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight)), "ends (0) before it begins");
  says(refusal(file(R"({"__metadata__":{"k":1}})", "")), "expected '\"'");
  says(refusal(file(R"({"__metadata__":{"k":"","k":""}})", "")), "duplicate key");
}

TEST_CASE("tensors that cannot be saved") {
  OrderedDict<std::string, Tensor> tensors;
  tensors.insert("__metadata__", ones({1}));
  CHECK_THROWS_WITH_AS(serialize::safetensors_bytes(tensors), doctest::Contains("__metadata__"), Error);
  OrderedDict<std::string, Tensor> bad;
  bad.insert("\xff", ones({1}));
  CHECK_THROWS_AS(serialize::safetensors_bytes(bad), Error);
  OrderedDict<std::string, Tensor> undefined;
  undefined.insert("t", Tensor());
  CHECK_THROWS_WITH_AS(serialize::safetensors_bytes(undefined), "safetensors: tensor 't' is undefined", Error);
  const OrderedDict<std::string, std::string> bad_value{{"k", "\xff"}}, bad_key{{"\xff", "v"}};
  for (const auto& metadata : {bad_value, bad_key})
    CHECK_THROWS_WITH_AS(serialize::safetensors_bytes(OrderedDict<std::string, Tensor>(), metadata),
                         doctest::Contains("is not UTF-8"), Error);
}
