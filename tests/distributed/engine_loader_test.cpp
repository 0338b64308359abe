// Plugins that the loader refuses, and what a group refuses because its engine lacks it. The first argument is the
// folder of the plugins in fake_engines/.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "tandem/parallel/distributed/engine_loader.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"

namespace tandem::distributed {

TEST_CASE("a plugin of another version") {
  CHECK_THROWS_WITH_AS(load_engine("mpi"), doctest::Contains("was built for another version of Tandem"), Error);
  CHECK_FALSE(is_backend_available("mpi"));
}

TEST_CASE("a reduction that the engine lacks is refused on every rank before anything is submitted") {
  ProcessGroupOptions options = with_timeout(20'000);
  options.backend = "nccl";
  const auto errors = run_ranks(
      2,
      [](ProcessGroup& group) {
        const Tensor x = ones({3}, kInt16);
        CHECK_THROWS_WITH_AS(group.all_reduce(x), doctest::Contains("backend nccl has no sum of int16"), Error);
        CHECK_THROWS_WITH_AS(group.reduce(x, 0), doctest::Contains("backend nccl has no sum of int16"), Error);
        CHECK(group.recent_calls().empty());
      },
      options);
  for (const std::string& error : errors) CHECK(error == "");
}

}  // namespace tandem::distributed

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setenv("TANDEM_ENGINES", argv[1], 1);
  return doctest::Context(argc - 1, argv + 1).run();
}
