// Examples from FIPS 180-4 and NIST's test vectors.
#include "tandem/cli/data/sha256.h"

#include <doctest/doctest.h>

#include "tandem/core/error.h"
#include "tandem/tests/datasets/gzip_bytes.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using namespace tandem::test;

namespace {
std::string sum_of(const std::string& text, std::size_t piece = 1 << 20) {
  Sha256 sum;
  for (std::size_t at = 0; at < text.size(); at += piece)
    sum.update(text.data() + at, std::min(piece, text.size() - at));
  return sum.hex_digest();
}
}  // namespace

TEST_CASE("SHA-256 of the published examples") {
  CHECK(sum_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sum_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sum_of(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the digest does not depend on the size of the pieces") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7);
  for (std::size_t piece : {1, 3, 55, 56, 63, 64, 65, 127, 999}) CHECK(sum_of(text, piece) == sum_of(text));
}

TEST_CASE("a gzip file's content is hashed, up to the limit") {
  TempFolder folder;
  write_file(folder / "a.gz", gzip_bytes("abc"));
  CHECK(sha256_of_content(folder / "a.gz", 3) == sum_of("abc"));
  CHECK_THROWS_AS(sha256_of_content(folder / "a.gz", 2), Error);
}
