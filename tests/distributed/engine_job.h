// One rank of a job that tests an engine by itself, and where the ranks meet.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tandem/parallel/distributed/engine.h"

namespace engine_test {

using namespace tandem;
using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A file per key.
class FolderStore final : public EngineStore {
 public:
  explicit FolderStore(std::string folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }
  void set(const std::string& key, std::string_view value) override {
    const std::string path = path_of(key), part = path + ".part" + std::to_string(getpid());
    std::ofstream(part, std::ios::binary) << value;
    std::filesystem::rename(part, path);
  }
  std::string get(const std::string& key, milliseconds timeout) override {
    const auto end = steady_clock::now() + timeout;
    while (steady_clock::now() < end) {
      if (std::ifstream in(path_of(key), std::ios::binary); in) {
        std::ostringstream out;
        out << in.rdbuf();
        return out.str();
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
    throw std::runtime_error("store: key " + key + " did not appear");
  }

 private:
  std::string path_of(std::string key) const {
    std::replace(key.begin(), key.end(), '/', '_');
    return folder_ + "/" + key;
  }
  const std::string folder_;
};

using EnginePtr = std::unique_ptr<Engine>;

struct Job {
  const EnginePlugin* plugin;
  std::string folder;
  int rank, size;
  int passed = 0, failed = 0;
  std::string failures = {};
  uint32_t tag = 0;

  void check(bool good, const std::string& what) {
    ++(good ? passed : failed);
    if (!good) failures += "rank " + std::to_string(rank) + ": " + what + "\n";
  }
  /// An engine of the ranks given, or null if this rank is not among them.
  EnginePtr make(const std::string& name, const std::vector<int>& ranks) {
    const auto at = std::find(ranks.begin(), ranks.end(), rank);
    if (at == ranks.end()) return nullptr;
    FolderStore store(folder + "/store-" + name);
    EngineOptions options;
    options.rank = static_cast<int>(at - ranks.begin());
    options.size = static_cast<int>(ranks.size());
    options.store = &store;
    options.interface = "127.0.0.1";
    return EnginePtr(plugin->make(options));
  }
  EnginePtr make(const std::string& name) {
    std::vector<int> all;
    for (int i = 0; i < size; ++i) all.push_back(i);
    return make(name, all);
  }
  CallOptions next(milliseconds timeout = milliseconds(30'000)) { return {++tag, timeout, nullptr}; }
  /// Runs `call`, which must throw; returns the message, and checks how long it took.
  std::string must_throw(const std::string& what, milliseconds least, milliseconds most,
                         const std::function<void()>& call) {
    const auto start = steady_clock::now();
    std::string message;
    try {
      call();
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
    check(!message.empty(), what + " must throw");
    check(took >= least && took <= most, what + " took " + std::to_string(took.count()) + " ms");
    return message;
  }
};

/// Checks every operation with every dtype on one engine.
void collectives(Job& job);

}  // namespace engine_test
