// One reader of untrusted bytes a file: idx.cpp defines `accepts` for IDX, and so on. main.cpp runs it either
// under libFuzzer (-Dfuzz=true) or, as a test of every build, over the broken files in corpus/NAME.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::fuzz {

/// Reads `size` bytes: true when they were a valid file, false when tandem::Error refused them. Nothing else
/// may happen: any other exception, a crash or a sanitizer's report is a find.
bool accepts(const uint8_t* data, std::size_t size);

}  // namespace tandem::fuzz
