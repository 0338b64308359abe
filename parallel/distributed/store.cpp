// What all stores share, and those without a file or a connection.
#include "tandem/parallel/distributed/store.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/deadline.h"
#include "tandem/parallel/distributed/key_values.h"

namespace tandem::distributed {

Store::~Store() = default;

void Store::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  detail::check_keys("Store::wait", keys);
  const detail::Deadline deadline(timeout);
  detail::Backoff backoff;
  for (const std::string& key : keys)
    while (!check({key})) {
      if (deadline.over()) detail::fail_waiting("Store::wait", key, timeout.count());
      backoff.sleep(deadline);
    }
}

struct HashStore::State {
  std::unique_lock<std::mutex> lock() {
    detail::check_not_forked(process, "HashStore");
    return std::unique_lock(mutex);
  }
  // Waits with the lock held; false if the time is over.
  template <class Ready>
  bool wait(std::unique_lock<std::mutex>& held, Milliseconds timeout, const Ready& ready) {
    return changed.wait_until(held, detail::Deadline(timeout).at(), ready);
  }
  void set(std::string_view key, std::string_view value) {
    values.set(key, value);
    changed.notify_all();
  }
  const uint32_t process = tandem::detail::this_process();
  std::mutex mutex;
  std::condition_variable changed;
  detail::KeyValues values;
};

HashStore::HashStore() : state_(std::make_unique<State>()) {}
HashStore::~HashStore() = default;

void HashStore::set(const std::string& key, std::string_view value) {
  detail::check_key("HashStore::set", key);
  detail::check_value("HashStore::set", value);
  const auto lock = state_->lock();
  state_->set(key, value);
}

std::string HashStore::get(const std::string& key, Milliseconds timeout) {
  detail::check_key("HashStore::get", key);
  auto lock = state_->lock();
  detail::Value found;
  if (!state_->wait(lock, timeout, [&] { return (found = state_->values.find(key)) != nullptr; }))
    detail::fail_waiting("HashStore::get", key, timeout.count());
  return *found;
}

void HashStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  detail::check_keys("HashStore::wait", keys);
  auto lock = state_->lock();
  std::size_t missing = 0;
  if (!state_->wait(lock, timeout, [&] { return (missing = state_->values.first_missing(keys)) == keys.size(); }))
    detail::fail_waiting("HashStore::wait", keys[missing], timeout.count());
}

int64_t HashStore::add(const std::string& key, int64_t amount) {
  detail::check_key("HashStore::add", key);
  const auto lock = state_->lock();
  const int64_t sum = state_->values.sum(key, amount);
  state_->set(key, std::to_string(sum));
  return sum;
}

bool HashStore::check(const std::vector<std::string>& keys) {
  detail::check_keys("HashStore::check", keys);
  const auto lock = state_->lock();
  return state_->values.first_missing(keys) == keys.size();
}

std::string HashStore::compare_set(const std::string& key, std::string_view expected, std::string_view desired) {
  detail::check_key("HashStore::compare_set", key);
  detail::check_value("HashStore::compare_set", expected);
  detail::check_value("HashStore::compare_set", desired);
  const auto lock = state_->lock();
  if (state_->values.equals(key, expected)) state_->set(key, desired);
  const detail::Value now = state_->values.find(key);
  return now != nullptr ? *now : std::string(expected);
}

bool HashStore::delete_key(const std::string& key) {
  detail::check_key("HashStore::delete_key", key);
  const auto lock = state_->lock();
  return state_->values.erase(key);
}

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : prefix_(std::move(prefix) + "/"), store_(std::move(store)) {
  tandem::check(store_ != nullptr, "PrefixStore: no store given");
  detail::check_key("PrefixStore: the prefix", prefix_);
}
PrefixStore::~PrefixStore() = default;

namespace {
std::vector<std::string> prefixed(const std::string& prefix, std::vector<std::string> keys) {
  for (std::string& key : keys) key.insert(0, prefix);
  return keys;
}
}  // namespace

void PrefixStore::set(const std::string& key, std::string_view value) { store_->set(prefix_ + key, value); }
std::string PrefixStore::get(const std::string& key, Milliseconds timeout) {
  return store_->get(prefix_ + key, timeout);
}
int64_t PrefixStore::add(const std::string& key, int64_t amount) { return store_->add(prefix_ + key, amount); }
bool PrefixStore::check(const std::vector<std::string>& keys) { return store_->check(prefixed(prefix_, keys)); }
void PrefixStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  store_->wait(prefixed(prefix_, keys), timeout);
}
std::string PrefixStore::compare_set(const std::string& key, std::string_view expected, std::string_view desired) {
  return store_->compare_set(prefix_ + key, expected, desired);
}
bool PrefixStore::delete_key(const std::string& key) { return store_->delete_key(prefix_ + key); }

}  // namespace tandem::distributed
