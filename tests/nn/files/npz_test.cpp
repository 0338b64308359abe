// NumPy's .npz files; numpy_files.py compares with NumPy.
#include "tandem/nn/files/pt/npz.h"

#include <doctest/doctest.h>

#include <ctime>

#include "tandem/autograd/ops.h"
#include "tandem/nn/files/npy.h"
#include "tandem/nn/files/pt/zip_archive.h"
#include "tandem/tests/environment.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;
using test::says;
using test::TempFolder;

namespace {

std::string zip_of(const std::string& name, const std::string& content, bool deflated) {
  serialize::pt::ZipBytes bytes;
  serialize::pt::ZipWriter zip(bytes);
  zip.add(name, {content}, deflated);
  zip.finish();
  return bytes.text;
}
std::string refusal(const std::string& bytes) {
  return error_of([&] { serialize::parse_npz(bytes.data(), bytes.size(), "x.npz"); });
}

}  // namespace

TEST_CASE("arrays survive a .npz file, stored or compressed") {
  const TempFolder folder;
  const OrderedDict<std::string, Tensor> arrays{{"a", arange(100'000, kFloat)},
                                                {"b/c", ones({2, 3}, TensorOptions(kBool))},
                                                {"none", zeros({0, 2})},
                                                {"t", arange(6, kLong).view({2, 3}).t()}};
  for (const bool compressed : {false, true}) {
    const std::string path = folder / (compressed ? "c.npz" : "s.npz");
    serialize::save_npz(path, arrays, compressed);
    const auto back = serialize::load_npz(path);
    CHECK(back.keys() == arrays.keys());
    for (const auto& item : arrays) {
      CHECK((back[item.key()].dtype() == item.value().dtype()));
      CHECK(equal(back[item.key()], item.value()));
    }
  }
  CHECK(std::filesystem::file_size(folder / "c.npz") < std::filesystem::file_size(folder / "s.npz"));
  CHECK(says(error_of([&] {
               serialize::save_npz(folder / "x.npz", {{"a", zeros({1}, TensorOptions(kBFloat16))}});
             }),
             "no dtype for bfloat16"));
  CHECK_EQ(folder.entries(), 2);
}

TEST_CASE("the bytes do not depend on the time zone") {
  std::string in_utc;
  for (const char* zone : {"UTC", "XXX+10:40", "XXX-14"}) {
    const test::Environment here{"TZ", zone};
    ::tzset();
    if (in_utc.empty()) in_utc = zip_of("a", "content", false);
    CHECK(zip_of("a", "content", false) == in_utc);
  }
  ::tzset();
}

TEST_CASE("archives that are no .npz file are refused") {
  const std::string array = serialize::npy_bytes(zeros({1000}));
  for (const bool deflated : {false, true}) {
    CHECK_EQ(refusal(zip_of("a.npy", array, deflated)), "");
    CHECK(says(refusal(zip_of("a", array, deflated)), "x.npz: entry a is no array"));
    CHECK(says(refusal(zip_of("a.npy", array.substr(0, 500), deflated)), "x.npz: a.npy: is truncated"));
    CHECK(says(refusal(zip_of("a.npy", array + "x", deflated)), "1 bytes follow"));
    CHECK(says(refusal(zip_of("a.npy", "hello hello", deflated)), "is not a .npy file"));
    const std::string good = zip_of("a.npy", array, deflated);
    CHECK_NE(refusal(good.substr(0, good.size() / 2)), "");
  }
  std::string damaged = zip_of("a.npy", array, false);
  damaged[damaged.size() / 2] ^= 1;
  CHECK(says(refusal(damaged), "is damaged"));
  CHECK(says(refusal(""), "is not a zip archive"));
}
