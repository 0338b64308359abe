// Shards: every sample belongs to one shard of one process, and the cuts are balanced.
#include "tandem/core/shards.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;

TEST_CASE("the shards of all processes are the shards of the batch") {
  for (const int64_t samples : {1, 2, 5, 7, 8, 9, 31, 64, 100})
    for (const int64_t shards : {1, 2, 3, 5, 8, 13}) {
      const int64_t count = std::min(samples, shards);
      const std::vector<int64_t> whole = shard_bounds(samples, shards, 1, 0);
      REQUIRE(static_cast<int64_t>(whole.size()) == count + 1);
      CHECK(whole.front() == 0);
      CHECK(whole.back() == samples);
      for (std::size_t k = 1; k < whole.size(); ++k) {
        const int64_t length = whole[k] - whole[k - 1];
        CHECK((length == samples / count || length == samples / count + 1));
        if (k > 1) CHECK(length <= whole[k - 1] - whole[k - 2]);
      }
      for (int size = 1; size <= count; ++size) {
        std::vector<int64_t> joined{0};
        for (int rank = 0; rank < size; ++rank) {
          const std::vector<int64_t> bounds = shard_bounds(samples, shards, size, rank);
          const auto runs = static_cast<int64_t>(bounds.size()) - 1;
          CHECK(bounds.front() == joined.back());
          CHECK((runs == count / size || (runs == count / size + 1 && rank < count % size)));
          CHECK(shard_range(samples, shards, size, rank) == std::pair(bounds.front(), bounds.back()));
          joined.insert(joined.end(), bounds.begin() + 1, bounds.end());
        }
        CHECK(joined == whole);
      }
    }
}

TEST_CASE("examples of ranges") {
  CHECK(shard_range(100, 8, 3, 0) == std::pair<int64_t, int64_t>(0, 39));
  CHECK(shard_range(100, 8, 3, 1) == std::pair<int64_t, int64_t>(39, 76));
  CHECK(shard_range(100, 8, 3, 2) == std::pair<int64_t, int64_t>(76, 100));
  CHECK(shard_range(3, 8, 3, 2) == std::pair<int64_t, int64_t>(2, 3));
}

TEST_CASE("every process needs a shard") {
  CHECK(error_of([] { shard_range(100, 5, 6, 0); }) ==
        "shard_range: 5 shards are too few for 6 processes; each needs at least one");
  CHECK(error_of([] { shard_range(2, 8, 3, 0); }) ==
        "shard_range: 2 shards are too few for 3 processes; each needs at least one");
  for (const auto& [samples, shards, size, rank] :
       {std::tuple{0, 8, 2, 0}, {10, 0, 2, 0}, {10, 8, 0, 0}, {10, 8, 2, 2}, {10, 8, 2, -1}})
    CHECK(error_of([&, s = samples, v = shards, p = size, r = rank] {
            shard_range(s, v, p, r);
          }).starts_with("shard_range: expected samples, shards and size above 0"));
}
