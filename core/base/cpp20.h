// Stops compilers that were not told to compile C++20. They report this one line: a missing header ends a compilation,
// whereas thousands of errors would follow #error.
#pragma once
#if __cplusplus <= 201703L
// clang-format off
#include <Tandem needs C++20: compile with -std=c++20 (CMake: set(CMAKE_CXX_STANDARD 20) or target_compile_features(TARGET PRIVATE cxx_std_20); Meson: default_options: ['cpp_std=c++20'])>
// clang-format on
#endif
