// Options with one value, which their constructor takes.
#pragma once
#include "tandem/core/arg.h"

/// struct Name with the option `name` of type T; Default is its value, such as `= 1`, or missing.
#define TANDEM_OPTION(Name, T, name, Default) \
  struct Name {                               \
    Name(T name Default) : name##_(name) {}   \
    TANDEM_ARG(T, name);                      \
  }
