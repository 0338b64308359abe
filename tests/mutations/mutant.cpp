// Part of each mutated library: TANDEM_MUTANT is the number of the mutant that runs. If it is negative, the original
// runs, and the numbers of the mutants that it reached are added to the file TANDEM_MUTANTS_REACHED.
#include <cstdio>
#include <cstdlib>

extern "C" {
int tandem_mutant = 0;
bool tandem_mutant_reached(int n);
}

namespace {

unsigned char reached[1 << 14];

// Before other initialisers, which may call mutated functions.
__attribute__((constructor(101))) void choose() {
  if (const char* chosen = std::getenv("TANDEM_MUTANT")) tandem_mutant = std::atoi(chosen);
}

__attribute__((destructor)) void save() {
  const char* path = std::getenv("TANDEM_MUTANTS_REACHED");
  std::FILE* file = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (file == nullptr) return;
  for (int n = 0; n < static_cast<int>(sizeof reached); ++n)
    if (reached[n] != 0) std::fprintf(file, "%d\n", n);
  std::fclose(file);
}

}  // namespace

bool tandem_mutant_reached(int n) {
  reached[n] = 1;
  return false;
}
