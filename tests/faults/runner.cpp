// The parent never calls the library, so it has one thread and can fork. What a child has found out is in memory that
// both share: a child that crashes or hangs is replaced by one that goes on after the call that failed.
#include "tandem/tests/faults/runner.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "tandem/core/base/sanitizers.h"
#include "tandem/core/error.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/tests/faults/state.h"
#include "tandem/tests/temp_folder.h"

#ifdef TANDEM_ASAN
#include <sanitizer/lsan_interface.h>

// What libzip and protobuf lose when memory runs out while they add an object, and Gloo when it cannot use an address.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libzip.so\nleak:google::protobuf::Arena::CreateMaybeMessage\nleak:google::protobuf::RepeatedPtrField\n"
         "leak:gloo::transport::tcp::CreateDeviceAttr\n";
}
#endif

namespace tandem::faults {
namespace {

constexpr int kPatience = 120;   // seconds for one failure
constexpr int kMaxCrashes = 10;  // of one scenario and kind

#ifdef TANDEM_ASAN
bool leaks() { return __lsan_do_recoverable_leak_check() != 0; }
#else
constexpr bool leaks() { return false; }
#endif

struct Shared {
  std::atomic<int64_t> nth{0};    // the call that fails now; 0 before the first one
  std::atomic<int64_t> steps{0};  // changes with every run of the scenario
  std::atomic<int64_t> calls{0};  // of an undisturbed run; 0 if not known
  std::atomic<bool> done{false};  // no further call is reached
  uint64_t sum = 0;               // of an undisturbed run
  Counts counts;
  char text[1 << 20] = {};
  void say(const std::string& line) {
    const std::size_t length = std::strlen(text);
    std::snprintf(text + length, sizeof text - length, "%s\n", line.c_str());
  }
  void say_once(const std::string& error) {
    if (!error.empty() && std::strstr(text, ("  " + error + '\n').c_str()) == nullptr) say("  " + error);
  }
};

struct Test {
  const Scenario& scenario;
  Kind kind;
  bool cold;
  const Choice& choice;
  std::string folder;
  Shared& shared;
  Files before{};  // in the folder, before each run

  std::string command(int64_t nth) const {
    return concat("nth_failure ", scenario.name, " --kind ", kKindNames[static_cast<int>(kind)], " --nth ", nth);
  }
  void failed(const std::string& why) const {
    ++shared.counts.failed;
    shared.say(concat("FAILED: ", why, "\n  ", command(shared.nth), cold ? " (new process)" : ""));
  }
};

struct Result {
  std::string error;  // "" if there was none
  bool allowed = true;
  uint64_t sum = 0;
  Outcome outcome{};
};

// In a child.
class Child {
 public:
  explicit Child(const Test& test) : test_(test) {}

  void prepare() { test_.scenario.prepare(test_.folder); }

  // Calls `first` and every `stride`th after it, until one is not reached.
  void warm(int64_t first, int64_t stride) {
    learn();
    for (int64_t nth = first; !test_.shared.done; nth += stride) {
      if (!one(nth) || test_.choice.nth != 0) test_.shared.done = true;
    }
  }
  // The first run of the process.
  void cold(int64_t nth) { one(nth); }
  // Runs without failure, for the result and the number of calls.
  void learn() {
    Result result;
    for (int i = 0; i < 3; ++i) {
      put_files(test_.folder, test_.before);
      result = run(0);
      if (!result.error.empty()) return test_.failed("without a failing call: " + result.error);
      if (i == 0) test_.shared.sum = result.sum;
      if (i == 0 && test_.cold) break;
      if (result.sum != test_.shared.sum) return test_.failed("two runs without a failing call differ");
    }
    test_.shared.calls = result.outcome.calls;
    state_ = current_state();
    known_ = true;
  }

 private:
  Result run(int64_t nth) {
    ++test_.shared.steps;
    if (test_.kind == Kind::kMap) cpu::empty_cache();
    Result result;
    Sum sum;
    arm(test_.kind, nth);
    try {
      test_.scenario.run(test_.folder, sum);
      result.outcome = disarm();
      for (const auto& [name, content] : files_in(test_.folder)) sum.add(name + ' ' + content);
      result.sum = sum.value();
      return result;
    } catch (const Error& error) {
      result.outcome = disarm();
      result.error = error.what();
    } catch (const std::bad_alloc& error) {
      result.outcome = disarm();
      result.error = error.what();
    } catch (const std::system_error& error) {
      result.outcome = disarm();
      result.error = error.what();
    } catch (const std::exception& error) {
      result.outcome = disarm();
      result.error = concat("a wrong type of exception: ", error.what());
      result.allowed = false;
    }
    return result;
  }

  // Returns false if there are not so many calls.
  bool one(int64_t nth) {
    test_.shared.nth = nth;
    put_files(test_.folder, test_.before);
    const State state = current_state();
    const Result result = run(nth);
    if (!result.outcome.fired) return false;
    std::string fault = fault_of(result, state);
    const bool lost = leaks();
    if (lost && fault.empty()) fault = concat("after \"", result.error, "\": memory is lost");
    if (!fault.empty()) {
      test_.failed(fault);
    } else {
      ++test_.shared.counts.passed;
      if (test_.choice.messages) test_.shared.say_once(result.error);
    }
    if (lost) std::_Exit(0);   // what is lost would be found again after each later run
    state_ = current_state();  // what is left is left once, and the sanitizer may have started its symbolizer
    return true;
  }

