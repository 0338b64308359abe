#include "tandem/parallel/distributed/store_service.h"

#include <vector>

#include "tandem/parallel/distributed/store_state.h"

namespace tandem::distributed::detail {

void StoreService::handle(StoreClient& client, Request request) {
  try {
    if (request.operation == Operation::kGet || request.operation == Operation::kWait)
      begin_wait(client, std::move(request));
    else
      reply_at_once(client, request);
  } catch (const DistributedError& e) {
    client.reply(Status::kFailed, 0, std::make_shared<const std::string>(e.what()));
  } catch (const Error& e) {
    client.reply(Status::kInvalid, 0, std::make_shared<const std::string>(e.what()));
  }
}

void StoreService::reply_at_once(StoreClient& client, const Request& request) {
  const int64_t number = execute(
      request, values_, [&](std::string_view key, std::string_view value) { store(key, value); },
      [&](std::string_view key) { return values_.erase(key); });
  client.reply(Status::kOk, number,
               request.operation == Operation::kCompareSet ? values_.find(request.keys[0]) : nullptr);
}

void StoreService::store(std::string_view key, std::string_view value) {
  values_.set(key, value);
  std::vector<StoreClient*> woken;
  const auto [first, last] = waiting_.equal_range(key);
  for (auto at = first; at != last; ++at) woken.push_back(at->second);
  for (StoreClient* client : woken) {
    const std::size_t missing = values_.first_missing(client->request_.keys);
    waiting_.erase(client->missing_);
    if (missing == client->request_.keys.size()) {
      client->missing_ = waiting_.end();
      finish_wait(*client);
    } else {
      wait_for(*client, missing);
    }
  }
}

void StoreService::wait_for(StoreClient& client, std::size_t missing) {
  client.missing_ = waiting_.end();
  client.missing_ = waiting_.emplace(client.request_.keys[missing], &client);
}

void StoreService::begin_wait(StoreClient& client, Request request) {
  const std::size_t missing = values_.first_missing(request.keys);
  client.request_ = std::move(request);
  if (missing == client.request_.keys.size()) return finish_wait(client);
  const Deadline deadline{Milliseconds(client.request_.number)};
  client.until_ = deadline.at();
  wait_for(client, missing);
  client.waits_ = true;
  deadlines_.emplace(client.until_, &client);
}

void StoreService::finish_wait(StoreClient& client) {
  const Value value = client.request_.operation == Operation::kGet ? values_.find(client.request_.keys[0]) : nullptr;
  forget(client);
  client.reply(Status::kOk, 0, value);
}

void StoreService::forget(StoreClient& client) {
  if (!client.waits_) return;
  client.waits_ = false;
  deadlines_.erase({client.until_, &client});
  if (client.missing_ != waiting_.end()) waiting_.erase(client.missing_);
}

void StoreService::expire() {
  const auto now = Deadline::Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    StoreClient& client = *deadlines_.begin()->second;
    forget(client);
    client.reply(Status::kTimeout, static_cast<int64_t>(values_.first_missing(client.request_.keys)), nullptr);
  }
}

Deadline::Clock::time_point StoreService::next() const {
  return deadlines_.empty() ? Deadline::Clock::time_point::max() : deadlines_.begin()->first;
}

}  // namespace tandem::distributed::detail
