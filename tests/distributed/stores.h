// What the tests of stores share: stores of every kind, threads that act as ranks, and the open descriptors.
#pragma once
#include <doctest/doctest.h>

#include <dirent.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tandem/parallel/distributed/store.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::test {

using namespace tandem::distributed;

/// The stores of `ranks` processes, which share their data.
struct Ranks {
  std::vector<std::shared_ptr<Store>> stores;
  TempFolder folder;
};

inline TCPStoreOptions server_options(const std::string& job_key = "") {
  TCPStoreOptions options;
  options.port = 0;
  options.is_server = true;
  options.job_key = job_key;
  options.timeout = Milliseconds(20'000);
  return options;
}

inline TCPStoreOptions client_options(uint16_t port, const std::string& job_key = "") {
  TCPStoreOptions options = server_options(job_key);
  options.port = port;
  options.is_server = false;
  return options;
}

inline void make_stores(Ranks& ranks, const std::string& kind, int count) {
  const auto hash = std::make_shared<HashStore>();
  std::shared_ptr<TCPStore> server;
  for (int i = 0; i < count; ++i) {
    std::shared_ptr<Store> store = hash;
    if (kind == "file") store = std::make_shared<FileStore>(ranks.folder / "store");
    if (kind == "tcp" || kind == "prefix") {
      const auto tcp =
          std::make_shared<TCPStore>("127.0.0.1", server ? client_options(server->port()) : server_options());
      if (server == nullptr) server = tcp;
      store = tcp;
    }
    if (kind == "prefix") store = std::make_shared<PrefixStore>("some/prefix", store);
    store->set_timeout(Milliseconds(20'000));
    ranks.stores.push_back(store);
  }
}

/// Calls run(rank) on one thread per rank, and rethrows the first exception.
inline void on_threads(int ranks, const std::function<void(int)>& run) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        run(rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

inline int open_descriptors() {
  int count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

/// The message of the DistributedError that `call` throws; "" if it throws nothing.
template <class Call>
std::string failure(const Call& call) {
  try {
    call();
  } catch (const DistributedError& e) {
    return e.what();
  }
  return "";
}

/// The message of the Error that `call` throws, which must not be a DistributedError; "" if it throws nothing.
template <class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const DistributedError& e) {
    FAIL("a DistributedError: " << std::string(e.what()));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("not in the message: " << part << "\n  " << text);
  return found;
}

}  // namespace tandem::test
