// Distances computed by hand, and which typos are close enough for a suggestion.
#include "tandem/core/base/suggest.h"

#include <doctest/doctest.h>

#include <string>
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

TEST_CASE("how many letters may be wrong, and which of several words is suggested") {
  const struct {
    const char* word;
    std::vector<std::string> known;
    const char* suggestion;
  } cases[] = {
      {"ab", {"ac"}, "ac"},              // one letter is always allowed
      {"a", {"b"}, ""},                  // but not all of them
      {"abcde", {"abcxy"}, ""},          // of five letters, one
      {"abcdef", {"abcdxy"}, "abcdxy"},  // of six, two
      {"abcdef", {"abcxyz"}, ""},
      {"abcdefghi", {"abcdefxyz"}, "abcdefxyz"},  // of nine, three
      {"abcdefg", {"abcde"}, "abcde"},            // the longer word counts
      {"abcd", {"abcdef"}, "abcdef"},
      {"abc", {"abcdefghij"}, "abcdefghij"},  // the beginning of a word, from three letters on
      {"ab", {"abcdefghij"}, ""},
      {"abx", {"aby", "abz"}, "aby"},              // the first of equally near ones
      {"abcdef", {"abcdxy", "abcdex"}, "abcdex"},  // the nearest
      {"abcdef", {"abcdex", "abcdxy"}, "abcdex"},
      {"abc", {"abd", "abcdefghij"}, "abcdefghij"},
      {"abc", {}, ""},
  };
  for (const auto& c : cases) CHECK(nearest(c.word, c.known) == c.suggestion);
}
