// TCPStore and its server: handshakes, bytes that are no requests, lost connections, many clients.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <optional>

#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store_protocol.h"
#include "tandem/parallel/distributed/tcp_server.h"
#include "tandem/tests/distributed/stores.h"

using namespace tandem;
using namespace tandem::test;
using distributed::detail::Deadline;
using distributed::detail::Descriptor;
using distributed::detail::ServerLimits;
using distributed::detail::TCPServer;

namespace {

using Clock = std::chrono::steady_clock;
const Milliseconds kLong(20'000);

Descriptor connect_to(uint16_t port) {
  std::string reason;
  const Deadline deadline(kLong);
  const auto addresses = distributed::detail::resolve("127.0.0.1", port, deadline);
  Descriptor socket = distributed::detail::try_connect(addresses.get(), deadline, reason);
  REQUIRE_MESSAGE(socket, reason);
  return socket;
}

// Sends the bytes over a separate connection and returns what comes until the server closes it, or nullopt if
// it is still open after `patience`.
std::optional<std::string> answer_to(uint16_t port, const std::string& bytes, Milliseconds patience = kLong) {
  const Descriptor socket = connect_to(port);
  std::string answer;
  try {
    distributed::detail::send_all(socket, bytes, Deadline(patience));
    while (true) distributed::detail::receive_some(socket, 1 << 16, answer, Deadline(patience));
  } catch (const distributed::detail::ConnectionLost& e) {
    if (std::string(e.what()) == "no answer in time") return std::nullopt;
  }
  return answer;
}

std::string hello(const std::string& job_key, uint32_t version = distributed::detail::kProtocolVersion) {
  return encode(distributed::detail::Hello{version, job_key});
}

std::string request(distributed::detail::Operation operation, std::vector<std::string_view> keys,
                    std::string_view value = {}) {
  return encode(distributed::detail::Request{operation, 0, std::move(keys), value});
}

// A port at which nobody listens.
uint16_t free_port() { return TCPServer("127.0.0.1", 0, "").port(); }

}  // namespace

TEST_CASE("a client of another job is refused") {
  TCPStore server("127.0.0.1", server_options("secret"));
  for (const char* key : {"", "secre", "secret ", "Secret"}) {
    const auto start = Clock::now();
    const std::string message = failure([&] { TCPStore("127.0.0.1", client_options(server.port(), key)); });
    CHECK(contains(message, "refuses the job key"));
    CHECK(contains(message, "127.0.0.1:" + std::to_string(server.port())));
    CHECK(Clock::now() - start < kLong / 2);
  }
  CHECK(server.add("n", 1) == 1);
  TCPStore client("127.0.0.1", client_options(server.port(), "secret"));
  CHECK(client.add("n", 1) == 2);
  TCPStoreOptions options = server_options(std::string(257, 'k'));
  CHECK(contains(complaint([&] { TCPStore("127.0.0.1", options); }), "257 bytes"));
}

TEST_CASE("job keys of 256 bytes") {
  const std::string key(256, '\xff');
  TCPStore server("127.0.0.1", server_options(key));
  TCPStore client("127.0.0.1", client_options(server.port(), key));
  client.set("k", "v");
  CHECK(server.get("k") == "v");
}

TEST_CASE("bytes that are no request cost only their own connection") {
  using distributed::detail::Operation;
  TCPStore server("127.0.0.1", server_options("job"));
  const uint16_t port = server.port();
  const std::string huge("\xff\xff\xff\xff rest", 9), greeting = hello("job");
  const std::string wrong_job = *answer_to(port, hello("other"));
  CHECK(wrong_job.size() == distributed::detail::kWelcomeBytes);
  CHECK(*answer_to(port, hello("job", 99)) != wrong_job);
  CHECK(*answer_to(port, "GET / HTTP/1.1\r\n\r\n") == "");
  CHECK(*answer_to(port, std::string(1000, '\0')) == "");
  CHECK(*answer_to(port, hello("job") + "x") == "");
  for (const std::string& bytes :
       {huge, std::string(4, '\0'), std::string("\5\0\0\0hello", 9), request(Operation::kGet, {"a", "b"}),
        request(Operation::kSet, {"a"}, "1") + request(Operation::kSet, {"a"}, "2")}) {
    const Descriptor socket = connect_to(port);
    std::string answer;
    distributed::detail::send_all(socket, greeting, Deadline(kLong));
    while (answer.size() < distributed::detail::kWelcomeBytes)
      distributed::detail::receive_some(socket, 100, answer, Deadline(kLong));
    distributed::detail::send_all(socket, bytes, Deadline(kLong));
    CHECK(contains(failure([&] {
                     while (true) distributed::detail::receive_some(socket, 100, answer, Deadline(kLong));
                   }),
                   "connection"));
    CHECK(server.check({}));
  }
  CHECK(!server.check({"a"}));
}

TEST_CASE("half a message delays nobody, and its end is answered") {
  using distributed::detail::Operation;
  TCPStore server("127.0.0.1", server_options());
  const Descriptor socket = connect_to(server.port());
  const std::string bytes = hello(""), set = request(Operation::kSet, {"slow"}, std::string(1000, 'v'));
  std::string answer;
  for (const char byte : bytes) distributed::detail::send_all(socket, std::string(1, byte), Deadline(kLong));
  while (answer.size() < distributed::detail::kWelcomeBytes)
    distributed::detail::receive_some(socket, 100, answer, Deadline(kLong));
  distributed::detail::send_all(socket, set.substr(0, 500), Deadline(kLong));
  for (int i = 0; i < 20; ++i) server.add("n", 1);
  CHECK(!server.check({"slow"}));
  distributed::detail::send_all(socket, set.substr(500), Deadline(kLong));
  CHECK(server.get("slow").size() == 1000);
}

TEST_CASE("a connection that says nothing is closed after a while") {
  ServerLimits limits;
  limits.handshake = Milliseconds(200);
  const TCPServer server("127.0.0.1", 0, "", limits);
  const auto start = Clock::now();
  CHECK(answer_to(server.port(), "").value_or("open") == "");
  CHECK(answer_to(server.port(), "TNDM").value_or("open") == "");
  CHECK(Clock::now() - start >= Milliseconds(350));
  // One that has greeted may be silent.
  CHECK(!answer_to(server.port(), hello(""), Milliseconds(500)));
}

TEST_CASE("the server bounds its clients, their requests and its data") {
  ServerLimits limits;
  limits.clients = 2;
  limits.stored = 5000;
  limits.received = 100'000;
  const TCPServer server("127.0.0.1", 0, "", limits);
  TCPStore first("127.0.0.1", client_options(server.port()));
  {
    TCPStore second("127.0.0.1", client_options(server.port()));
    CHECK(contains(failure([&] { TCPStore("127.0.0.1", client_options(server.port())); }), "as many connections"));
    CHECK(contains(failure([&] { second.set("large", std::string(200'000, 'v')); }), "lost the connection"));
  }
  CHECK(contains(failure([&] { first.set("large", std::string(6000, 'v')); }), "the store is full"));
  first.set("large", std::string(4000, 'v'));
  CHECK(contains(failure([&] { first.set("more", std::string(4000, 'v')); }), "the store is full"));
  first.set("large", "");
  first.set("more", std::string(4000, 'v'));
  for (int i = 0; i < 100; ++i) first.set("more", std::string(4000, 'w')), first.set("more", "");
}

TEST_CASE("clients may start before the server") {
  const uint16_t port = free_port();
  on_threads(4, [&](int rank) {
    TCPStoreOptions options = client_options(port);
    options.is_server = rank == 0;
    if (rank == 0) std::this_thread::sleep_for(Milliseconds(150));
    TCPStore store("localhost", options);
    store.set(std::to_string(rank), "");
    if (rank == 0) store.wait({"1", "2", "3"});
  });
}

TEST_CASE("nobody answers") {
  TCPStoreOptions options = client_options(free_port());
  options.timeout = Milliseconds(300);
  const std::string message = failure([&] { TCPStore("127.0.0.1", options); });
  CHECK(contains(message, "127.0.0.1:" + std::to_string(options.port)));
  CHECK(contains(message, "0.3 s"));
  CHECK(contains(failure([&] { TCPStore("no-such-host.invalid", options); }), "no-such-host.invalid"));
  CHECK(contains(complaint([&] { TCPStore("", options); }), "no host"));
  options.port = 0;
  CHECK(contains(complaint([&] { TCPStore("127.0.0.1", options); }), "no port"));
}

TEST_CASE("another server answers") {
  const Descriptor other = distributed::detail::listen_on("127.0.0.1", 0);
  std::thread thread([&] {
    pollfd ready{other.get(), POLLIN, 0};
    ::poll(&ready, 1, 20'000);
    const Descriptor client(::accept(other.get(), nullptr, nullptr));
    if (client) distributed::detail::send_all(client, "220 mail.example.com ESMTP\r\n", Deadline(kLong));
    std::this_thread::sleep_for(Milliseconds(50));
  });
  const uint16_t port = distributed::detail::port_of(other);
  CHECK(contains(failure([&] { TCPStore("127.0.0.1", client_options(port)); }), "not a store of Tandem"));
  thread.join();
}

TEST_CASE("a taken port and a foreign address") {
  TCPStore server("127.0.0.1", server_options());
  TCPStoreOptions options = server_options();
  options.port = server.port();
  CHECK(contains(failure([&] { TCPStore("127.0.0.1", options); }), "Address already in use"));
  options.bind_address = "192.0.2.1";
  CHECK(contains(failure([&] { TCPStore("127.0.0.1", options); }), "must run on the machine"));
}

TEST_CASE("connections send at once, and notice a machine that is gone") {
  const TCPServer server("127.0.0.1", 0, "");
  const Descriptor socket = connect_to(server.port());
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    CHECK(::getsockopt(socket.get(), level, name, &value, &bytes) == 0);
    return value;
  };
  CHECK(option(IPPROTO_TCP, TCP_NODELAY) != 0);
  CHECK(option(SOL_SOCKET, SO_KEEPALIVE) != 0);
  CHECK(option(IPPROTO_TCP, TCP_KEEPIDLE) == 60);
  CHECK(option(IPPROTO_TCP, TCP_KEEPINTVL) == 15);
}

TEST_CASE("the port is free again at once") {
  TCPStoreOptions options = server_options();
  for (int i = 0; i < 5; ++i) {
    TCPStore server("127.0.0.1", options);
    TCPStore client("127.0.0.1", client_options(server.port()));
    client.set("k", "v");
    options.port = server.port();
  }
}

TEST_CASE("IPv6 and host names") {
  TCPStoreOptions options = server_options();
  options.bind_address = "::";
  std::unique_ptr<TCPStore> server;
  try {
    server = std::make_unique<TCPStore>("::1", options);
  } catch (const DistributedError& e) {
    MESSAGE("skipped: no IPv6: " << e.what());
    return;
  }
  TCPStore by_name("localhost", client_options(server->port())), by_four("127.0.0.1", client_options(server->port()));
  by_name.set("k", "v");
  CHECK(by_four.get("k") == "v");
  CHECK(server->host() == "::1");
  CHECK(contains(failure([&] { server->get("absent", Milliseconds(0)); }), "[::1]:"));
}

TEST_CASE("a server that ends wakes the clients that wait") {
  auto server = std::make_unique<TCPStore>("127.0.0.1", server_options());
  TCPStore client("127.0.0.1", client_options(server->port()));
  const std::string where = "127.0.0.1:" + std::to_string(server->port());
  std::string message;
  std::thread waiter([&] { message = failure([&] { client.get("never", Milliseconds(60'000)); }); });
  std::this_thread::sleep_for(Milliseconds(100));
  const auto start = Clock::now();
  server.reset();
  waiter.join();
  CHECK(Clock::now() - start < kLong);
  CHECK(contains(message, "lost the connection to " + where));
  CHECK(contains(failure([&] { client.set("k", "v"); }), where));
  CHECK(contains(failure([&] { client.check({"k"}); }), where));
}

TEST_CASE("64 clients meet, and leave no descriptor behind") {
  const int before = open_descriptors();
  {
    constexpr int kClients = 64;
    TCPStore server("127.0.0.1", server_options());
    on_threads(kClients, [&](int rank) {
      TCPStore store("127.0.0.1", client_options(server.port()));
      store.set("rank" + std::to_string(rank), std::string(1000, static_cast<char>(rank)));
      std::vector<std::string> keys;
      for (int i = 0; i < kClients; ++i) keys.push_back("rank" + std::to_string(i));
      store.wait(keys);
      if (store.add("passed", 1) == kClients) store.set("all", std::string(Store::kMaxValue, 'a'));
      if (store.get("all").size() != Store::kMaxValue) throw Error("wrong size");
      if (rank % 2 == 0) failure([&] { store.get("never", Milliseconds(20)); });
    });
    CHECK(server.get("passed") == "64");
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("a server that runs out of descriptors serves those that it has") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  TCPStore server("127.0.0.1", server_options());
  std::vector<Descriptor> pending;
  for (int i = 0; i < 4; ++i) pending.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(open_descriptors() - 1);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const Descriptor& socket : pending)
    CHECK(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const std::clock_t cpu = std::clock();
  std::this_thread::sleep_for(Milliseconds(300));
  CHECK(std::clock() - cpu < CLOCKS_PER_SEC / 5);
  CHECK(server.add("n", 1) == 1);
  ::setrlimit(RLIMIT_NOFILE, &before);
  TCPStore late("127.0.0.1", client_options(server.port()));
  CHECK(late.add("n", 1) == 2);
}
