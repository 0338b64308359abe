#include "tandem/tests/simulation/plan.h"

#include "tandem/core/error.h"

namespace tandem::simulation {

namespace {

Fault draw_fault(Random& random, const Scenario& scenario, const std::vector<int64_t>& calls) {
  Fault fault;
  const Time timeout = scenario.timeout.count() * kMillisecond;
  fault.kind = static_cast<Fault::Kind>(random.between(Fault::kCrash, Fault::kOtherCall));
  fault.rank = static_cast<int>(random.below(calls.size()));
  fault.other = static_cast<int>(random.below(calls.size()));
  if (fault.other == fault.rank) fault.other = (fault.rank + 1) % scenario.size;
  const bool by_step = fault.kind >= Fault::kAbort;
  const int64_t last = by_step ? scenario.steps() - 1 : calls[static_cast<std::size_t>(fault.rank)];
  fault.at = random.between(by_step ? 0 : 1, std::max<int64_t>(1, last));
  if (by_step) fault.at = std::min(fault.at, last);
  switch (fault.kind) {
    case Fault::kStall:
      fault.length = random.one_in(2) ? random.between(0, timeout / 4) : random.between(timeout / 4, 4 * timeout);
      break;
    case Fault::kClockJumps:
      fault.length = random.between(-100'000, 100'000) * kSecond;
      break;
    default:
      fault.length = random.between(0, 3 * timeout);
  }
  return fault;
}

}  // namespace

Plan draw_plan(uint64_t seed, const Scenario& scenario, const std::vector<int64_t>& calls) {
  Random random(seed, 4);
  Plan plan;
  constexpr uint32_t kPreempt[] = {0, 5, 30, 200};
  plan.preempt_every = kPreempt[random.below(4)];
  if (!random.one_in(4)) {
    // Finding out why a group has failed takes some ten answers of the store, within 1.9 s.
    plan.conditions.longest = random.one_in(2) ? 10 * kMillisecond : 100 * kMicrosecond;
    plan.conditions.shortest = random.one_in(2) ? 0 : plan.conditions.longest / 2;
    plan.conditions.slow_one_in = random.one_in(2) ? 0 : static_cast<uint32_t>(random.between(20, 100));
    plan.conditions.slow = 30 * kMillisecond;
  }
  plan.conditions.eager = random.one_in(3);
  if (random.one_in(3)) plan.store_host = 0;
  for (int chance = 2; scenario.size > 1 && chance < 6 && random.below(6) >= static_cast<uint64_t>(chance); chance += 2)
    plan.faults.push_back(draw_fault(random, scenario, calls));
  return plan;
}

bool is_harmless(const Fault& fault, Milliseconds timeout) {
  return fault.kind == Fault::kClockJumps ||
         (fault.kind == Fault::kStall && fault.length <= timeout.count() * kMillisecond / 4);
}

std::string Plan::text() const {
  std::string out = concat(", preempt ", preempt_every, conditions.eager ? ", eager" : "", ", delay ",
                           conditions.longest / kMicrosecond, " us, store on ", store_host);
  for (const Fault& fault : faults)
    out += concat(", ", name(fault.kind), " of rank ", fault.rank, " (other ", fault.other, ") at ", fault.at, " for ",
                  fault.length / kMillisecond, " ms");
  return out;
}

}  // namespace tandem::simulation
