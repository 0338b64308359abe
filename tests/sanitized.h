// Whether a sanitizer slows down the tests. Those that try many inputs then try fewer.
#pragma once
#include "tandem/core/base/sanitizers.h"

namespace tandem::test {

#if defined(TANDEM_ASAN) || defined(TANDEM_TSAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How many of `all` random inputs a test tries: a third with a sanitizer.
constexpr int rounds(int all) { return kSanitized ? (all + 2) / 3 : all; }

}  // namespace tandem::test
