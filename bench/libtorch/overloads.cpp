// Prints the lines of tests/compat/overloads.h.
#include "overloads.h"

int main() { std::fputs(overloads::all_lines().c_str(), stdout); }
