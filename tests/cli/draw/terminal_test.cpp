// Terminal detection from the environment, and measuring and truncating text.
#include "tandem/cli/draw/terminal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "tandem/tests/environment.h"

using namespace tandem::cli;
using tandem::test::Environment;

namespace {

// A pseudo-terminal with 100 columns.
struct Pty {
  int master = -1, slave = -1;
  Pty() {
    winsize size{};
    size.ws_row = 30, size.ws_col = 100;
    REQUIRE(::openpty(&master, &slave, nullptr, nullptr, &size) == 0);
  }
  ~Pty() {
    ::close(master);
    ::close(slave);
  }
};

}  // namespace

TEST_CASE("a terminal, its width and colours") {
  Pty pty;
  Environment term("TERM", "xterm-256color"), depth("COLORTERM", nullptr), none("NO_COLOR", nullptr);
  CHECK(detect_terminal(pty.slave).interactive);
  CHECK(detect_terminal(pty.slave).columns == 100);
  CHECK(detect_terminal(pty.slave).colors == 256);
  {
    Environment deep("COLORTERM", "truecolor");
    CHECK(detect_terminal(pty.slave).colors == 1 << 24);
    Environment no_color("NO_COLOR", "1");
    CHECK(detect_terminal(pty.slave).colors == 0);
    CHECK(detect_terminal(pty.slave).interactive);
  }
  {
    Environment no_color("NO_COLOR", "");  // empty counts as unset
    CHECK(detect_terminal(pty.slave).colors == 256);
  }
  Environment dumb("TERM", "dumb");
  CHECK_FALSE(detect_terminal(pty.slave).interactive);
  CHECK(detect_terminal(pty.slave).colors == 0);
}

TEST_CASE("a file is not a terminal: no colours, a width of COLUMNS or 80") {
  const int fd = ::open("/dev/null", O_WRONLY);
  Environment term("TERM", "xterm"), columns("COLUMNS", "132"), depth("COLORTERM", "truecolor");
  CHECK_FALSE(detect_terminal(fd).interactive);
  CHECK(detect_terminal(fd).colors == 0);
  CHECK(detect_terminal(fd).columns == 132);
  Environment nonsense("COLUMNS", "-3");
  CHECK(detect_terminal(fd).columns == 80);
  ::close(fd);
}

TEST_CASE("the locale determines Unicode support; LC_ALL takes precedence over LANG") {
  Environment all("LC_ALL", nullptr), type("LC_CTYPE", nullptr), lang("LANG", "en_US.UTF-8"), term("TERM", "xterm");
  CHECK(detect_terminal(1).unicode);
  {
    Environment c("LC_ALL", "C");
    CHECK_FALSE(detect_terminal(1).unicode);
  }
  Environment lower("LC_CTYPE", "C.utf8");
  CHECK(detect_terminal(1).unicode);
  Environment console("TERM", "linux");
  CHECK_FALSE(detect_terminal(1).unicode);
}

TEST_CASE("the width counts characters, not bytes or control sequences") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("äöü━") == 4);
  CHECK(display_width("\x1b[1;32mab\x1b[0m") == 2);
  CHECK(display_width("\x1b[") == 0);
  CHECK(fit("äöü", 2) == "äö");
  CHECK(fit("\x1b[32mabc\x1b[0m", 2) == "\x1b[32mab\x1b[0m");
  CHECK(fit("ab", 5) == "ab");
  CHECK(printable("a\x1b[2Jb\n") == "a?[2Jb?");
  CHECK(printable("äöü ━ 漢") == "äöü ━ 漢");
  CHECK(printable("a\xff\xc3(\xe2\x82") ==
        "a?"
        "?("
        "??");
  CHECK(printable("\xc2\x9b\xe2\x80\xae\xed\xa0\x80") == "?????");  // C1, a direction override, a surrogate
  CHECK(styled("x", "1", 0) == "x");
  CHECK(styled("x", "1", 16) == "\x1b[1mx\x1b[0m");
}

TEST_CASE("times, counts and sizes") {
  CHECK(clock_time(7.4) == "0:07");
  CHECK(clock_time(754) == "12:34");
  CHECK(clock_time(3723) == "1:02:03");
  CHECK(clock_time(3599.7) == "1:00:00");
  CHECK(clock_time(-1) == "-:--");
  CHECK(clock_time(1e300) == "-:--");
  CHECK(counted(1, "batch", "batches") == "1 batch");
  CHECK(counted(0, "batch", "batches") == "0 batches");
  CHECK(fixed(0.125, 2) == "0.12");
  CHECK(fixed(1.23456e20, 4) == "1.2346e+20");
  CHECK(fixed(-INFINITY, 4) == "-inf");
  CHECK(fixed(-std::nan(""), 4) == "nan");
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1234567) == "1,234,567");
  CHECK(with_commas(-1234) == "-1,234");
  CHECK(with_commas(-123) == "-123");
  CHECK(byte_size(0) == "0 B");
  CHECK(byte_size(1536) == "1.5 KiB");
  CHECK(byte_size(3.0 * 1024 * 1024) == "3.0 MiB");
}
