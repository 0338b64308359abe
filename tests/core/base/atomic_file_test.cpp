// AtomicFile: all or nothing, no temporary files left behind, errors with the path and the reason.
#include "tandem/core/base/atomic_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tandem/core/base/descriptor.h"
#include "tandem/core/error.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using doctest::Contains;

namespace {

struct stat status_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}
bool is_link(const std::string& path) { return std::filesystem::is_symlink(path); }

}  // namespace

TEST_CASE("a committed file replaces the old one and leaves nothing else behind") {
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

TEST_CASE("an uncommitted file changes nothing") {
  TempFolder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "old");
  { AtomicFile(path).write("half"); }
  CHECK(read_file(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("permissions follow the umask, as for any new file") {
  TempFolder folder;
  const mode_t before = ::umask(0027);
  write_file_atomically(folder / "a", "x");
  ::umask(before);
  struct stat status {};
  REQUIRE(::stat((folder / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a replaced file keeps its mode, owner and group, but no setuid") {
  TempFolder folder;
  const std::string path = folder / "a";
  for (const mode_t mode : {0600, 0640, 0777, 04755, 02755}) {
    write_file(path, "old");
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    write_file_atomically(path, "new");
    CHECK(read_file(path) == "new");
    CHECK((status_of(path).st_mode & 07777) == (mode & 0777));
  }
  if (::geteuid() != 0) return;
  REQUIRE(::chown(path.c_str(), 1234, 5678) == 0);
  write_file_atomically(path, "newer");
  CHECK(status_of(path).st_uid == 1234);
  CHECK(status_of(path).st_gid == 5678);
}

TEST_CASE("permissions do not widen when the group cannot be kept") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  TempFolder folder;
  const std::string path = folder / "a";
  write_file(path, "old");
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  REQUIRE(::chown(path.c_str(), 0, 5678) == 0);
  REQUIRE(::chmod(path.c_str(), 0672) == 0);  // group may write, others may not read
  REQUIRE(::seteuid(1234) == 0);
  const std::string error = error_of([&] { write_file_atomically(path, "new"); });
  REQUIRE(::seteuid(0) == 0);
  CHECK(error == "");
  CHECK(status_of(path).st_uid == 1234);
  CHECK((status_of(path).st_mode & 0777) == 0622);
}

TEST_CASE("the access ACL is kept; a folder's default ACL does not apply to an existing file") {
  TempFolder folder;
  const std::string path = folder / "a";
  write_file(path, "old");
  // Version 2; owner rw, user 1234 r, group none, mask r, others none: tag, permissions, id.
  const auto entry = [](int tag, int permissions, const char* id) {
    return std::string{static_cast<char>(tag), 0, static_cast<char>(permissions), 0} + std::string(id, 4);
  };
  const char* none = "\xff\xff\xff\xff";
  const std::string acl = std::string("\2\0\0\0", 4) + entry(1, 6, none) + entry(2, 4, "\xd2\4\0\0") +
                          entry(4, 0, none) + entry(16, 4, none) + entry(32, 0, none);
  if (::setxattr(path.c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) != 0) {
    MESSAGE("skipped: the temporary folder does not support ACLs");
    return;
  }
  write_file_atomically(path, "new");
  std::string kept(acl.size(), '\0');
  CHECK(::getxattr(path.c_str(), "system.posix_acl_access", kept.data(), kept.size()) ==
        static_cast<ssize_t>(acl.size()));
  CHECK(kept == acl);
  write_file(folder / "b", "old");
  REQUIRE(::chmod((folder / "b").c_str(), 0644) == 0);  // whatever the umask is
  REQUIRE(::setxattr(folder.path().c_str(), "system.posix_acl_default", acl.data(), acl.size(), 0) == 0);
  write_file_atomically(folder / "b", "new");
  CHECK(::getxattr((folder / "b").c_str(), "system.posix_acl_access", kept.data(), kept.size()) < 0);
  CHECK((status_of(folder / "b").st_mode & 0777) == 0644);
}

TEST_CASE("symbolic links are followed, even dangling ones; other hard links keep the old content") {
  TempFolder folder;
  std::filesystem::create_directory(folder / "deep");
  write_file(folder / "deep/a", "old");
  REQUIRE(::symlink("deep/b", (folder / "link").c_str()) == 0);
  REQUIRE(::symlink("a", (folder / "deep/b").c_str()) == 0);
  REQUIRE(::link((folder / "deep/a").c_str(), (folder / "hard").c_str()) == 0);
  {
    AtomicFile file(folder / "link");
    file.write("new");
    CHECK(TempFolder::entries_of(folder / "deep") == 3);  // next to the target
    file.commit();
  }
  CHECK(read_file(folder / "deep/a") == "new");
  CHECK(is_link(folder / "link"));
  CHECK(is_link(folder / "deep/b"));
  CHECK(read_file(folder / "hard") == "old");
  CHECK(TempFolder::entries_of(folder / "deep") == 2);

  REQUIRE(::symlink((folder / "deep/c").c_str(), (folder / "dangling").c_str()) == 0);
  write_file_atomically(folder / "dangling", "made");
  CHECK(is_link(folder / "dangling"));
  CHECK(read_file(folder / "deep/c") == "made");
  CHECK(follow_links(folder / "dangling") == folder / "deep/c");

  REQUIRE(::symlink("round", (folder / "about").c_str()) == 0);
  REQUIRE(::symlink("about", (folder / "round").c_str()) == 0);
  CHECK_THROWS_WITH_AS(AtomicFile{folder / "round"}, Contains("round: too many symbolic links"), Error);
  REQUIRE(::symlink("none/a", (folder / "lost").c_str()) == 0);
  CHECK_THROWS_WITH_AS(AtomicFile{folder / "lost"}, Contains("no such folder"), Error);
}

TEST_CASE("character devices and pipes are written directly") {
  TempFolder folder;
  const auto before = status_of("/dev/null");
  {
    AtomicFile null("/dev/null");
    CHECK(!null.is_atomic());
    null.write("x");
    null.commit();
  }
  CHECK(S_ISCHR(status_of("/dev/null").st_mode));
  CHECK(status_of("/dev/null").st_ino == before.st_ino);
  CHECK_THROWS_WITH_AS(write_file_atomically("/dev/full", "x"), Contains("cannot write /dev/full: No space"), Error);

  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  check_writable(pipe);  // does not wait for a reader
  std::string got;
  std::thread reader([&] { got = read_file(pipe); });
  write_file_atomically(pipe, "through");
  reader.join();
  CHECK(got == "through");
  CHECK(S_ISFIFO(status_of(pipe).st_mode));
  CHECK(folder.entries() == 1);

  const int file = ::open((folder / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::write(file, "head ", 5) == 5);
  write_file_atomically(concat("/proc/self/fd/", file), "tail");
  ::close(file);
  CHECK(read_file(folder / "out") == "head tail");
}

TEST_CASE("sockets and block devices are rejected") {
  TempFolder folder;
  const std::string path = folder / "socket";
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK_THROWS_WITH_AS(AtomicFile{path}, Contains("it is a socket"), Error);
  CHECK_THROWS_WITH_AS(check_writable(path), Contains("it is a socket"), Error);
  ::close(fd);
  CHECK(S_ISSOCK(status_of(path).st_mode));
  if (::mknod((folder / "block").c_str(), S_IFBLK | 0600, 0) == 0)
    CHECK_THROWS_WITH_AS(AtomicFile{folder / "block"}, Contains("it is a block device"), Error);
}

TEST_CASE("a file size limit and a closed pipe are errors, not signals") {
  TempFolder folder;
  const std::string path = folder / "a";
  write_file(path, "old");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{1000, before.rlim_max};
  std::signal(SIGXFSZ, SIG_DFL);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string error = error_of([&] { write_file_atomically(path, std::string(5000, 'x')); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(error == "cannot write " + path + ": File too large");
  CHECK(read_file(path) == "old");
  CHECK(folder.entries() == 1);

  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  AtomicFile file(pipe);
  ::close(reader);
  CHECK_THROWS_WITH_AS(file.write("x"), Contains("Broken pipe"), Error);
  sigset_t pending;
  REQUIRE(::sigpending(&pending) == 0);
  CHECK(!sigismember(&pending, SIGPIPE));
  CHECK(!sigismember(&pending, SIGXFSZ));
}

TEST_CASE("leftovers of killed writers are removed, next to the target and by name") {
  TempFolder folder;
  std::filesystem::create_directory(folder / "deep");
  REQUIRE(::symlink("deep/b", (folder / "a").c_str()) == 0);
  for (const char* name : {"deep/.b.12-0.tmp", "deep/.b.mine.tmp", "deep/.c.12-0.tmp", "deep/b", ".a.12-0.tmp"})
    write_file(folder / name, "x");
  remove_leftovers_of(folder / "a");
  CHECK(!std::filesystem::exists(folder / "deep/.b.12-0.tmp"));
  CHECK(TempFolder::entries_of(folder / "deep") == 3);
  CHECK(folder.entries() == 3);
  const std::string longest = folder / std::string(255, 'n');
  write_file_atomically(longest, "x");
  CHECK(read_file(longest) == "x");
}

TEST_CASE("errors name the path and the reason") {
  TempFolder folder;
  write_file(folder / "plain", "x");
  const std::string missing = folder / "none/a", under_file = folder / "plain/a";
  CHECK(error_of([&] { AtomicFile{missing}; }) == "cannot write " + missing + ": no such folder: " + (folder / "none"));
  CHECK(error_of([&] { AtomicFile{under_file}; }) ==
        "cannot write " + under_file + ": " + (folder / "plain") + " is not a folder");
  CHECK_THROWS_WITH_AS(AtomicFile{folder.path()}, Contains("it is a folder"), Error);
  CHECK_THROWS_WITH_AS(AtomicFile{""}, Contains("cannot write"), Error);
  CHECK_THROWS_WITH_AS(AtomicFile{"/proc/tandem"}, Contains("cannot write /proc/tandem: folder /proc"), Error);
  if (::geteuid() != 0) {
    REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
    CHECK_THROWS_WITH_AS(AtomicFile{folder / "b"}, Contains("Permission denied"), Error);
    REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
    REQUIRE(::chmod((folder / "plain").c_str(), 0444) == 0);
    CHECK_THROWS_WITH_AS(AtomicFile{folder / "plain"}, Contains("Permission denied"), Error);
  }
}

TEST_CASE("paths without a folder are in the current one") {
  TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  REQUIRE(::symlink("a", "link") == 0);
  write_file("wrong", "x");
  write_file(".a.12-0.tmp", "x");
  const std::string error = error_of([] {
    write_file_atomically("link", "text");
    check_writable("a");
    check_writable("none");
    remove_leftovers_of("a");
  });
  const std::string target = follow_links("link"), refusal = error_of([] { AtomicFile{"wrong/a"}; });
  std::filesystem::current_path(before);
  CHECK(error == "");
  CHECK(target == "a");
  CHECK(refusal == "cannot write wrong/a: wrong is not a folder");
  CHECK(read_file(folder / "a") == "text");
  CHECK(is_link(folder / "link"));
  CHECK(folder.entries() == 3);
}

TEST_CASE("a descriptor may be 0, is passed on by moves, and knows whether its file still has a name") {
  using detail::Descriptor;
  TempFolder folder;
  write_file(folder / "a", "x");
  write_file(folder / "b", "x");
  CHECK(!Descriptor());
  CHECK(Descriptor().get() == -1);
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  const int input = ::dup(0);  // -1 if the test has none
  ::close(0);
  int moved = -1;
  {
    Descriptor first(::open((folder / "a").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(first);
    CHECK(first.get() == 0);
    Descriptor second = std::move(first), third;
    CHECK(!first);
    third = std::move(second);
    CHECK(!second);
    CHECK(third.is_file(folder / "a"));
    CHECK(!third.is_file(folder / "b"));
    CHECK(!third.is_file("/dev/null"));
    CHECK(!third.is_file(folder / "none"));
    CHECK(!Descriptor().is_file(folder / "a"));
    write_file_atomically(folder / "a", "y");
    CHECK(!third.is_file(folder / "a"));
    moved = third.get();
    CHECK(is_open(moved));
  }
  CHECK(moved == 0);
  CHECK(!is_open(0));
  if (input >= 0) {
    ::dup2(input, 0);
    ::close(input);
  }
}
