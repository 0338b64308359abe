// Headers as strings, written by cuda/fusion/embed.py, in pieces up to a null: compilers need not accept long literals.
#pragma once
#include <string>

namespace tandem::cuda_impl {

extern const char* const kStandardHeaders[];  ///< for a compiler that has no standard library
extern const char* const kLoopHeaders[];
extern const char* const kCoreHeaders[];  ///< more, after kLoopHeaders
extern const char* const kAllIncludes[];  ///< lines that include both of these

inline std::string joined(const char* const* pieces) {
  std::string text;
  for (; *pieces != nullptr; ++pieces) text += *pieces;
  return text;
}

}  // namespace tandem::cuda_impl
