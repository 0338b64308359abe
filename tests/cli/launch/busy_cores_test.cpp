// What is said of other programs before several processes start, for made-up loads.
#include "tandem/cli/launch/busy_cores.h"

#include <doctest/doctest.h>

using namespace tandem::cli;

TEST_CASE("several processes on cores that other programs use") {
  CHECK(busy_note(2, 2.7, 2).starts_with("other programs use 2 of 2 cores; 2 processes wait for each other"));
  CHECK(busy_note(2, 1, 2).starts_with("other programs use 1 of 2 cores;"));
  CHECK(busy_note(8, 100, 16).starts_with("other programs use 16 of 16 cores;"));
  CHECK(busy_note(8, 9, 16).starts_with("other programs use 9 of 16 cores;"));
  CHECK(busy_note(8, 8.9, 16).empty());  // a core is left for each
  CHECK(busy_note(2, 0.9, 2).empty());
  CHECK(busy_note(4, 0, 2).empty());  // too many, but not because of others
  CHECK(busy_note(1, 2, 2).empty());
  CHECK(busy_cores() >= 0);
}
