// libFuzzer's entry point, or a program that replays a folder of broken files, each of which must be refused.
#include "tandem/tests/fuzz/fuzz.h"

#ifdef TANDEM_FUZZ

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  tandem::fuzz::accepts(data, size);
  return 0;
}

#else

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

// What is wrong; empty if the file is refused, as it must be.
std::string complaint(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  try {
    return tandem::fuzz::accepts(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) ? "was accepted" : "";
  } catch (const std::exception& e) {
    return std::string("was refused with an exception other than tandem::Error: ") + e.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int passed = 0, failed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    const std::string text = complaint(entry.path());
    text.empty() ? ++passed : ++failed;
    if (!text.empty()) std::printf("%s %s\n", entry.path().c_str(), text.c_str());
  }
  if (passed + failed == 0) std::printf("no files in %s\n", argv[1]), ++failed;
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

#endif
