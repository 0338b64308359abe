// Part of each mutated library: TANDEM_MUTANT is the number of the mutant that runs. If it is negative, the original
// runs, and the numbers of the mutants that it reaches are added to the file TANDEM_MUTANTS_REACHED: at once, because a
// process may end without its destructors.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

extern "C" {
int tandem_mutant = 0;
bool tandem_mutant_reached(int n);
}

namespace {

unsigned char reached[1 << 14];
char path[4096];  // a test may change the environment

// Before other initialisers, which may call mutated functions; 101 is processor_check.cpp's.
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
__attribute__((constructor(100))) void choose() {
  if (const char* chosen = std::getenv("TANDEM_MUTANT")) tandem_mutant = std::atoi(chosen);
  if (const char* file = std::getenv("TANDEM_MUTANTS_REACHED")) std::snprintf(path, sizeof path, "%s", file);
}

}  // namespace

bool tandem_mutant_reached(int n) {
  if (reached[n] != 0 || path[0] == 0) return false;
  const int error = errno, file = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file >= 0) {
    char line[16];
    const int size = std::snprintf(line, sizeof line, "%d\n", n);
    reached[n] = ::write(file, line, static_cast<size_t>(size)) == size;
    ::close(file);
  }
  errno = error;
  return false;
}
