// The progress line at every width, and when it is drawn.
#include "tandem/cli/draw/progress.h"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tandem/tests/temp_folder.h"

using namespace tandem::cli;
using namespace tandem::test;

namespace {

const ProgressView kView{"epoch 3/10", 0.42, training_fields({0.51234, 0.8123, 12345.4, 67})};

Terminal terminal(int columns, bool unicode = false, int colors = 0) {
  return {.interactive = true, .columns = columns, .colors = colors, .unicode = unicode};
}

std::string output_of(const Terminal& where, int draws) {
  TempFolder folder;
  std::FILE* file = std::fopen((folder / "out").c_str(), "w");
  {
    ProgressBar bar(where, file);
    for (int i = 0; i < draws; ++i)
      if (bar.due()) bar.draw(kView);
    bar.print("epoch 3/10 done");
  }
  std::fclose(file);
  return read_file(folder / "out");
}

}  // namespace

TEST_CASE("the line shows loss, accuracy, speed and remaining time") {
  CHECK(progress_line(kView, terminal(120)) ==
        "epoch 3/10 [================>                       ]  42%  loss 0.5123  accuracy 0.8123  "
        "12,345 images/s  1:07 left");
  const std::string fancy = progress_line(kView, terminal(120, true));
  CHECK(fancy.starts_with("epoch 3/10 ━━━━━━━━━━━━━━━━────────"));
  CHECK(progress_line({"loading", -1, {"1.2 MiB"}}, terminal(80)) == "loading  1.2 MiB");
  CHECK(progress_line({"x", 1.7, {}}, terminal(60)).ends_with("========] 100%"));
  CHECK(progress_line({"x", 0.999, {}}, terminal(60)).ends_with(" 99%"));
}

TEST_CASE("the line never reaches the last column") {
  for (int columns = 1; columns < 200; ++columns)
    for (bool unicode : {false, true}) {
      const std::string line = progress_line(kView, terminal(columns, unicode, unicode ? 256 : 0));
      CHECK(display_width(line) <= std::max(columns - 1, 1));
    }
  CHECK(progress_line(kView, terminal(40)) == "epoch 3/10 [==>    ]  42%  loss 0.5123");
}

TEST_CASE("on a terminal the line is drawn at most ten times per second and removed at the end") {
  const std::string out = output_of(terminal(80), 1000);
  CHECK(out == "\r" + progress_line(kView, terminal(80)) + "\x1b[K\r\x1b[Kepoch 3/10 done\n");
}

TEST_CASE("only complete lines are printed if the output is not a terminal") {
  CHECK(output_of(Terminal{}, 1000) == "epoch 3/10 done\n");
}

TEST_CASE("the bar adapts to the width of the terminal") {
  int master = -1, slave = -1;
  winsize size{};
  size.ws_row = 30, size.ws_col = 100;
  REQUIRE(::openpty(&master, &slave, nullptr, nullptr, &size) == 0);
  std::FILE* file = ::fdopen(slave, "w");
  const auto drawn = [&](ProgressBar& bar) {
    bar.draw(kView);
    char text[2000];
    const ssize_t got = ::read(master, text, sizeof text);
    return std::string(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  };
  {
    ProgressBar bar(terminal(100), file);
    CHECK(drawn(bar) == "\r" + progress_line(kView, terminal(100)) + "\x1b[K");
    size.ws_col = 40;
    REQUIRE(::ioctl(master, TIOCSWINSZ, &size) == 0);
    CHECK(drawn(bar) == "\r" + progress_line(kView, terminal(40)) + "\x1b[K");
  }
  std::fclose(file);
  ::close(master);
}

TEST_CASE("figures of a diverging run") {
  const auto fields = training_fields({.loss = -std::nan(""), .accuracy = 0.1, .images_per_second = INFINITY});
  CHECK(fields[0] == "loss nan");
  CHECK(fields[2] == "0 images/s");
}

TEST_CASE("the bar is due again after a tenth of a second") {
  std::FILE* null = std::fopen("/dev/null", "w");
  {
    ProgressBar bar(terminal(80), null);
    CHECK(bar.due());
    bool due = true;
    std::chrono::steady_clock::time_point begin;
    do {  // again if the machine was too busy to ask in time
      begin = std::chrono::steady_clock::now();
      bar.draw(kView);
      due = bar.due();
    } while (due && std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(100));
    CHECK_FALSE(due);
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    CHECK(bar.due());
  }
  std::fclose(null);
}
