// AtomicFolder: the old folder or the new one, and nothing beside them.
#include "tandem/core/base/atomic_folder.h"

#include <doctest/doctest.h>

#include "tandem/core/error.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using doctest::Contains;
namespace fs = std::filesystem;

namespace {

void make_folder(const std::string& path, const std::string& content) {
  fs::create_directory(path);
  write_file(path + "/file", content);
}

}  // namespace

TEST_CASE("a committed folder replaces the old one, of which nothing is left") {
  for (const bool can_exchange : {true, false}) {
    TempFolder folder;
    const std::string path = folder / "saved";
    for (const char* content : {"first", "second"}) {
      AtomicFolder made(path);
      CHECK(fs::is_empty(new_folder_of(path)));
      write_file(new_folder_of(path) + "/" + content, content);
      made.commit(can_exchange);
    }
    CHECK(read_file(path + "/second") == "second");
    CHECK(TempFolder::entries_of(path) == 1);
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("without commit the old folder stays") {
  TempFolder folder;
  const std::string path = folder / "saved";
  make_folder(path, "old");
  {
    const AtomicFolder made(path);
    write_file(new_folder_of(path) + "/file", "new");
    CHECK(readable_folder(path) == path);
  }
  CHECK(read_file(path + "/file") == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("what killed processes have left is removed, or restored where it is all there is") {
  TempFolder folder;
  const std::string path = folder / "saved";
  make_folder(folder / ".saved.old", "old");
  make_folder(folder / ".saved.new", "half");
  CHECK(readable_folder(path) == folder / ".saved.old");
  {
    const AtomicFolder made(path);
    CHECK(fs::is_empty(new_folder_of(path)));
  }
  CHECK(read_file(path + "/file") == "old");
  CHECK(folder.entries() == 1);
  make_folder(folder / ".saved.old", "older");
  { const AtomicFolder made(path); }
  CHECK(read_file(path + "/file") == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("links are followed, slashes at the end ignored, and permissions kept") {
  TempFolder folder;
  const std::string path = folder / "saved", link = folder / "link";
  make_folder(path, "old");
  fs::permissions(path, fs::perms::owner_all);
  fs::create_directory_symlink("saved", link);
  {
    AtomicFolder made(link + "//");
    write_file(new_folder_of(link) + "/file", "new");
    made.commit();
  }
  CHECK(read_file(path + "/file") == "new");
  CHECK(fs::is_symlink(link));
  CHECK(fs::status(path).permissions() == fs::perms::owner_all);
  CHECK(folder.entries() == 2);
}

TEST_CASE("errors") {
  TempFolder folder;
  CHECK_THROWS_WITH(AtomicFolder(folder / "missing/saved"), Contains("missing/.saved.new: No such file or directory"));
  write_file(folder / "file", "");
  CHECK_THROWS_WITH(AtomicFolder(folder / "file"), Contains("it is a file"));
  for (const char* path : {"", ".", "/", "a/..", "///"}) CHECK_THROWS_WITH(AtomicFolder{path}, Contains("has no name"));
  CHECK(readable_folder(folder / "none") == folder / "none");
  CHECK(folder.entries() == 1);
}
