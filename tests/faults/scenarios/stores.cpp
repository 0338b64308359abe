// Stores of two processes, here in one.
#include "tandem/parallel/distributed/store.h"
#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {
namespace {

using namespace tandem::distributed;

void use(Store& a, Store& b, Sum& sum) {
  a.set("key", "value");
  sum.add(b.get("key"));
  for (int i = 0; i < 5; ++i) sum.add(std::to_string((i % 2 == 0 ? a : b).add("count", i)));
  sum.add(a.compare_set("key", "value", "other"));
  sum.add(b.check({"key", "none"}) ? "yes" : "no");
  sum.add(b.delete_key("key") ? "yes" : "no");
}

void file_store(const std::string& folder, Sum& sum) {
  FileStore a(folder + "/store"), b(folder + "/store");
  a.set_timeout(timeout());
  b.set_timeout(timeout());
  use(a, b, sum);
}

void tcp_store(const std::string&, Sum& sum) {
  TCPStoreOptions options{.port = 0, .is_server = true, .timeout = timeout()};
  TCPStore a("127.0.0.1", options);
  options.port = a.port();
  options.is_server = false;
  TCPStore b("127.0.0.1", options);
  use(a, b, sum);
}

const AddScenarios added({
    {.name = "file_store",
     .kinds = {Kind::kMemory, Kind::kOpen, Kind::kRead, Kind::kWrite, Kind::kClose, Kind::kUnlink, Kind::kTruncate,
               Kind::kShort, Kind::kInterrupt},
     .run = file_store,
     .appends = true},
    {.name = "tcp_store",
     .kinds = {Kind::kMemory, Kind::kThread, Kind::kSocket, Kind::kSend, Kind::kReceive, Kind::kPoll, Kind::kShort,
               Kind::kInterrupt},
     .run = tcp_store},
});

}  // namespace
}  // namespace tandem::faults
