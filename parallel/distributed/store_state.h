// How HashStore, FileStore and TCPStore carry out requests: all take the requests that a client of TCPStore sends, and
// the first two hold the data as its server does (key_values.h).
#pragma once
#include <string>

#include "tandem/core/threads/parallel_for.h"
#include "tandem/parallel/distributed/key_values.h"
#include "tandem/parallel/distributed/store_protocol.h"

namespace tandem::distributed::detail {

/// As a Reply, with its own text.
struct Answer {
  Status status = Status::kOk;
  int64_t number = 0;
  std::string text = {};
};

/// Carries out a request that does not wait, and returns the number of its reply. `set` and `erase` change the values.
int64_t execute(const Request& request, const KeyValues& values,
                FunctionRef<void(std::string_view key, std::string_view value)> set,
                FunctionRef<bool(std::string_view key)> erase);

}  // namespace tandem::distributed::detail

namespace tandem::distributed {

struct StoreState {
  explicit StoreState(const char* name_) : name(name_) {}
  virtual ~StoreState() = default;
  /// Carries out a request with any number of keys. `timeout`: the store's.
  virtual detail::Answer ask(const detail::Request& request, Milliseconds timeout) = 0;
  /// Where the data is, for messages: " at localhost:29500".
  virtual std::string place() const { return ""; }

  const char* const name;  ///< of the class
};

}  // namespace tandem::distributed
