// The store of a simulated job, as one process sees it: a HashStore behind a network.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/parallel/distributed/store.h"
#include "tandem/tests/simulation/world.h"

namespace tandem::simulation {

// The store's own work: it goes on while the process that asks stalls, which may not keep the store's locks.
class OnServer {
 public:
  explicit OnServer(World& world) : world_(world), asking_(world.machine()) { world_.scheduler.enter(nullptr); }
  ~OnServer() { world_.scheduler.enter(&asking_); }
  OnServer(const OnServer&) = delete;
  OnServer& operator=(const OnServer&) = delete;

 private:
  World& world_;
  Machine& asking_;
};

class SimulatedStore final : public distributed::Store {
  // The question and the answer travel, and either may fail.
  template <class Question>
  auto ask(const char* what, const std::string& key, const Question& question) {
    world_.call();
    travel(what, key);
    if constexpr (std::is_void_v<decltype(question())>) {
      {
        const OnServer there(world_);
        question();
      }
      travel(what, key);
    } else {
      auto answer = [&] {
        const OnServer there(world_);
        return question();
      }();
      travel(what, key);
      return answer;
    }
  }

 public:
  using Milliseconds = std::chrono::milliseconds;
  SimulatedStore(World& world, std::shared_ptr<distributed::HashStore> data) : world_(world), data_(std::move(data)) {}
  void set(const std::string& key, std::string_view value) override {
    ask("set", key, [&] { data_->set(key, value); });
  }
  using Store::get;
  std::string get(const std::string& key, Milliseconds timeout) override {
    return ask("get", key, [&] { return data_->get(key, timeout); });
  }
  int64_t add(const std::string& key, int64_t amount) override {
    return ask("add", key, [&] { return data_->add(key, amount); });
  }
  bool check(const std::vector<std::string>& keys) override {
    return ask("check", keys.empty() ? "" : keys[0], [&] { return data_->check(keys); });
  }
  std::string compare_set(const std::string& key, std::string_view expected, std::string_view desired) override {
    return ask("compare_set", key, [&] { return data_->compare_set(key, expected, desired); });
  }
  bool delete_key(const std::string& key) override {
    return ask("delete_key", key, [&] { return data_->delete_key(key); });
  }

 private:
  void travel(const char* what, const std::string& key);

  World& world_;
  const std::shared_ptr<distributed::HashStore> data_;
};

}  // namespace tandem::simulation
