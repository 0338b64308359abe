// Compiled once per test program with many sources that include all of Tandem.
#include "tandem/tandem.h"
#include "tandem/testing.h"
