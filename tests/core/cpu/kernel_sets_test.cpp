// Which kernels the CPU backend uses, which it lacks, and that the sets of a build agree.
#include "tandem/core/cpu/kernel_sets.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "tandem/core/backend/attention.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/tandem.h"

using namespace tandem;

TEST_CASE("kernel sets: one is chosen, as TANDEM_CPU names it") {
  int chosen = 0;
  const char* named = std::getenv("TANDEM_CPU");
  for (const cpu::KernelSet& set : cpu::kernel_sets()) {
    if (!set.chosen) continue;
    ++chosen;
    CHECK(set.missing == "");
    if (named != nullptr && *named != '\0') CHECK(set.name == named);
  }
  CHECK(chosen == 1);
}

TEST_CASE("kernel sets: the chosen set and the library's own compute the same") {
  // Different sets add in different orders, so sums agree up to rounding only.
  const Tensor a = randn({67, 131}), b = randn({131, 45});
  const Tensor own = empty({67, 45}), chosen = empty({67, 45});
  cpu::kernels.linalg.matmul(own, a, b, 0, 1);
  cpu_backend().linalg.matmul(chosen, a, b, 0, 1);
  CHECK(allclose(own, mm(a.to(kDouble), b.to(kDouble)).to(kFloat), 1e-4, 1e-4));
  CHECK(allclose(own, chosen, 1e-4, 1e-4));
}

TEST_CASE("a table can leave out optional kernels only") {
  using Required = Kernel<"probe", int(int)>;
  using Optional = OptionalKernel<"probe", int(int)>;
  static_assert(!std::is_default_constructible_v<Required> && !std::is_constructible_v<Optional, std::nullptr_t>);
  static_assert(sizeof(Optional) == sizeof(Required));
  constexpr Optional absent, present = +[](int x) { return x + 1; };
  CHECK(!absent);
  REQUIRE(present);
  CHECK(present(1) == 2);
  CHECK(cpu_backend().attention.forward);
  CHECK(!cpu_backend().copy.copy_all);
}