  std::string fault_of(const Result& result, const State& state) {
    if (!result.allowed) return result.error;
    if (result.error.empty() && result.sum != test_.shared.sum) return "no error, but other results";
    if (!result.error.empty() && is_harmless(test_.kind)) return "an error: " + result.error;
    const std::string kept = known_ ? kept_after(result, state) : "";
    const Files left = files_in(test_.folder);
    if (!kept.empty()) return concat("after \"", result.error, "\": ", kept);
    put_files(test_.folder, test_.before);
    const Result next = run(0);
    if (!next.error.empty()) return concat("after \"", result.error, "\", the next run fails: ", next.error);
    if (next.sum != test_.shared.sum) return concat("after \"", result.error, "\", the next run has other results");
    std::string fault = stray_file(left, test_.before, files_in(test_.folder), test_.scenario.appends);
    if (fault.empty() && known_) fault = difference_from(state_, true);
    return fault.empty() ? "" : concat("after \"", result.error, "\": ", fault);
  }

  std::string kept_after(const Result& result, State state) {
    const std::string kept = difference_from(state, false), &leaves_open = test_.scenario.leaves_open;
    if (kept.empty() || leaves_open.empty() || result.error.find(leaves_open) == std::string::npos) return kept;
    const int more = current_state().files - state.files;
    state.files += more;
    state_.files += more;
    return difference_from(state, false);
  }

  const Test& test_;
  State state_;
  bool known_ = false;  // what a run leaves
};

// Waits for a child; returns how it ended, "" if well.
std::string wait_for(pid_t child, const Shared& shared) {
  int64_t steps = -1;
  for (int waited = 0, status = 0;; waited += 1) {
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) return concat("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
      return WEXITSTATUS(status) == 0 ? "" : concat("exit code ", WEXITSTATUS(status));
    }
    if (shared.steps != steps) waited = 0;
    steps = shared.steps;
    if (waited > kPatience * 1000) {
      kill(child, SIGABRT);
      waitpid(child, &status, 0);
      return concat("it has not ended after ", kPatience, " seconds");
    }
    usleep(1000);
  }
}

// Runs `body` in a child; counts a crash as a failure.
template <class Body>
void in_child(const Test& test, Body body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    {
      Child of_test(test);
      body(of_test);
    }
    std::exit(0);
  }
  const std::string end = wait_for(child, test.shared);
  if (!end.empty()) test.failed(end);
}

int64_t stride_of(const Test& test) {
  if (test.choice.nth != 0 || test.choice.samples == 0) return 1;
  const int64_t samples = std::max<int64_t>(1, test.choice.samples / test.scenario.weight);
  return std::max<int64_t>(1, (test.shared.calls + samples - 1) / samples);
}

// The first call that fails: of a sample, one in the middle of a stride, because what the first calls do is much alike.
int64_t first_of(const Test& test, int64_t stride) { return test.choice.nth != 0 ? test.choice.nth : (stride + 1) / 2; }

void run_cold(const Test& test, int64_t stride) {
  const int64_t first = first_of(test, stride);
  const int64_t last = test.choice.nth != 0 ? test.choice.nth : test.shared.calls.load();
  for (int64_t nth = first, failed = 0; nth <= last && failed < kMaxCrashes; nth += stride) {
    const int64_t before = test.shared.counts.failed;
    in_child(test, [nth](Child& child) { child.cold(nth); });
    failed += test.shared.counts.failed - before;
  }
}

void run_warm(const Test& test, int64_t stride) {
  int64_t next = first_of(test, stride);
  for (int crashes = 0; !test.shared.done && crashes < kMaxCrashes; ++crashes) {
    test.shared.nth = 0;
    in_child(test, [next, stride](Child& child) { child.warm(next, stride); });
    next = test.shared.nth + stride;
    if (test.choice.nth != 0 || test.shared.nth == 0) return;
  }
}

}  // namespace

Counts run(const Scenario& scenario, Kind kind, bool cold, const Choice& choice) {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED, "cannot get shared memory");
  auto& shared = *new (memory) Shared;
  const test::TempFolder folder;
  Test test{scenario, kind, cold, choice, folder.path(), shared};
  in_child(test, [](Child& child) { child.prepare(); });
  test.before = files_in(folder.path());
  in_child(test, [](Child& child) { child.learn(); });
  if (shared.calls > 0 && shared.counts.failed == 0) {
    const int64_t stride = stride_of(test);
    cold ? run_cold(test, stride) : run_warm(test, stride);
    std::printf("%s, %s, %s: %lld calls, %s: %lld passed, %lld failed\n", scenario.name.c_str(),
                kKindNames[static_cast<int>(kind)], cold ? "first run" : "later run",
                static_cast<long long>(shared.calls),
                choice.nth != 0 ? concat("number ", choice.nth).c_str() : concat("one in ", stride).c_str(),
                static_cast<long long>(shared.counts.passed), static_cast<long long>(shared.counts.failed));
  }
  std::fputs(shared.text, stdout);
  const Counts counts = shared.counts;
  ::munmap(memory, sizeof(Shared));
  return counts;
}

}  // namespace tandem::faults
