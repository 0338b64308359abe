// What all stores promise, for each of them; then what is special about files.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "tandem/tests/distributed/stores.h"

using namespace tandem;
using namespace tandem::test;

namespace {

const std::vector<std::string> kKinds = {"hash", "file", "tcp", "prefix"};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs a check on stores of every kind, made for so many ranks.
void with_every_store(int ranks, const std::function<void(std::vector<std::shared_ptr<Store>>&)>& run) {
  for (const std::string& kind : kKinds) {
    INFO("kind of store: " << kind);
    Ranks made;
    make_stores(made, kind, ranks);
    run(made.stores);
  }
}

using Stores = std::vector<std::shared_ptr<Store>>;

}  // namespace

TEST_CASE("every rank reads what another has set") {
  with_every_store(2, [](Stores& s) {
    const std::string binary("\0\xff\n bytes \0", 11);
    s[0]->set("key", "value");
    CHECK(s[1]->get("key") == "value");
    s[1]->set("key", binary);
    CHECK(s[0]->get("key") == binary);
    s[0]->set("empty", "");
    CHECK(s[1]->get("empty") == "");
    s[0]->set("", "the empty key");
    CHECK(s[1]->get("") == "the empty key");
    CHECK(s[1]->check({"key", "empty"}));
    CHECK(!s[1]->check({"key", "absent"}));
    CHECK(s[1]->check({}));
    CHECK(s[0]->delete_key("key"));
    CHECK(!s[1]->delete_key("key"));
    CHECK(!s[1]->check({"key"}));
  });
}

TEST_CASE("keys and values up to their limits") {
  with_every_store(2, [](Stores& s) {
    const std::string value(Store::kMaxValue, 'v'), key(Store::kMaxKey - 12, 'k');
    s[0]->set(key, value);
    CHECK(s[1]->get(key) == value);
    CHECK(s[1]->compare_set(key, value, std::string(Store::kMaxValue, 'w')) == std::string(Store::kMaxValue, 'w'));
    const std::string long_key(Store::kMaxKey + 1, 'k');
    CHECK(contains(complaint([&] { s[0]->set(long_key, ""); }), "at most 1024"));
    CHECK(contains(complaint([&] { s[0]->get(long_key); }), "at most 1024"));
    CHECK(contains(complaint([&] { s[0]->check({"a", long_key}); }), "at most 1024"));
    CHECK(contains(complaint([&] { s[0]->wait({"a", long_key}); }), "at most 1024"));
    CHECK(contains(complaint([&] { s[0]->set("key", value + "v"); }), "at most 1048576"));
    CHECK(contains(complaint([&] { s[0]->compare_set("key", "", value + "v"); }), "at most 1048576"));
  });
}

TEST_CASE("add") {
  with_every_store(2, [](Stores& s) {
    CHECK(s[0]->add("n", 0) == 0);
    CHECK(s[0]->add("n", 5) == 5);
    CHECK(s[1]->add("n", -7) == -2);
    CHECK(s[0]->get("n") == "-2");
    s[0]->set("n", "9223372036854775807");
    CHECK(contains(complaint([&] { s[1]->add("n", 1); }), "not an int64"));
    CHECK(s[1]->get("n") == "9223372036854775807");
    for (const char* text : {"text", "", "1 ", "+1", "1.5", "99999999999999999999"}) {
      s[0]->set("t", text);
      CHECK(contains(complaint([&] { s[1]->add("t", 1); }), "not a decimal number"));
      CHECK(s[0]->get("t") == text);
    }
  });
}

TEST_CASE("add from eight threads is exact") {
  with_every_store(8, [](Stores& s) {
    constexpr int kTimes = 100;
    on_threads(8, [&](int rank) {
      for (int i = 0; i < kTimes; ++i) s[static_cast<std::size_t>(rank)]->add("sum", rank + 1);
      for (int i = 0; i < kTimes; ++i) s[0]->add("shared", 1);
    });
    CHECK(s[0]->get("sum") == std::to_string(36 * kTimes));
    CHECK(s[3]->get("shared") == std::to_string(8 * kTimes));
  });
}

