// NumPy's .npy files: round trips, headers of all versions, byte orders, and errors that name the file and the rule.
// More malformed files are in tests/fuzz/corpus/npy; numpy_files.py compares with NumPy.
#include "tandem/nn/files/npy.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using serialize::parse_npy;
using test::error_of;
using test::says;
using test::TempFolder;

namespace {

std::string file(const std::string& dict, const std::string& data, char version = 1) {
  const auto size = static_cast<uint32_t>(dict.size());
  std::string length(reinterpret_cast<const char*>(&size), version == 1 ? 2 : 4);
  return "\x93NUMPY" + std::string{version, '\0'} + length + dict + data;
}
std::string dict(const std::string& descr, const std::string& shape, const char* fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}
Tensor parse(const std::string& bytes) { return parse_npy(bytes.data(), bytes.size(), "x.npy"); }
std::string refusal(const std::string& bytes) {
  return error_of([&] { parse(bytes); });
}
}  // namespace

TEST_CASE("all dtypes and shapes survive a .npy file") {
  const TempFolder folder;
  for (const ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kComplexFloat,
                                kComplexDouble, kUInt16, kUInt32, kUInt64})
    for (const Tensor& t :
         {arange(6, kFloat).view({2, 3}).to(type), zeros({}, TensorOptions(type)), zeros({0, 4}, TensorOptions(type)),
          arange(6, kFloat).view({2, 3}).t().to(type), ones({5}, TensorOptions(type))}) {
      serialize::save_npy(folder / "x.npy", t);
      const Tensor back = serialize::load_npy(folder / "x.npy"), plain = t.contiguous();
      CHECK((back.dtype() == type));
      CHECK_EQ(back.sizes(), t.sizes());
      CHECK((t.numel() == 0 || std::memcmp(back.data_ptr(), plain.data_ptr(), plain.nbytes()) == 0));
    }
  CHECK_EQ(folder.entries(), 1);
  CHECK(says(error_of([] { serialize::npy_bytes(zeros({2}, TensorOptions(kBFloat16))); }), "no dtype for bfloat16"));
  CHECK(says(error_of([] { serialize::npy_bytes(Tensor()); }), "undefined"));
}

TEST_CASE("an array of no bools, whose last byte would be checked if it had one") {
  CHECK_EQ(parse(file(dict("|b1", "(0, 4294967, 2690)"), "")).sizes(), IntArrayRef({0, 4294967, 2690}));
  const int64_t half = int64_t{1} << 62;  // twice as much would be too large
  CHECK_EQ(parse(file(dict("|b1", "(0, 4611686018427387904)"), "")).sizes(), IntArrayRef({0, half}));
}

TEST_CASE("the exact bytes of a .npy file") {
  const std::string bytes = serialize::npy_bytes(full({2, 1}, 1.0));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  CHECK_EQ(bytes.size(), 128 + 8);
  CHECK_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\1\0\x76\0", 10));
  CHECK_EQ(bytes.substr(10, header.size()), header);
  CHECK_EQ(bytes[127], '\n');
  CHECK(
      says(serialize::npy_bytes(zeros({3}, TensorOptions(kBool))), "'|b1', 'fortran_order': False, 'shape': (3,), }"));
  CHECK(says(serialize::npy_bytes(zeros({})), "'shape': (), }"));
}

TEST_CASE("headers of all versions and spellings") {
  const std::string two("\1\0\2\0", 4);
  for (const char version : {1, 2, 3}) CHECK_EQ(parse(file(dict("<i2", "(2,)"), two, version)).sizes(), IntArrayRef{2});
  CHECK_EQ(parse(file(R"({"shape":(2L,1L),"descr":"<i2","fortran_order":False})", two)).sizes(), IntArrayRef({2, 1}));
  CHECK_EQ(parse(file("{ 'shape' : ( 2 , 1 , ) , 'fortran_order' : True , 'descr' : '=i2' }  \n", two)).sizes(),
           IntArrayRef({2, 1}));
}

TEST_CASE("Fortran order keeps its strides, other byte orders are converted") {
  const std::string six("\0\1\2\3\4\5", 6);
  const Tensor t = parse(file(dict("|u1", "(2, 3)", "True"), six));
  CHECK_EQ(t.sizes(), IntArrayRef({2, 3}));
  CHECK_EQ(t.strides(), IntArrayRef({1, 2}));
  CHECK(equal(t, arange(6, kByte).view({3, 2}).t()));
  const Tensor swapped = parse(file(dict(">i2", "(2,)"), std::string("\1\2\0\3", 4)));
  CHECK_EQ(swapped.data_ptr<int16_t>()[0], 0x102);
  CHECK_EQ(swapped.data_ptr<int16_t>()[1], 3);
  const Tensor z = parse(file(dict(">c8", "()"), std::string("\x3f\x80\0\0\x40\0\0\0", 8)));
  CHECK_EQ(static_cast<const float*>(z.data_ptr())[0], 1.0f);
  CHECK_EQ(static_cast<const float*>(z.data_ptr())[1], 2.0f);
}

