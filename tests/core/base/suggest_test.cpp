// Distances computed by hand, and which typos are close enough for a suggestion.
#include "tandem/core/base/suggest.h"

#include <doctest/doctest.h>

#include <vector>

using namespace tandem;

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("lenet", "lneet") == 1);
  CHECK(edit_distance("ca", "abc") == 3);  // no letter is edited twice
  CHECK(edit_distance("LeNet", "lenet") == 0);
  CHECK(edit_distance("abcdef", "abdcfe") == 2);
}

TEST_CASE("close words are suggested, distant ones are not") {
  const std::vector<std::string> names{"fashion-mnist", "mnist"};
  CHECK(nearest("fashion-mnits", names) == "fashion-mnist");
  CHECK(nearest("fashon_mnist", names) == "fashion-mnist");
  CHECK(nearest("fashion", names) == "fashion-mnist");
  CHECK(nearest("mnst", names) == "mnist");
  CHECK(nearest("FASHION-MNIST", names) == "fashion-mnist");
  CHECK(nearest("cifar10", names) == "");
  CHECK(nearest("", names) == "");
  CHECK(nearest("x", {"y"}) == "");
  CHECK(did_you_mean("mnsit", names) == "; did you mean mnist?");
  CHECK(did_you_mean("imagenet", names) == "");
}
