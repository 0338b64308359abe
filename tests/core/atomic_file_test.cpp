// AtomicFile: all or nothing, no temporary file is left, errors name the path and the reason.
#include "tandem/core/atomic_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tandem/core/error.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using doctest::Contains;

TEST_CASE("a committed file replaces the old one and leaves nothing else") {
  TempFolder folder;
  const std::string path = folder / "a.txt";
  write_file_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write("new ");
    file.write("text");
    CHECK(read_file(path) == "old");
    CHECK(folder.entries() == 2);
    file.commit();
    CHECK_THROWS_AS(file.commit(), Error);
  }
  CHECK(read_file(path) == "new text");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a file that is not committed changes nothing") {
  TempFolder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "old");
  { AtomicFile(path).write("half"); }
  CHECK(read_file(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("permissions follow the umask, as with any new file") {
  TempFolder folder;
  const mode_t before = ::umask(0027);
  write_file_atomically(folder / "a", "x");
  ::umask(before);
  struct stat status {};
  REQUIRE(::stat((folder / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("errors name the path and the reason") {
  TempFolder folder;
  write_file(folder / "plain", "x");
  const std::string missing = folder / "none/a", under_file = folder / "plain/a";
  CHECK(error_of([&] { AtomicFile{missing}; }) ==
        "cannot write " + missing + ": there is no folder " + (folder / "none"));
  CHECK(error_of([&] { AtomicFile{under_file}; }) ==
        "cannot write " + under_file + ": " + (folder / "plain") + " is not a folder");
  CHECK_THROWS_WITH_AS(AtomicFile{folder.path()}, Contains("it is a folder"), Error);
  CHECK_THROWS_WITH_AS(AtomicFile{""}, Contains("cannot write"), Error);
  CHECK_THROWS_WITH_AS(AtomicFile{"/proc/tandem"}, Contains("cannot write /proc/tandem: folder /proc"),
                       Error);
  if (::geteuid() != 0) {
    REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
    CHECK_THROWS_WITH_AS(AtomicFile{folder / "b"}, Contains("Permission denied"), Error);
    REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  }
}
