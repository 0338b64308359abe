// Plots, images, bars and tables, compared as text.
#include "tandem/cli/draw/plot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tandem/cli/draw/axis.h"
#include "tandem/core/error.h"

using namespace tandem;
using namespace tandem::cli;

namespace {
const Terminal kAscii{.columns = 60}, kUnicode{.columns = 60, .unicode = true};
}

TEST_CASE("axes have round ticks and enclose the values") {
  const Axis axis = make_axis({0.703, 0.84}, 7);
  CHECK(axis.low == doctest::Approx(0.70));
  CHECK(axis.high == doctest::Approx(0.85));
  CHECK(axis.label(axis.ticks[1]) == "0.75");
  for (double low : {-1234.5, -1.0, 0.0, 1e-7, 0.999, 56789.0})
    for (double span : {0.0, 1e-9, 0.1, 3.0, 1e6}) {
      const Axis any = make_axis({low, low + span}, 6);
      CHECK(any.low <= low + 1e-6 * (any.high - any.low));
      CHECK(any.high >= low + span - 1e-6 * (any.high - any.low));
      CHECK(any.high > any.low);
      CHECK(any.ticks.size() <= 6);
      CHECK(any.ticks.size() >= 2);
    }
  CHECK(make_axis({}, 5).ticks.size() >= 2);
  CHECK(make_axis({NAN, INFINITY, -1e300}, 5).ticks.size() >= 2);
  CHECK(make_axis({-0.3, 0.3}, 9).label(make_axis({-0.3, 0.3}, 9).ticks[3]) == "0.0");
}

TEST_CASE("ticks of counts include the first and the last") {
  CHECK(count_ticks(0, 5) == std::vector<int>{1});
  CHECK(count_ticks(4, 5) == std::vector<int>{1, 2, 3, 4});
  CHECK(count_ticks(10, 6) == std::vector<int>{1, 5, 10});
  CHECK(count_ticks(20, 8) == std::vector<int>{1, 5, 10, 15, 20});
  for (int count = 1; count < 500; ++count) {
    const std::vector<int> ticks = count_ticks(count, 9);
    CHECK(ticks.size() <= 9);
    CHECK(ticks.front() == 1);
    CHECK(ticks.back() == count);
  }
}

TEST_CASE("a rising line in ASCII") {
  CHECK(line_plot({.title = "test accuracy", .values = {0, 0.5, 1}, .height = 5, .max_width = 30}, kAscii) ==
        "test accuracy\n"
        "1.0 +               ..*\n"
        "    |           ....\n"
        "0.5 +       ..*.\n"
        "    |   ....\n"
        "0.0 +*..\n"
        "    ++--------+-------+\n"
        "     1        2       3  epoch\n");
}

TEST_CASE("a line in braille") {
  const std::string plot = line_plot({.title = "", .values = {0, 1}, .height = 3, .max_width = 20}, kUnicode);
  CHECK(plot ==
        "1.0 ┤      ⢀⡠⠔⠊\n"
        "0.5 ┤   ⢀⠤⠒⠁\n"
        "0.0 ┤⡠⠔⠊⠁\n"
        "    └┬────────┬\n"
        "     1        2  epoch\n");
}

TEST_CASE("line plots of any length and width, with gaps") {
  for (int columns : {10, 40, 300})
    for (const auto& values : {std::vector<double>{}, {0.8}, {0.8, NAN, 0.9}, {NAN}, std::vector<double>(1000, 0.5)}) {
      const Terminal terminal{.columns = columns, .unicode = true};
      const std::string plot = line_plot({.title = "t", .values = values}, terminal);
      CHECK(std::count(plot.begin(), plot.end(), '\n') == 1 + 12 + 2);
    }
}

TEST_CASE("an image as gray half blocks or as a character ramp") {
  const Image image{2, 3, 1, {0, 255, 255, 0, 128, 128}};
  const Terminal deep{.columns = 80, .colors = 1 << 24, .unicode = true};
  CHECK(picture(image, deep) ==
        "\x1b[38;2;0;0;0;48;2;255;255;255m▀\x1b[38;2;255;255;255;48;2;0;0;0m▀\x1b[0m\n"
        "\x1b[38;2;128;128;128;48;2;0;0;0m▀\x1b[38;2;128;128;128;48;2;0;0;0m▀\x1b[0m\n");
  const Terminal palette{.columns = 80, .colors = 256, .unicode = true};
  CHECK(picture(image, palette).starts_with("\x1b[38;5;16;48;5;231m▀"));
  CHECK(picture(image, kUnicode) == "==\n++\n");
  CHECK(picture({2, 2, 1, {0, 255, 0, 255}}, kAscii) == " @\n");
  // An image wider than the limit is scaled down.
  CHECK(picture({100, 100, 1, std::vector<uint8_t>(10000, 255)}, kAscii, 20) ==
        std::string("@@@@@@@@@@@@@@@@@@@@\n@@@@@@@@@@@@@@@@@@@@\n@@@@@@@@@@@@@@@@@@@@\n@@@@@@@@@@@@@@@@@@@@\n"
                    "@@@@@@@@@@@@@@@@@@@@\n@@@@@@@@@@@@@@@@@@@@\n@@@@@@@@@@@@@@@@@@@@\n@@@@@@@@@@@@@@@@@@@@\n"
                    "@@@@@@@@@@@@@@@@@@@@\n@@@@@@@@@@@@@@@@@@@@\n"));
}

TEST_CASE("probability bars") {
  CHECK(probability_bars({{"Bag", 0.75}, {"Ankle boot", 0.25}}, {.columns = 36}) ==
        "  Bag         ########     75.00 %\n"
        "  Ankle boot  ###          25.00 %\n");
  CHECK(probability_bars({{"a", 1.0}, {"b", 0.03}, {"c", 0}}, {.columns = 27, .unicode = true}) ==
        "  a  ██████████  100.00 %\n"
        "  b  ▎             3.00 %\n"
        "  c                0.00 %\n");
  CHECK(probability_bars({{"a\x1b[2J", NAN}}, kAscii).find('\x1b') == std::string::npos);
}

TEST_CASE("table columns are aligned") {
  Table table({{"layer"}, {"parameters", Table::Align::kRight}});
  table.add_row({"conv1", "1,234"});
  table.add_row({"größe", "9"});
  table.add_rule();
  table.add_row({"total", "1,243"});
  CHECK(table.text(kAscii) ==
        "layer  parameters\n"
        "-----------------\n"
        "conv1       1,234\n"
        "größe           9\n"
        "-----------------\n"
        "total       1,243\n");
  CHECK_THROWS_AS(table.add_row({"one"}), Error);
}

TEST_CASE("the axis ends at an accuracy of 1, and infinite values leave gaps") {
  const Terminal plain{.columns = 60};
  const std::string text = line_plot({.title = "a", .values = {1, 1}, .least = 0, .most = 1}, plain);
  CHECK_MESSAGE(text.find("1.0000 +") != std::string::npos, text);
  CHECK_MESSAGE(text.find("1.000") == text.rfind("1.000"), text);
  for (double value : {static_cast<double>(INFINITY), static_cast<double>(NAN), 1e300, -1e300})
    CHECK(line_plot({.title = "a", .values = {1, value, 2}}, plain).size() < 2000);
  CHECK(probability_bars({{"a", -std::nan("")}}, plain).find("   nan %") != std::string::npos);
}
