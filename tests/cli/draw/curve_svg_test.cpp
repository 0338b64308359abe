// curve.svg is well-formed, complete and written atomically.
#include "tandem/cli/draw/curve_svg.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tandem/core/error.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using namespace tandem::test;

namespace {

const Curves kCurves{.title = "lenet & <friends>",
                     .note = "",
                     .train_accuracy = {0.5, 0.7, 0.8},
                     .test_accuracy = {0.6, 0.71, 0.79},
                     .train_loss = {1.2, 0.8, 0.6},
                     .test_loss = {1.0, NAN, 0.7}};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the image has four curves, titles, axes and a legend") {
  const std::string svg = curve_svg(kCurves);
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "<path class=\"line train\"") == 2);
  CHECK(count(svg, "<path class=\"line test\"") == 1);
  CHECK(count(svg, "<path class=\"line test alone\"") == 1);  // on both sides of a NaN
  for (const char* text : {"lenet &amp; &lt;friends&gt;", ">accuracy (%)<", ">loss (nats per image)<", ">epoch<",
                           ">train<", ">test<", ">79.00<", ">0.700<", "prefers-color-scheme: dark"})
    CHECK_MESSAGE(svg.find(text) != std::string::npos, text);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("a text has validation, not test data") {
  const std::string svg = curve_svg({.train_loss = {2, 1}, .test_loss = {2, 1.5}, .of_text = true});
  CHECK(svg.find(">validation<") != std::string::npos);
  CHECK(svg.find(">test<") == std::string::npos);
}

TEST_CASE("no epochs, one epoch, many epochs, and infinite values") {
  CHECK(count(curve_svg({}), "<path") == 0);
  const std::string one = curve_svg({.train_accuracy = {0.5}, .test_accuracy = {0.6}});
  CHECK(count(one, "<path") == 2);
  CHECK(count(one, " alone\"") == 2);
  const std::string many = curve_svg({.test_loss = std::vector<double>(5000, INFINITY)});
  CHECK(count(many, "<path") == 0);
  CHECK(many.find("inf") == std::string::npos);
}

TEST_CASE("a diverging run, accuracies of 0 and 1, and titles that are not UTF-8") {
  const std::string wild = curve_svg({.train_loss = {1, 1e300, 2}, .test_loss = {1, -INFINITY, 1e17}});
  CHECK(wild.size() < 10000);
  CHECK(count(wild, "<circle") == 0);  // the last value cannot be drawn
  for (double share : {0.0, 0.99995, 1.0}) {
    const std::string svg = curve_svg({.train_accuracy = {share}, .test_accuracy = {share}});
    // Tick labels are numbers in class "tick", as is the last value's label.
    for (std::size_t at = 0; (at = svg.find("text-anchor=\"end\">", at)) != std::string::npos; ++at) {
      const double label = std::stod(svg.substr(at + 18));
      CHECK_MESSAGE((label >= 0 && label <= 100), share, ": ", label);
    }
  }
  CHECK(curve_svg({.title = "a\xff\x1b[2J"}).find("<title>a??[2J</title>") != std::string::npos);
}

TEST_CASE("the file is written atomically") {
  TempFolder folder;
  write_curve_svg(folder / "curve.svg", kCurves);
  CHECK(read_file(folder / "curve.svg") == curve_svg(kCurves));
  CHECK(folder.entries() == 1);
  CHECK_THROWS_AS(write_curve_svg(folder / "none/curve.svg", kCurves), Error);
}
