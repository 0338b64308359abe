// How the server of a TCPStore carries out requests, apart from sockets: the data, and the clients that wait for keys.
// One thread at a time.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/parallel/distributed/deadline.h"
#include "tandem/parallel/distributed/key_values.h"
#include "tandem/parallel/distributed/store_protocol.h"

namespace tandem::distributed::detail {

/// It has one request at a time.
class StoreClient {
 public:
  virtual ~StoreClient() = default;
  /// Called once for each request. Must not call the service.
  virtual void reply(Status status, int64_t number, Value text) = 0;

 private:
  friend class StoreService;
  bool waits_ = false;
  Request request_;
  Deadline::Clock::time_point until_;
  std::multimap<std::string, StoreClient*, std::less<>>::iterator missing_;
};

class StoreService {
 public:
  explicit StoreService(std::size_t max_bytes = KeyValues::kMaxBytes) : values_(max_bytes) {}
  /// Replies at once, or later if the client must wait; what `request` refers to must stay until then.
  void handle(StoreClient& client, Request request);
  /// The client does not wait any more.
  void forget(StoreClient& client);
  /// Replies to the clients whose time is over.
  void expire();
  /// When expire() has something to do next; time_point::max() if nobody waits.
  Deadline::Clock::time_point next() const;

 private:
  using Waiting = std::multimap<std::string, StoreClient*, std::less<>>;
  void reply_at_once(StoreClient& client, const Request& request);
  void store(std::string_view key, std::string_view value);
  void begin_wait(StoreClient& client, Request request);
  void finish_wait(StoreClient& client);
  void wait_for(StoreClient& client, std::size_t missing);

  KeyValues values_;
  Waiting waiting_;  // by the first key that is missing
  std::set<std::pair<Deadline::Clock::time_point, StoreClient*>> deadlines_;
};

}  // namespace tandem::distributed::detail
