// A user's program outside the source tree, using only the installed headers and library.
#include <tandem/core/error.h>

#include <cstdio>

int main() {
  try {
    tandem::fail("shape ", 3);
  } catch (const tandem::Error& e) {
    std::puts(e.what());
  }
}