TEST_CASE("compare_set") {
  with_every_store(2, [](Stores& s) {
    CHECK(s[0]->compare_set("k", "expected", "new") == "expected");
    CHECK(!s[1]->check({"k"}));
    CHECK(s[0]->compare_set("k", "", "first") == "first");
    CHECK(s[1]->compare_set("k", "", "second") == "first");
    CHECK(s[1]->compare_set("k", "other", "second") == "first");
    CHECK(s[1]->compare_set("k", "first", "second") == "second");
    CHECK(s[0]->compare_set("k", "second", "") == "");
    CHECK(s[0]->compare_set("k", "", "third") == "third");
  });
}

TEST_CASE("one of many threads wins a compare_set") {
  with_every_store(8, [](Stores& s) {
    std::atomic<int> winners{0};
    on_threads(8, [&](int rank) {
      const std::string mine = std::to_string(rank);
      winners += s[static_cast<std::size_t>(rank)]->compare_set("leader", "", mine) == mine;
    });
    CHECK(winners == 1);
  });
}

TEST_CASE("get and wait return once the keys exist") {
  with_every_store(3, [](Stores& s) {
    on_threads(3, [&](int rank) {
      if (rank == 0) {
        std::this_thread::sleep_for(Milliseconds(50));
        s[0]->set("b", "late");
        std::this_thread::sleep_for(Milliseconds(20));
        s[0]->add("a", 3);
        std::this_thread::sleep_for(Milliseconds(20));
        s[0]->compare_set("c", "", "last");
      } else if (rank == 1) {
        if (s[1]->get("b") != "late") throw Error("wrong value");
      } else {
        s[2]->wait({"a", "b", "c"});
        if (!s[2]->check({"a", "b", "c"})) throw Error("wait returned too early");
      }
    });
  });
}

TEST_CASE("a time limit names the missing key and the seconds") {
  with_every_store(2, [](Stores& s) {
    s[0]->set("there", "");
    const auto start = std::chrono::steady_clock::now();
    const std::string get = failure([&] { s[1]->get("absent\n", Milliseconds(150)); });
    CHECK(contains(get, "absent\\x0a"));
    CHECK(contains(get, "0.15 s"));
    const std::string wait = failure([&] { s[1]->wait({"there", "missing", "also"}, Milliseconds(150)); });
    CHECK(contains(wait, "missing'"));
    CHECK(contains(wait, "0.15 s"));
    CHECK(seconds_since(start) >= 0.3);
    CHECK(seconds_since(start) < 10);
    CHECK(contains(failure([&] { s[1]->get("absent", Milliseconds(0)); }), "absent"));
    CHECK(contains(failure([&] { s[1]->get("absent", Milliseconds(-5)); }), "absent"));
    CHECK(s[1]->get("there", Milliseconds(0)) == "");
    CHECK(s[1]->get("there", Milliseconds::max()) == "");
    s[1]->wait({"there"}, Milliseconds::max());
    s[1]->set_timeout(Milliseconds(100));
    CHECK(s[1]->timeout() == Milliseconds(100));
    CHECK(contains(failure([&] { s[1]->get("absent"); }), "0.1 s"));
    CHECK(contains(failure([&] { s[1]->wait({"absent"}); }), "0.1 s"));
  });
}

TEST_CASE("a thread that waits does not block the others of its store") {
  with_every_store(1, [](Stores& s) {
    std::atomic<bool> waiting{false};
    std::thread waiter([&] {
      waiting = true;
      s[0]->get("much later", Milliseconds(20'000));
    });
    while (!waiting) std::this_thread::yield();
    std::this_thread::sleep_for(Milliseconds(30));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) s[0]->add("n", 1);
    CHECK(seconds_since(start) < 10);
    s[0]->set("much later", "");
    waiter.join();
  });
}

TEST_CASE("many keys at a time") {
  with_every_store(2, [](Stores& s) {
    std::vector<std::string> keys;
    for (int i = 0; i < 2500; ++i) keys.push_back("key" + std::to_string(i));
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) s[0]->set(keys[i], "");
    CHECK(!s[1]->check(keys));
    CHECK(contains(failure([&] { s[1]->wait(keys, Milliseconds(50)); }), "key2499'"));
    s[0]->set(keys.back(), "");
    CHECK(s[1]->check(keys));
    s[1]->wait(keys);
  });
}

TEST_CASE("prefixes separate keys") {
  const auto inner = std::make_shared<HashStore>();
  PrefixStore a("a", inner), b("b", inner);
  a.set("key", "of a");
  b.set("key", "of b");
  CHECK(a.get("key") == "of a");
  CHECK(inner->get("b/key") == "of b");
  CHECK(a.underlying() == inner);
  CHECK(a.host().empty());
  a.set_timeout(Milliseconds(7));
  CHECK(inner->timeout() == Milliseconds(7));
  CHECK_THROWS_AS(PrefixStore("a", nullptr), Error);
}

