// Runs scenarios with the Nth call of a kind failing, for N = 1, 2, 3 …, until it is not reached any more:
//
//   nth_failure [SCENARIO…] [--kind KIND] [--nth N] [--samples COUNT] [--messages]
//   nth_failure --list
//
// Each failure must end in success with the same bits, or in an exception with a message. Afterwards nothing is left
// over, files are the old or the new ones, and the scenario, run once more, has the same bits. `--samples`: tests about
// so many calls of each scenario and kind, evenly spread, instead of every one. `--messages`: prints the errors.
// `--list`: prints the names of the scenarios.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tandem/tests/faults/runner.h"
#include "tandem/tests/faults/scenario.h"

namespace {

using namespace tandem::faults;

struct Arguments {
  std::vector<std::string> scenarios;
  std::string kind;
  Choice choice;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--messages") {
      arguments.choice.messages = true;
    } else if (word == "--kind" || word == "--nth" || word == "--samples") {
      if (word == "--kind") arguments.kind = value;
      if (word == "--nth") arguments.choice.nth = std::atoll(value);
      if (word == "--samples") arguments.choice.samples = std::atoll(value);
      ++i;
    } else {
      arguments.scenarios.push_back(word);
    }
  }
  return arguments;
}

bool is_wanted(const Arguments& arguments, const Scenario& scenario, Kind kind) {
  if (!arguments.kind.empty() && arguments.kind != kKindNames[static_cast<int>(kind)]) return false;
  for (const std::string& name : arguments.scenarios)
    if (scenario.name == name) return true;
  return arguments.scenarios.empty();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const Scenario& scenario : scenarios()) std::puts(scenario.name.c_str());
    return 0;
  }
  const Arguments arguments = parse(argc, argv);
  Counts sum;
  for (const Scenario& scenario : scenarios())
    for (const Kind kind : scenario.kinds) {
      if (!is_wanted(arguments, scenario, kind)) continue;
      for (const bool first : {true, false}) {
        const Counts counts = run(scenario, kind, first, arguments.choice);
        sum.passed += counts.passed;
        sum.failed += counts.failed;
      }
    }
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(sum.passed), static_cast<long long>(sum.failed));
  return sum.failed == 0 && sum.passed > 0 ? 0 : 1;
}
