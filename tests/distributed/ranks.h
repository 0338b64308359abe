// Ranks that are threads of the test, connected by Gloo.
#pragma once
#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tandem/parallel/distributed/process_group.h"

namespace tandem::testing {

using distributed::ProcessGroup;
using GroupPtr = std::shared_ptr<ProcessGroup>;

/// Runs f(group) on `size` ranks and returns the message of the exception of each; empty where there was none.
template <class F>
std::vector<std::string> errors_on_ranks(int size, F f, distributed::ProcessGroupOptions options = {}) {
  if (options.timeout == distributed::ProcessGroupOptions{}.timeout)
    options.timeout = distributed::Milliseconds(20'000);
  const auto store = std::make_shared<distributed::HashStore>();
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        const GroupPtr group = ProcessGroup::make(store, rank, size, options);
        f(group);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// The same, where no rank may throw.
template <class F>
void on_ranks(int size, F f) {
  const auto errors = errors_on_ranks(size, f);
  for (int rank = 0; rank < size; ++rank)
    CHECK_MESSAGE(errors[static_cast<std::size_t>(rank)].empty(), "rank ", rank, " of ", size, ": ",
                  errors[static_cast<std::size_t>(rank)]);
}

}  // namespace tandem::testing
