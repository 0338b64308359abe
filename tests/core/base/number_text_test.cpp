// number_text produces printf's text in the C locale.
#include "tandem/core/base/number_text.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

using tandem::number_text;

TEST_CASE("numbers look as printf writes them") {
  std::mt19937_64 draw(1);
  int wrong = 0;
  const auto compare = [&](double value, char style, int precision, int width) {
    char text[2000];
    const char pattern[] = {'%', '*', '.', '*', style, 0};
    std::snprintf(text, sizeof text, pattern, width, precision, value);
    const bool same = number_text(value, style, precision, width) == text;
    wrong += !same;
    if (!same) MESSAGE(text, " and ", number_text(value, style, precision, width));
  };
  for (const char style : {'e', 'f', 'g'})
    for (const int precision : {0, 1, 4, 6, 9, 17, 400}) {
      for (const double value : {0.0, -0.0, 0.5, 1.5, 1e5, 999999.5, 1e-5, 123456789.0, 1e300, 5e-324, -1e22,
                                 double{INFINITY}, -double{INFINITY}, std::nan("")})
        for (const int width : {0, 3, 12}) compare(value, style, precision, width);
      for (int i = 0; i < 300; ++i) {
        const double any = std::bit_cast<double>(draw()), near = static_cast<double>(draw() % 2000000) / 1000 - 1000;
        if (std::isfinite(any)) compare(any, style, precision, i % 20);
        compare(near, style, precision, i % 20);
      }
    }
  CHECK(wrong == 0);
}
