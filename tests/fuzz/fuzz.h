// Each source file covers one reader of untrusted bytes: idx.cpp defines `accepts` for IDX, and so on. main.cpp
// runs it under libFuzzer (-Dfuzz=true) or, as a test in every build, on the broken files in corpus/NAME.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::fuzz {

/// Reads `size` bytes: true if they are a valid file, false if the reader throws tandem::Error. Anything else (another
/// exception, a crash, a sanitizer report) is a finding.
bool accepts(const uint8_t* data, std::size_t size);

}  // namespace tandem::fuzz
