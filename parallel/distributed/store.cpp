// The common parts of all stores, HashStore and PrefixStore.
#include "tandem/parallel/distributed/store.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "tandem/core/base/fork.h"
#include "tandem/parallel/distributed/deadline.h"
#include "tandem/parallel/distributed/store_state.h"

namespace tandem::distributed {

Store::~Store() = default;

void Store::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  for (const std::string& key : keys) detail::check_key("Store::wait", key);
  const detail::Deadline deadline(timeout);
  detail::Backoff backoff;
  for (const std::string& key : keys)
    while (!check({key})) {
      if (deadline.over()) detail::fail_waiting("Store::wait", key, timeout.count());
      backoff.sleep(deadline);
    }
}

BuiltInStore::BuiltInStore(std::unique_ptr<StoreState> state) : state_(std::move(state)) {}
BuiltInStore::~BuiltInStore() = default;

namespace {

using detail::Answer;
using detail::Operation;
using detail::Request;
using detail::Status;

// The request of `function`, unless a key or a value is too long.
Answer call(StoreState& state, const char* function, const Request& request, Milliseconds timeout) {
  const std::string what = concat(state.name, "::", function);
  for (const std::string_view key : request.keys) detail::check_key(what, key);
  for (const std::string_view value : {request.expected, request.value}) detail::check_value(what, value);
  Answer answer = state.ask(request, timeout);
  if (answer.status == Status::kTimeout)
    detail::fail_waiting(what + state.place(), request.keys[static_cast<std::size_t>(answer.number)], request.number);
  return answer;
}

class HashState final : public StoreState {
 public:
  HashState() : StoreState("HashStore") {}

  Answer ask(const Request& request, Milliseconds /*timeout*/) override {
    detail::check_not_forked(process_, name);
    std::unique_lock lock(mutex_);
    if (request.operation == Operation::kGet || request.operation == Operation::kWait) {
      std::size_t missing = 0;
      const auto ready = [&] { return (missing = values_.first_missing(request.keys)) == request.keys.size(); };
      if (!changed_.wait_until(lock, detail::Deadline(Milliseconds(request.number)).at(), ready))
        return {Status::kTimeout, static_cast<int64_t>(missing)};
      return {Status::kOk, 0, request.operation == Operation::kGet ? *values_.find(request.keys[0]) : ""};
    }
    const auto set = [&](std::string_view key, std::string_view value) {
      values_.set(key, value);
      changed_.notify_all();
    };
    const int64_t number = execute(request, values_, set, [&](std::string_view key) { return values_.erase(key); });
    const bool has_text = request.operation == Operation::kCompareSet && number != 0;
    return {Status::kOk, number, has_text ? *values_.find(request.keys[0]) : ""};
  }

 private:
  const uint32_t process_ = tandem::detail::this_process();
  std::mutex mutex_;
  std::condition_variable changed_;
  detail::KeyValues values_;
};

}  // namespace

int64_t detail::execute(const Request& request, const KeyValues& values,
                        FunctionRef<void(std::string_view, std::string_view)> set,
                        FunctionRef<bool(std::string_view)> erase) {
  if (request.operation == Operation::kCheck) return values.first_missing(request.keys) == request.keys.size();
  const std::string_view key = request.keys[0];
  if (request.operation == Operation::kDelete) return erase(key);
  if (request.operation == Operation::kCompareSet) {
    if (values.equals(key, request.expected)) set(key, request.value);
    return values.find(key) != nullptr;
  }
  if (request.operation == Operation::kSet) {
    set(key, request.value);
    return 0;
  }
  const int64_t sum = values.sum(key, request.number);
  set(key, std::to_string(sum));
  return sum;
}

HashStore::HashStore() : BuiltInStore(std::make_unique<HashState>()) {}

void BuiltInStore::set(const std::string& key, std::string_view value) {
  call(*state_, "set", {Operation::kSet, 0, {key}, value}, timeout());
}

std::string BuiltInStore::get(const std::string& key, Milliseconds timeout) {
  return call(*state_, "get", {Operation::kGet, timeout.count(), {key}}, this->timeout()).text;
}

void BuiltInStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  call(*state_, "wait", {Operation::kWait, timeout.count(), {keys.begin(), keys.end()}}, this->timeout());
}

int64_t BuiltInStore::add(const std::string& key, int64_t amount) {
  return call(*state_, "add", {Operation::kAdd, amount, {key}}, timeout()).number;
}

bool BuiltInStore::check(const std::vector<std::string>& keys) {
  return call(*state_, "check", {Operation::kCheck, 0, {keys.begin(), keys.end()}}, timeout()).number != 0;
}

std::string BuiltInStore::compare_set(const std::string& key, std::string_view expected, std::string_view desired) {
  Answer answer = call(*state_, "compare_set", {Operation::kCompareSet, 0, {key}, desired, expected}, timeout());
  return answer.number != 0 ? std::move(answer.text) : std::string(expected);
}

bool BuiltInStore::delete_key(const std::string& key) {
  return call(*state_, "delete_key", {Operation::kDelete, 0, {key}}, timeout()).number != 0;
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
