#include <doctest/doctest.h>

#include <algorithm>

#include "tandem/cli/data/stratified.h"
#include "tandem/tandem.h"

using namespace tandem;
using cli::stratified_split;

namespace {

std::vector<int64_t> values(const Tensor& t) { return {t.data_ptr<int64_t>(), t.data_ptr<int64_t>() + t.numel()}; }

// Of each class, the images at the positions.
std::vector<int64_t> counts(const Tensor& labels, const Tensor& positions, int64_t classes) {
  return values(labels.index_select(0, positions).bincount({}, classes));
}

}  // namespace

TEST_CASE("a split takes the same share of each class, and every image once") {
  const Tensor labels = cat({zeros({40}, kLong), full({20}, 1, kLong), full({7}, 3, kLong)});
  const cli::Split split = stratified_split(labels, 0.25, 1);
  CHECK(counts(labels, split.part, 4) == std::vector<int64_t>{10, 5, 0, 2});
  CHECK(counts(labels, split.rest, 4) == std::vector<int64_t>{30, 15, 0, 5});
  const std::vector<int64_t> part = values(split.part);
  CHECK(std::is_sorted(part.begin(), part.end()));
  const Tensor all = std::get<0>(cat({split.rest, split.part}).sort());
  CHECK(all.equal(arange(67)));
  CHECK(split.part.equal(stratified_split(labels, 0.25, 1).part));
  CHECK_FALSE(split.part.equal(stratified_split(labels, 0.25, 2).part));
}

TEST_CASE("a class of several images is in both parts, one of a single image is trained on") {
  const Tensor labels = tensor({0, 0, 1, 2, 2, 2}, kLong);
  CHECK(counts(labels, stratified_split(labels, 0.01, 0).part, 3) == std::vector<int64_t>{1, 0, 1});
  CHECK(counts(labels, stratified_split(labels, 0.9, 0).part, 3) == std::vector<int64_t>{1, 0, 2});
  CHECK_THROWS_WITH_AS(stratified_split(tensor({0, 1}, kLong), 0.5, 0),
                       "no class has two images, so none can be held out", Error);
}
