// Runs the ranks of a group as threads of this process.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

inline ProcessGroupOptions with_timeout(int milliseconds) {
  ProcessGroupOptions options;
  options.timeout = Milliseconds(milliseconds);
  return options;
}

/// Calls `body` for every rank of a new group of `size`; returns what the ranks threw ("" where nothing).
inline std::vector<std::string> run_ranks(int size, const std::function<void(ProcessGroup&)>& body,
                                          const ProcessGroupOptions& options = with_timeout(60'000)) {
  const auto store = std::make_shared<HashStore>();
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        const auto group = ProcessGroup::make(store, rank, size, options);
        body(*group);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// Whether ranks of this machine can be connected; reports a skipped test otherwise.
inline bool available() {
  if (is_backend_available("gloo")) return true;
  MESSAGE("skipped: no gloo");
  return false;
}

inline void check_no_errors(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) CHECK(error == "");
}

using GroupPtr = std::shared_ptr<ProcessGroup>;

/// The same with the group as a shared_ptr.
inline std::vector<std::string> errors_on_ranks(int size, const std::function<void(const GroupPtr&)>& body) {
  return run_ranks(size, [&](ProcessGroup& group) { body(group.shared_from_this()); });
}

/// The same, where no rank may throw.
inline void on_ranks(int size, const std::function<void(const GroupPtr&)>& body) {
  const std::vector<std::string> errors = errors_on_ranks(size, body);
  for (int rank = 0; rank < size; ++rank)
    CHECK_MESSAGE(errors[static_cast<std::size_t>(rank)].empty(), "rank ", rank, " of ", size, ": ",
                  errors[static_cast<std::size_t>(rank)]);
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tandem::distributed
