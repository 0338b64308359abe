#include "tandem/tests/simulation/judge.h"

#include <algorithm>
#include <regex>

#include "tandem/tests/simulation/plan.h"

namespace tandem::simulation {

std::set<int> named_ranks(const std::string& whole, const std::vector<int>& members) {
  std::set<int> out;
  // Those that wait are not named as the cause.
  static const std::regex waiting(R"(; ranks? \d[-, \d]* waits? )");
  const std::string message = std::regex_replace(whole, waiting, "; ");
  // "rank 3", "ranks 0-2, 5"; the engine's "peer 1"; the key in the store under which rank 2 should be.
  static const std::regex lists(R"((?:ranks?|peer) (\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*)|engine/(\d+)')");
  static const std::regex ranges(R"((\d+)(?:-(\d+))?)");
  for (std::sregex_iterator list(message.begin(), message.end(), lists), end; list != end; ++list) {
    const std::string numbers = (*list)[1].matched ? (*list)[1] : (*list)[2];
    for (std::sregex_iterator range(numbers.begin(), numbers.end(), ranges); range != end; ++range) {
      const int first = std::stoi((*range)[1]), last = (*range)[2].matched ? std::stoi((*range)[2]) : first;
      for (int k = first; k <= last && k < static_cast<int>(members.size()); ++k)
        out.insert(members[static_cast<std::size_t>(k)]);
    }
  }
  return out;
}

std::string Judge::compare(int rank, const Outcome& outcome) const {
  const auto& expected = reference_[static_cast<std::size_t>(rank)].digests;
  for (const auto& [place, hash] : outcome.digests) {
    const auto found = expected.find(place);
    if (found == expected.end() || found->second != hash)
      return concat("rank ", rank, ": the result at place ", place, " has other bits than without disturbance");
  }
  if (outcome.end == Outcome::kDone && !expected.empty() && !outcome.digests.contains(expected.rbegin()->first))
    return concat("rank ", rank, " has no result at its end");
  return "";
}

// What the faults of an attempt explain.
Judge::Causes Judge::causes(const World& world, Time began) const {
  Causes out;
  std::set<int> stalled;
  for (const Fault& fault : world.faults) {
    if (fault.fired < began) continue;
    if (is_harmless(fault, scenario_.timeout)) {
      if (fault.kind == Fault::kStall) stalled.insert(fault.rank);
      continue;
    }
    const bool of_store = fault.kind == Fault::kStoreFails || fault.kind == Fault::kStoreSilent;
    if (!of_store) out.guilty.insert(fault.rank);
    if (fault.kind == Fault::kReset || fault.kind == Fault::kSilence) out.guilty.insert(fault.other);
    // Whoever makes a group then is late everywhere else.
    for (int k = 0; fault.kind == Fault::kStoreSilent && k < scenario_.size; ++k) out.guilty.insert(k);
    // Who stalls while it asks the store why takes it for dead.
    if (of_store || fault.rank == world.store_host || fault.kind == Fault::kStall) out.texts.push_back("store");
    // Who comes while the others find out why is late. abort() takes up to 2.5 s.
    if (fault.kind != Fault::kReset && fault.kind != Fault::kCrash) out.texts.push_back("network is too slow");
    if (fault.kind == Fault::kStall) out.texts.push_back(" waits in ");  // for a message
    if (fault.kind == Fault::kReset || fault.kind == Fault::kStall) out.texts.push_back("cannot connect to the others");
    // Who cannot say in the store that it leaves, or why it fails, ends without a word.
    if (fault.kind == Fault::kStoreFails) out.texts.push_back("ended without a word");
    out.all_failed = out.all_failed || fault.kind == Fault::kStoreFails;
    if (fault.kind == Fault::kOtherCall) out.strays.insert(fault.rank);
    out.fired = std::max(out.fired, fault.fired + (fault.kind == Fault::kStall ? fault.length : 0));
  }
  // A short stall does no harm alone, but others find out why something else failed in a shorter time.
  if (out.fired >= 0) out.guilty.insert(stalled.begin(), stalled.end());
  if (out.fired >= 0 && !stalled.empty()) out.texts.push_back("store");
  return out;
}

std::string Judge::check_failure(const std::vector<Outcome>& outcomes, int rank, const World& world, Time began) const {
  const Outcome& own = outcomes[static_cast<std::size_t>(rank)];
  const auto complain = [&](const std::string& what) { return concat("rank ", rank, " ", what, ": ", own.error); };
  if (own.end == Outcome::kWrong) return complain("threw what is not a DistributedError");
  Causes all = causes(world, began);
  if (all.fired < 0) return complain("failed without a fault");
  // A process whose group has failed leaves its other groups, and one that waits in one group does not reach a call of
  // another; their members then name that one.
  for (std::size_t k = 0; k < outcomes.size(); ++k)
    if (outcomes[k].end != Outcome::kDone && static_cast<int>(k) != rank &&
        (all.all_failed || outcomes[k].ended <= own.ended || outcomes[k].group != own.group))
      all.guilty.insert(static_cast<int>(k));
  const std::set<int> named = named_ranks(own.error, own.members);
  const bool names = std::any_of(named.begin(), named.end(), [&](int k) { return all.guilty.contains(k); });
  const bool explains = std::any_of(all.texts.begin(), all.texts.end(),
                                    [&](const char* text) { return own.error.find(text) != std::string::npos; });
  if (!names && !explains && !all.strays.contains(rank)) return complain("does not name who is at fault");
  // The call that waits for the fault ends after the timeout, and so does a call of another group that waits for a
  // process in the first; agreeing on a message takes up to 2.5 s, and ending the groups 2 s each.
  // While a group is made, two calls of the store may each take 10 s in vain.
  const Time limit = all.fired + 2 * scenario_.timeout.count() * kMillisecond + 30 * kSecond;
  if (own.ended > limit)
    return complain(concat("failed ", (own.ended - all.fired) / kMillisecond, " ms after the fault"));
  return "";
}

std::string Judge::verdict(const std::vector<Outcome>& outcomes, const World& world, Time began) const {
  for (int rank = 0; rank < scenario_.size; ++rank) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    std::string wrong = compare(rank, outcome);
    const bool failed = outcome.end == Outcome::kFailed || outcome.end == Outcome::kWrong;
    if (wrong.empty() && failed) wrong = check_failure(outcomes, rank, world, began);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace tandem::simulation
