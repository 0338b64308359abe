// Loading safetensors, alternately with reading the file as `cat FILE >/dev/null` does.
//
//   bench_files [MB [ROUNDS]]    default: 500 MB of 4 MiB matrices, 10 rounds
//
// Prints the best time of each, and the resident memory that it adds at its peak.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/base/clock.h"
#include "tandem/nn/weights.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

class Matrices : public nn::Module {
 public:
  explicit Matrices(int count) {
    for (int i = 0; i < count; ++i) register_parameter("m" + std::to_string(i), full({1024, 1024}, 1.0 / (i + 1)));
  }
};

// A line "NAME: N kB" of /proc/self/status, in MB of 10^6 bytes.
double status(const std::string& name) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) return std::strtod(line.c_str() + name.size(), nullptr) * 1024 / 1e6;
  return 0;
}

struct Row {
  const char* what;
  std::function<void()> body;
  double seconds = 1e9, memory = 0;
  void measure() {
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak starts here
    const double before = status("VmRSS:"), start = seconds_now();
    body();
    seconds = std::min(seconds, seconds_now() - start);
    memory = std::max(memory, status("VmHWM:") - before);
  }
};

void read_like_cat(const std::string& path) {
  std::vector<char> buffer(128 << 10);
  const int fd = ::open(path.c_str(), O_RDONLY);
  while (::read(fd, buffer.data(), buffer.size()) > 0) {
  }
  ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  const int megabytes = argc > 1 ? std::atoi(argv[1]) : 500, rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  const std::string path = std::filesystem::temp_directory_path() / concat("bench_files.", ::getpid(), ".safetensors");
  const auto module = std::make_shared<Matrices>(std::max(1, megabytes * 10 / 42));
  save(module, path);
  const auto ignoring = [](const std::function<void()>& body) {
    return [body] {
      ::setenv(serialize::kIgnoreSums, "1", 1);
      body();
      ::unsetenv(serialize::kIgnoreSums);
    };
  };
  const auto into_module = [&] { serialize::load_safetensors(*module, path); };
  const auto state_dict = [&] { serialize::load_safetensors(path); };
  Row rows[] = {{"read like cat", [&] { read_like_cat(path); }},
                {"into a module", ignoring(into_module)},
                {"into a module, checksums verified first", into_module},
                {"into a state dict", ignoring(state_dict)},
                {"into a state dict, checksums verified", state_dict}};
  for (int i = 0; i < rounds; ++i)
    for (Row& row : rows) row.measure();
  std::printf("%.1f MB, %d threads\n", static_cast<double>(std::filesystem::file_size(path)) / 1e6, get_num_threads());
  for (const Row& row : rows)
    std::printf("%-40s %6.3f s  %5.2f  %7.1f MB\n", row.what, row.seconds, row.seconds / rows[0].seconds, row.memory);
  std::filesystem::remove(path);
}
