// The switch of a mutant, which mutated sources include: whether mutant n has been chosen.
#pragma once

extern "C" const int tandem_mutant;  // does not change after the start of the process
extern "C" bool tandem_mutant_reached(int n);

// Constants that the compiler computes are those of the original.
#define TANDEM_MUTANT(n) \
  (!__builtin_is_constant_evaluated() && (tandem_mutant == (n) || (tandem_mutant < 0 && tandem_mutant_reached(n))))