TEST_CASE("headers of any length, up to the limit") {
  CHECK_EQ(parse(file(dict("u1", "(2,)"), "ab"))[1].item<int64_t>(), 'b');
  const std::string start = dict("|u1", "(0,)"), longest = start + std::string(10'000 - start.size(), ' ');
  CHECK_EQ(parse(file(longest, "", 2)).numel(), 0);
  CHECK(says(refusal(file(longest + " ", "", 2)), "would have 10001 bytes, more than the limit"));
  const std::string good = file(start, "");
  for (std::size_t size = 10; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(says(refusal(good.substr(0, size)), "is truncated: its header has"));
  }
  // Written ones end at a multiple of 64 bytes, with as few spaces as possible.
  Dims sizes{0};
  for (int64_t size = 1; sizes.size() < 12; size = size % 3 * 100 + 1, sizes.push_back(size)) {
    const std::string bytes = serialize::npy_bytes(zeros(sizes, TensorOptions(kByte)));
    CHECK_EQ(bytes.size() % 64, 0);
    CHECK(bytes.find("}") + 64 >= bytes.size() - 1);
    CHECK_EQ(parse(bytes).sizes(), IntArrayRef(sizes));
  }
  // Large elements are read by several threads.
  const TempFolder folder;
  const Tensor large = arange(3'000'000, kFloat);
  serialize::save_npy(folder / "large.npy", large);
  CHECK(equal(serialize::load_npy(folder / "large.npy"), large));
}

TEST_CASE("errors of .npy files name the file and the rule") {
  const std::string four(4, '\0');
  const std::pair<std::string, const char*> cases[] = {
      {"abc", "fewer than 10"},
      {std::string(20, 'x'), "does not start with"},
      {file(dict("<f4", "(1,)"), four, 4), "version 4.0"},
      {file(dict("<f4", "(1,)"), four).substr(0, 40), "is truncated"},
      {file(dict("<f4", "(2,)"), four), "need 8 bytes, but only 4"},
      {file(dict("<f4", "(1,)"), four + four), "4 bytes follow"},
      {file(dict("|O", "(1,)"), four), "Python objects"},
      {file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", four), "structured"},
      {file(dict("<U1", "(1,)"), four), "dtype '<U1'"},
      {file(dict("<f3", "(2,)"), four), "dtype '<f3'"},
      {file(dict("", "(2,)"), four), "dtype ''"},
      {file(dict("<f4", "(-1,)"), four), "expected a size"},
      {file(dict("<f4", "(1)"), four), "not a tuple"},
      {file(dict("<f4", "(4611686018427387904,4,0)"), ""), "too large"},
      {file(dict("<f4", "(99999999999999999999,)"), four), "size too large"},
      {file(dict("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1)"), four), "12 dimensions"},
      {file(dict("<f4", "(1,)", "0"), four), "expected True or False"},
      {file(dict("<f4", "(1,)") + "x", four), "unexpected text"},
      {file("{'descr': '<f4', 'shape': (1,)}", four), "lacks fortran_order"},
      {file("{'descr': '<f4', 'descr': '<f4'}", four), "twice"},
      {file("{'x': 1}", four), "unknown key"},
      {file("{'descr': '<f4' 'shape': (1,)}", four), "expected , or }"},
      {file("{'descr': '<f4", four), "unterminated"},
      {file("{'descr': '<\\x66"
            "4'}",
            four),
       "escape"},
      {file(std::string(20'000, ' '), four, 2), "more than the limit"},
      {file(dict("|b1", "(4,)"), "\1\1\2\1"), "element 2 is no bool: 2"},
      {std::string("\x93NUMPY\2\0ab", 10), "x.npy: is truncated"},
      {file(dict("<f4", "(1 1)"), four), "expected , or ) at character 53"},
      {std::string("\x93NUMPY\1\1", 8) + file(dict("<f4", "(1,)"), four).substr(8), "version 1.1"},
      {file(dict("!f4", "(1,)"), four), "dtype '!f4'"},
      {file("('descr': '<f4'}", four), "expected { at character 0"},
      {file("{'descr' '<f4'}", four), "expected : at character 9"},
      {file("{descr: '<f4'}", four), "expected ' at character 1"},
      {file("{'shape': 1}", four), "expected ( at character 10"},
  };
  for (const auto& [bytes, rule] : cases) {
    const std::string error = refusal(bytes);
    CHECK_MESSAGE(error.starts_with("x.npy: "), error);
    const std::string expected = rule;
    CHECK_MESSAGE(says(error, expected), error << " / " << expected);
  }
  CHECK(says(error_of([] { serialize::load_npy("/none/x.npy"); }), "cannot be opened"));
}
