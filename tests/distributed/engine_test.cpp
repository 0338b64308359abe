// One rank of a job that checks or times an engine. engine_test.py starts the ranks and reads what they report.
//
//   engine_test PLUGIN FOLDER WHAT [RANK SIZE]     RANK and SIZE are mpirun's by default
//
// The ranks meet in FOLDER, where rank R leaves "report-R": a line per failed check, then "N passed, N failed".
#include <dlfcn.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine_job.h"

namespace {

using namespace engine_test;

// ---- several engines

void check_group(Job& job, Engine& engine, int members, int sum) {
  job.tag = 100;  // the ranks of a group have made different numbers of calls
  std::vector<int64_t> data(1000, job.rank);
  engine.all_reduce(data.data(), data.size(), kLong, ReduceOp::SUM, job.next());
  job.check(std::count(data.begin(), data.end(), sum) == 1000, "all_reduce of a group");
  std::vector<int64_t> all(static_cast<std::size_t>(members));
  const std::vector<std::size_t> bytes(all.size(), sizeof(int64_t));
  const int64_t own = job.rank;
  engine.all_gather(&own, all.data(), bytes.data(), job.next());
  int64_t total = 0;
  for (const int64_t rank : all) total += rank;
  job.check(total == sum, "all_gather of a group");
}

void groups(Job& job) {
  const EnginePtr all = job.make("all"), again = job.make("again");
  const EnginePtr low = job.make("low", {0, 1}), ends = job.make("ends", {2, 0}), one = job.make("one", {1});
  check_group(job, *all, 3, 3);
  if (low) check_group(job, *low, 2, 1);
  if (ends) {
    check_group(job, *ends, 2, 2);
    int64_t value = job.rank;
    ends->broadcast(&value, sizeof(value), 0, job.next());
    job.check(value == 2, "the first rank of a group is its rank 0");
  }
  if (one) check_group(job, *one, 1, 1);
  check_group(job, *again, 3, 3);
  // Two engines at a time, each with its own thread.
  int wrong[2] = {};
  const auto work = [&](Engine& engine, int& errors, uint32_t first) {
    for (uint32_t i = 0; i < 200; ++i) {
      std::vector<float> data(1 + i * 37, static_cast<float>(job.rank + 1));
      engine.all_reduce(data.data(), data.size(), kFloat, ReduceOp::SUM, {first + i, milliseconds(30'000)});
      errors += std::count(data.begin(), data.end(), 6.0f) == static_cast<int64_t>(data.size()) ? 0 : 1;
    }
  };
  std::thread other(work, std::ref(*again), std::ref(wrong[1]), 5000u);
  work(*all, wrong[0], 9000u);
  other.join();
  job.check(wrong[0] == 0 && wrong[1] == 0, "two engines in two threads");
}

// Sums of Gloo have the same bits over both transports, in all of its algorithms.
void transports(Job& job) {
  setenv("TANDEM_SHARED_MEMORY", "0", 1);
  const EnginePtr tcp = job.make("tcp");
  unsetenv("TANDEM_SHARED_MEMORY");
  const EnginePtr memory = job.make("memory");
  const auto same = [&]<class T>(T, std::size_t count, ReduceOp op) {
    std::vector<T> a(count);
    uint64_t state = count * 64 + static_cast<uint64_t>(job.rank);
    for (T& value : a) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value = T(static_cast<float>(static_cast<int64_t>(state >> 11)) * 0x1p-52f - 1);
    }
    std::vector<T> b = a;
    const CallOptions options = job.next();
    tcp->all_reduce(a.data(), count, scalar_type_of<T>, op, options);
    memory->all_reduce(b.data(), count, scalar_type_of<T>, op, options);
    job.check(std::memcmp(a.data(), b.data(), count * sizeof(T)) == 0, "sums of " + std::to_string(count) + " differ");
  };
  for (const std::size_t count : {1, 2, 3, 7, 1000, 1031, 65'539, 262'144, 262'145, 1'000'003, 3'000'000, 9'000'001}) {
    same(float{}, count, ReduceOp::SUM);
    same(double{}, count / 4 + 1, ReduceOp::PRODUCT);
    same(BFloat16{}, count, ReduceOp::SUM);
  }
}

// ---- failures

void messages_fail(Job& job) {
  const EnginePtr engine = job.make("all"), other = job.make("other");
  const int next = (job.rank + 1) % job.size;
  std::vector<uint8_t> data(100);
  {
    const auto request = engine->recv(data.data(), data.size(), next, job.next());
    job.must_throw("a receive without a send", milliseconds(290), milliseconds(3000),
                   [&] { request->wait(milliseconds(300)); });
  }
  check_group(job, *other, 3, 3);
}

void stall(Job& job) {
  const EnginePtr engine = job.make("all");
  engine->barrier(job.next());
  if (job.rank == 2) return std::this_thread::sleep_for(milliseconds(4000));
  std::vector<float> data(100'000);
  job.must_throw("all_reduce without rank 2", milliseconds(450), milliseconds(3000), [&] {
    engine->all_reduce(data.data(), data.size(), kFloat, ReduceOp::SUM, job.next(milliseconds(500)));
  });
  job.must_throw("the next call", milliseconds(0), milliseconds(3000),
                 [&] { engine->barrier(job.next(milliseconds(500))); });
}

void aborted(Job& job) {
  const EnginePtr engine = job.make("all");
  engine->barrier(job.next());
  if (job.rank == 2) return std::this_thread::sleep_for(milliseconds(4000));
  std::thread aborts([&] {
    std::this_thread::sleep_for(milliseconds(300));
    engine->abort();
  });
  job.must_throw("barrier", milliseconds(250), milliseconds(3000),
                 [&] { engine->barrier(job.next(milliseconds(20'000))); });
  aborts.join();
  job.must_throw("a call after abort", milliseconds(0), milliseconds(3000),
                 [&] { engine->barrier(job.next(milliseconds(500))); });
}

void killed(Job& job) {
  const EnginePtr engine = job.make("all");
  engine->barrier(job.next());
  if (job.rank == 1) kill(getpid(), SIGKILL);
  std::vector<float> data(100'000);
  job.must_throw("all_reduce without rank 1", milliseconds(0), milliseconds(15'000), [&] {
    for (int i = 0; i < 1000; ++i)
      engine->all_reduce(data.data(), data.size(), kFloat, ReduceOp::SUM, job.next(milliseconds(10'000)));
  });
}

void leaves(Job& job) {
  const EnginePtr engine = job.make("all");
  engine->barrier(job.next());
  if (job.rank == 1) std::exit(5);
  job.must_throw("barrier without rank 1", milliseconds(0), milliseconds(15'000),
                 [&] { engine->barrier(job.next(milliseconds(10'000))); });
}

void refused(Job& job) {
  const std::string message = job.must_throw("make()", milliseconds(0), milliseconds(20'000), [&] { job.make("all"); });
  job.failures += message + "\n";
}

// ---- time

void timing(Job& job) {
  const EnginePtr engine = job.make("all");
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{516'000}, std::size_t{25'000'000}}) {
    std::vector<float> data(bytes / 4, 1e-3f);
    const int calls = bytes > 1'000'000 ? 20 : 200;
    std::vector<double> times;
    for (int i = 0; i < calls + 3; ++i) {
      engine->barrier(job.next());
      const auto start = steady_clock::now();
      engine->all_reduce(data.data(), data.size(), kFloat, ReduceOp::SUM, job.next());
      times.push_back(std::chrono::duration<double, std::milli>(steady_clock::now() - start).count());
      if (i < 3) times.clear();
    }
    std::sort(times.begin(), times.end());
    char line[100];
    std::snprintf(line, sizeof(line), "%zu bytes: median %.3f ms, best %.3f ms\n", bytes, times[times.size() / 2],
                  times[0]);
    job.failures += line;
  }
}

int from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? -1 : std::atoi(text);
}

const EnginePlugin* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto* plugin = static_cast<const EnginePlugin*>(dlsym(library, "tandem_engine_plugin"));
  if (plugin == nullptr || plugin->version != EnginePlugin::kVersion)
    throw std::runtime_error(std::string(path) + " is no plugin of this version");
  return plugin;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    std::fprintf(stderr, "usage: engine_test PLUGIN FOLDER WHAT [RANK SIZE]\n");
    return 2;
  }
  const std::vector<std::pair<std::string, void (*)(Job&)>> all = {{"collectives", collectives},
                                                                   {"groups", groups},
                                                                   {"transports", transports},
                                                                   {"messages_fail", messages_fail},
                                                                   {"stall", stall},
                                                                   {"aborted", aborted},
                                                                   {"killed", killed},
                                                                   {"leaves", leaves},
                                                                   {"refused", refused},
                                                                   {"timing", timing}};
  const auto what = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == argv[3]; });
  try {
    if (what == all.end()) throw std::runtime_error(std::string("unknown: ") + argv[3]);
    Job job{load(argv[1]), argv[2], argc == 6 ? std::atoi(argv[4]) : from_environment("OMPI_COMM_WORLD_RANK"),
            argc == 6 ? std::atoi(argv[5]) : from_environment("OMPI_COMM_WORLD_SIZE")};
    what->second(job);
    const std::string counts = std::to_string(job.passed) + " passed, " + std::to_string(job.failed) + " failed\n";
    FolderStore(job.folder).set("report-" + std::to_string(job.rank), job.failures + counts);
    return job.failed > 0 ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "engine_test: %s\n", error.what());
    return 3;
  }
}