TEST_CASE("a store has a bound") {
  HashStore store;
  const std::string value(Store::kMaxValue, 'v');
  const auto fill = [&] {
    for (int i = 0; i < 300; ++i) store.set(std::to_string(i), value);
  };
  CHECK(contains(failure(fill), "the store is full"));
  CHECK(store.check({"254"}));
  CHECK(!store.check({"256"}));
  store.set("0", "small");
  for (int i = 1; i < 200; ++i) store.delete_key(std::to_string(i));
  store.set("300", value);
}

TEST_CASE("a file that is no store, or is damaged, is refused") {
  TempFolder folder;
  write_file(folder / "text", "some text that is not a store");
  CHECK(contains(failure([&] { FileStore(folder / "text"); }), "was not written by a FileStore"));
  CHECK(contains(failure([&] { FileStore(folder / "no/folder"); }), "cannot open"));
  CHECK(contains(failure([&] { FileStore(folder.path()); }), "cannot open"));
  FileStore store(folder / "store");
  store.set("key", "value");
  store.set("key2", "value2");
  std::string bytes = read_file(folder / "store");
  const std::size_t at = bytes.find("value");
  bytes[at] = 'V';
  write_file(folder / "flipped", bytes);
  CHECK(contains(failure([&] { FileStore(folder / "flipped"); }), "wrong checksum"));
  bytes[at] = 'v';
  bytes[11] = '\x7f';
  write_file(folder / "long", bytes);
  CHECK(contains(failure([&] { FileStore(folder / "long"); }), "a length of"));
}

TEST_CASE("an incomplete record is removed") {
  TempFolder folder;
  std::string whole;
  {
    FileStore store(folder / "store");
    store.set("first", "1");
    whole = read_file(folder / "store");
    store.set("second", std::string(100, 's'));
  }
  const std::string both = read_file(folder / "store");
  for (std::size_t bytes = 0; bytes < both.size(); ++bytes) {
    write_file(folder / "cut", both.substr(0, bytes));
    FileStore store(folder / "cut");
    CHECK(store.check({"first"}) == (bytes >= whole.size()));
    CHECK(!store.check({"second"}));
    store.set("third", "3");
    CHECK(FileStore(folder / "cut").get("third", Milliseconds(0)) == "3");
  }
}

TEST_CASE("a file that is cut or removed while it is in use is noticed") {
  TempFolder folder;
  FileStore store(folder / "store");
  store.set("key", "value");
  std::filesystem::resize_file(folder / "store", 10);
  CHECK(contains(failure([&] { store.check({"key"}); }), "has been cut"));
  FileStore other(folder / "other");
  std::filesystem::remove(folder / "other");
  CHECK(contains(failure([&] { other.check({"key"}); }), "has been removed"));
}

TEST_CASE("a forked child goes on with a file, and is refused by the other stores") {
  Ranks file, hash, tcp;
  make_stores(file, "file", 1);
  make_stores(hash, "hash", 1);
  make_stores(tcp, "tcp", 1);
  file.stores[0]->set("before", "1");
  const pid_t child = ::fork();
  if (child == 0) {
    int wrong = 0;
    try {
      const int open = open_descriptors();
      wrong |= file.stores[0]->get("before") != "1";
      if (open_descriptors() != open) wrong |= 16;  // the parent's is closed
      file.stores[0]->set("from the child", "2");
      for (int i = 0; i < 300; ++i) file.stores[0]->add("sum", 1);
      for (Ranks* ranks : {&hash, &tcp}) {
        try {
          ranks->stores[0]->set("key", "");
          wrong |= 2;
        } catch (const Error& e) {
          wrong |= std::string(e.what()).find("forked child") == std::string::npos ? 4 : 0;
        }
      }
      tcp.stores.clear();
    } catch (...) {
      wrong |= 8;
    }
    ::_exit(wrong);
  }
  for (int i = 0; i < 300; ++i) file.stores[0]->add("sum", 1);
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(file.stores[0]->get("from the child") == "2");
  CHECK(file.stores[0]->get("sum") == "600");
  CHECK(tcp.stores[0]->add("n", 1) == 1);
}
