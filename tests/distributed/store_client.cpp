// One process of store_processes_test.py.
//
//   store_client file PATH COMMAND…       uses a FileStore
//   store_client tcp HOST PORT COMMAND…   connects to a TCPStore
//   store_client serve PORTFILE           serves one until its input ends
//
// Commands: `add KEY N` adds 1 N times; `write KEY N` sets 50 keys in turn, N times in all, each to a value that
// contains its own size, and prints "writing" when each key has a value;
// `check` reads every key that `write` has counted and verifies it; `meet RANK SIZE` waits for all ranks.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "tandem/parallel/distributed/store.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

// "KEY SIZE " and SIZE letters.
std::string value_of(const std::string& key, int i) {
  const int size = (i * 7919) % 20000;
  return key + " " + std::to_string(size) + " " + std::string(static_cast<std::size_t>(size), 'v');
}

void run(Store& store, const std::vector<std::string>& args) {
  const std::string& command = args.at(0);
  if (command == "add") {
    for (int i = 0; i < std::stoi(args.at(2)); ++i) store.add(args[1], 1);
  } else if (command == "write") {
    for (int i = 0; i < std::stoi(args.at(2)); ++i) {
      const std::string key = args[1] + "/" + std::to_string(i % 50);
      store.set(key, value_of(key, i));
      if (i == 49) std::puts("writing"), std::fflush(stdout);
    }
  } else if (command == "check") {
    int found = 0;
    for (int i = 0; i < 50; ++i) {
      const std::string key = args.at(1) + "/" + std::to_string(i);
      if (!store.check({key})) continue;
      const std::string value = store.get(key);
      const std::size_t size = std::stoul(value.substr(key.size() + 1));
      check(value == key + " " + std::to_string(size) + " " + std::string(size, 'v'), "a wrong value of ", key);
      ++found;
    }
    std::printf("%d keys\n", found);
  } else if (command == "meet") {
    const int size = std::stoi(args.at(2));
    store.set("rank/" + args[1], args[1]);
    for (int i = 0; i < size; ++i) check(store.get("rank/" + std::to_string(i)) == std::to_string(i), "wrong");
    if (store.add("met", 1) == size) store.set("all have met", "");
    store.wait({"all have met"});
  } else {
    fail("unknown command ", command);
  }
}

void serve(const std::string& port_file) {
  TCPStoreOptions options;
  options.port = 0;
  options.is_server = true;
  const TCPStore store("127.0.0.1", options);
  std::ofstream(port_file + ".new") << store.port();
  std::rename((port_file + ".new").c_str(), port_file.c_str());
  while (std::cin.get() != EOF) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    if (args.at(0) == "serve") {
      serve(args.at(1));
    } else if (args[0] == "file") {
      FileStore store(args.at(1));
      run(store, {args.begin() + 2, args.end()});
    } else {
      TCPStoreOptions options;
      options.port = static_cast<uint16_t>(std::stoi(args.at(2)));
      TCPStore store(args.at(1), options);
      run(store, {args.begin() + 3, args.end()});
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
