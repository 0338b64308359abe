// overloads_main [EXPECTED]: prints the lines of overloads.h, or compares them with LibTorch's lines in a
// file. Where LibTorch throws or does not compile, any result is accepted.
#include <fstream>
#include <iostream>

#include "overloads.h"

namespace {

std::vector<std::string> split(std::istream& in) {
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

bool refused(const std::string& line) { return line.ends_with("->  throws") || line.ends_with("->  does not compile"); }

int compare(const std::vector<std::string>& own, const std::vector<std::string>& expected) {
  std::size_t failed = own.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(own.size(), expected.size()); ++i) {
    if (own[i] == expected[i] || refused(expected[i])) continue;
    std::cout << "expected  " << expected[i] << "\ngot       " << own[i] << "\n";
    ++failed;
  }
  std::cout << std::min(own.size(), expected.size()) - failed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  torch::manual_seed(0);
  overloads::Lines lines;
  overloads::add_reductions(lines);
  overloads::add_shapes(lines);
  overloads::add_others(lines);
  overloads::add_modules(lines);
  overloads::add_samplers(lines);
  if (argc == 1) {
    std::cout << lines.text();
    return 0;
  }
  std::ifstream file(argv[1]);
  std::istringstream own(lines.text());
  return compare(split(own), split(file));
}
