#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "tandem/tests/strict.h"

static const tandem::test::Strict strict;
