// Decides whether what came out of an attempt is what must, or may, come out.
//
// - Every result that a process has is bit for bit that of an undisturbed run.
// - Without a fault, or with a harmless one, every process finishes.
// - Otherwise a process may fail, but with a DistributedError that names a process at fault, and in time.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tandem/tests/simulation/scenario.h"

namespace tandem::simulation {

class Judge {
 public:
  Judge(const Scenario& scenario, const std::vector<Outcome>& reference) : scenario_(scenario), reference_(reference) {}
  /// Empty, or what is wrong. The attempt began at `began`.
  std::string verdict(const std::vector<Outcome>& outcomes, const World& world, Time began) const;

 private:
  struct Causes {
    std::set<int> guilty;            ///< a message must name one of these,
    std::vector<const char*> texts;  ///< or contain one of these,
    std::set<int> strays;            ///< unless it is that of a process which has made another call
    bool all_failed = false;         ///< all that have failed are guilty
    Time fired = -1;                 ///< the last of them; negative without any
  };
  Causes causes(const World& world, Time began) const;
  std::string compare(int rank, const Outcome& outcome) const;
  std::string check_failure(const std::vector<Outcome>& outcomes, int rank, const World& world, Time began) const;

  const Scenario& scenario_;
  const std::vector<Outcome>& reference_;
};

/// The ranks that a message of a group of these members names, as ranks of the job; not those that are said to wait.
std::set<int> named_ranks(const std::string& message, const std::vector<int>& members);

}  // namespace tandem::simulation
