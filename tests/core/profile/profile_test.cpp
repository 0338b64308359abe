// The profiler: the trace parses, its spans nest, and it names what ran; threads, limits, devices with
// queues, paths that cannot be written.
#include "tandem/core/profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/backend/optim.h"
#include "tandem/core/backend/random.h"
#include "tandem/core/backend/reduce.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/profile/profile_spans.h"
#include "tandem/datasets/job_queue.h"
#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

namespace {

using namespace tandem;
using nlohmann::json;

struct Span {
  std::string name, category, detail;
  double begin, end;
  int64_t track;
};

struct Trace {
  std::vector<Span> spans;
  std::map<int64_t, std::string> tracks;
  std::map<std::string, std::vector<int64_t>> held;  // bytes over time, per counter
  std::vector<double> held_at;                       // the times of all
  json other;

  explicit Trace(const std::string& path) {
    const json all = json::parse(test::read_file(path));
    other = all.at("otherData");
    for (const json& e : all.at("traceEvents")) {
      if (e.at("ph") == "M") {
        if (e.at("name") == "thread_name") tracks[e.at("tid")] = e.at("args").at("name");
        continue;
      }
      if (e.at("ph") == "C") {
        held[e.at("name")].push_back(e.at("args").at("bytes"));
        held_at.push_back(e.at("ts"));
        continue;
      }
      CHECK(e.at("ph") == "X");
      const double begin = e.at("ts"), length = e.at("dur");
      spans.push_back({e.at("name"), e.at("cat"), e.contains("args") ? e["args"]["detail"] : json(""), begin,
                       begin + length, e.at("tid")});
    }
  }
  const Span* find(const std::string& name) const {
    for (const Span& span : spans)
      if (span.name == name) return &span;
    return nullptr;
  }
  int count(const std::string& name) const {
    int n = 0;
    for (const Span& span : spans) n += span.name == name;
    return n;
  }
  bool within(const std::string& inner, const std::string& outer) const {
    const Span *a = find(inner), *b = find(outer);
    return a != nullptr && b != nullptr && a->track == b->track && a->begin >= b->begin && a->end <= b->end;
  }
};

// Whether any two spans of one track are disjoint or nested.
bool nested(const std::vector<Span>& spans) {
  constexpr double kRounding = 0.002;  // in microseconds; times are whole nanoseconds
  for (const Span& a : spans)
    for (const Span& b : spans)
      if (a.track == b.track && a.begin < b.begin && b.begin < a.end - kRounding && b.end > a.end + kRounding)
        return false;
  return true;
}

struct Profiled {
  test::TempFolder folder;
  std::string path = folder / "trace.json";
  explicit Profiled(int64_t most = profiler::kMaxSpans) { profiler::start(path, most); }
  ~Profiled() { profiler::stop(); }
  Trace trace() {
    profiler::stop();
    return Trace(path);
  }
};

void train_a_step() {
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3));
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1));
  profiler::Record step("step");
  optimizer.zero_grad();
  Tensor loss;
  {
    profiler::Record span("forward");
    loss = cross_entropy_loss(net->forward(randn({5, 4})), zeros({5}, kLong));
  }
  loss.backward();
  optimizer.step();
}

}  // namespace

TEST_CASE("a training step: names, shapes, nesting") {
  Profiled profile;
  train_a_step();
  const Trace trace = profile.trace();
  for (const char* name :
       {"step", "forward", "Linear", "ReLU", "linear", "relu", "cross_entropy_loss", "backward", "LinearBackward",
        "ReluBackward", "relu_backward", "AccumulateGrad", "SGD::step", "sgd", "zero_grad", "normal_"})
    CHECK_MESSAGE(trace.find(name) != nullptr, std::string(name));
  CHECK(nested(trace.spans));
  CHECK(trace.within("forward", "step"));
  CHECK(trace.within("linear", "forward"));
  CHECK(trace.within("linear", "Linear"));
  CHECK(trace.within("relu_backward", "ReluBackward"));
  CHECK(trace.within("ReluBackward", "backward"));
  CHECK(trace.within("sgd", "SGD::step"));
  CHECK_FALSE(trace.within("sgd", "backward"));
  CHECK(trace.find("linear")->detail.starts_with("float32 [5, 8] [5, 4] [8, 4]"));
  CHECK(trace.find("linear")->category == "kernel");
  CHECK(trace.find("LinearBackward")->category == "backward");
  CHECK(trace.tracks.at(trace.find("step")->track) == "main");
  CHECK(trace.other.at("dropped_spans") == 0);
  CHECK(trace.other.at("spans") == static_cast<int64_t>(trace.spans.size()));
}

TEST_CASE("a convolution's span contains that of its method") {
  Profiled profile;
  conv2d(randn({2, 3, 8, 8}), randn({4, 3, 3, 3}).requires_grad_(), {}, 1, "same").sum().backward();
  const Trace trace = profile.trace();
  CHECK(trace.within("conv2d_columns", "conv2d"));
  CHECK(trace.within("conv2d_shallow", "conv2d_backward_weight"));
  CHECK(trace.find("conv2d_columns")->category == "method");
}

TEST_CASE("a kernel's span tells its dtype, shapes and layouts, or its devices and bytes") {
  const int devices = cpu::device_count();
  cpu::set_device_count(2);
  Profiled profile;
  const Tensor image = ones({1, 2, 2, 3}, kDouble).contiguous(MemoryFormat::ChannelsLast),
               volume = ones({1, 2, 2, 2, 3}).contiguous(MemoryFormat::ChannelsLast3d), weight = ones({3}, kDouble);
  image.relu();
  volume.exp();
  ones({2}, kInt) * 3;
  cat(std::vector<Tensor>(9, ones({1})));
  weight.mutable_grad() = ones({3}, kDouble);
  optim::SGD({weight}, optim::SGDOptions(0.1)).step();
  ones({3}).to(Device(kCPU, 1));
  synchronize(Device(kCPU, 1));
  const Trace trace = profile.trace();
  cpu::set_device_count(devices);
  const std::pair<const char*, const char*> details[] = {
      {"relu", "float64 [1, 2, 2, 3] nhwc [1, 2, 2, 3] nhwc"},
      {"exp", "float32 [1, 2, 2, 2, 3] ndhwc [1, 2, 2, 2, 3..."},
      {"mul", "int32 [2] [2]"},
      {"cat", "float32 [9] [1] [1] [1] [1] [1] [1] [1]"},  // the first eight tensors
      {"sgd", "float64 [3] [3]"},
      {"copy_bytes", "cpu:0 to cpu:1, 12 bytes"},
      {"synchronize", "cpu:1"}};
  for (const auto& each : details) {
    CAPTURE(each.first);
    const Span* span = trace.find(each.first);
    REQUIRE(span != nullptr);
    CHECK(span->detail == each.second);
  }
}

TEST_CASE("every kernel of the table has a name, except runtime functions") {
  CHECK(cpu_backend().linalg.matmul.name() == std::string("matmul"));
  CHECK(cpu_backend().optim.adagrad.name() == std::string("adagrad"));
  CHECK(cpu_backend().reduce.min_index.name() == std::string("min"));
  CHECK(cpu_backend().copy.fill.name() == std::string("fill"));
  CHECK(cpu_backend().random.multinomial.name() == std::string("multinomial"));
  CHECK(cpu_backend().runtime.copy_bytes.name() == std::string("copy_bytes"));
  CHECK(cpu_backend().runtime.synchronize.name() == std::string("synchronize"));
  CHECK(cpu_backend().runtime.synchronize_stream.name() == std::string("synchronize_stream"));
  CHECK(cpu_backend().runtime.synchronize_event.name() == std::string("synchronize_event"));
  CHECK(cpu_backend().runtime.allocate.name() == std::string());
  CHECK(cpu_backend().runtime.elapsed_ms.name() == std::string());
  CHECK(cpu_backend().unary.value.get<ops::Relu>().name() == std::string("relu"));
  CHECK(cpu_backend().unary.gradient.get<ops::Relu>().name() == std::string("relu_backward"));
}

TEST_CASE("off: nothing is recorded, nothing is written") {
  test::TempFolder folder;
  CHECK_FALSE(profiler::is_on());
  train_a_step();
  profiler::stop();
  CHECK(folder.entries() == 0);
  {  // begun before the start or ended after the end: not in the file
    profiler::Record before("before");
    profiler::start(folder / "a.json");
    { profiler::Record inside("inside"); }
  }
  {
    profiler::Record late("late");
    profiler::stop();
  }
  const Trace trace(folder / "a.json");
  CHECK(trace.count("inside") == 1);
  CHECK(trace.spans.size() == 1);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a second profile has its own spans") {
  test::TempFolder folder;
  for (const char* name : {"first", "second"}) {
    profiler::start(folder / (name + std::string(".json")));
    { profiler::Record span(name); }
    CHECK_THROWS_WITH_AS(profiler::start(folder / "third.json"), doctest::Contains("already"), Error);
    profiler::stop();
  }
  CHECK(Trace(folder / "first.json").count("second") == 0);
  CHECK(Trace(folder / "second.json").spans.size() == 1);
  CHECK(folder.entries() == 2);
}

TEST_CASE("each thread has its own track") {
  Profiled profile;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      profiler::name_thread(concat("own ", i).c_str());
      for (int k = 0; k < 1000; ++k) {
        profiler::Record outer(concat("work ", i));
        profiler::Record inner("inner");
      }
    });
  for (auto& thread : threads) thread.join();
  data::detail::JobQueue queue(1, true);
  queue.push(0, [](int) -> data::detail::JobQueue::Result { return std::make_shared<int>(1); });
  queue.pop({});
  const Trace trace = profile.trace();
  std::set<int64_t> tracks;
  for (int i = 0; i < 4; ++i) {
    CHECK(trace.count(concat("work ", i)) == 1000);
    const Span* span = trace.find(concat("work ", i));
    REQUIRE(span != nullptr);
    CHECK(trace.tracks.at(span->track) == concat("own ", i));
    tracks.insert(span->track);
  }
  CHECK(tracks.size() == 4);
  CHECK(trace.count("inner") == 4000);
  REQUIRE(trace.find("make batch") != nullptr);
  CHECK(trace.tracks.at(trace.find("make batch")->track) == "data worker 0");
  CHECK(trace.find("wait for batch") != nullptr);
}

TEST_CASE("a profile may end while threads are recording") {
  test::TempFolder folder;
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!end) {
        profiler::Record outer("outer");
        profiler::Record inner("inner");
      }
    });
  for (int round = 0; round < 20; ++round) {
    profiler::start(folder / "trace.json", 5000);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    profiler::stop();
    const Trace trace(folder / "trace.json");
    CHECK(trace.spans.size() <= 5000);
  }
  end = true;
  for (auto& thread : threads) thread.join();
}

TEST_CASE("spans above the limit are counted") {
  Profiled profile(100);
  for (int i = 0; i < 250; ++i) profiler::Record span("many");
  const Trace trace = profile.trace();
  CHECK(trace.spans.size() == 100);
  CHECK(trace.other.at("dropped_spans") == 150);
  CHECK(trace.other.at("most_spans") == 100);
}

TEST_CASE("memory: the bytes held, and the largest tensors at the peak") {
  constexpr int64_t kMiB = 1 << 20;
  Tensor old = ones({5 * kMiB / 4});
  Profiled profile;
  Tensor kept = ones({kMiB / 4});
  {
    profiler::Record span("outer");
    const Tensor sum = kept + kept, large = zeros({3 * kMiB / 4});
    CHECK_THROWS_WITH_AS(cpu::allocate(~std::size_t{0}), doctest::Contains("3.0 MiB on cpu"), Error);
  }
  kept = old = Tensor();
  { profiler::Record after("after"); }
  const Trace trace = profile.trace();
  REQUIRE(trace.other.at("memory").size() == 1);
  const json memory = trace.other.at("memory").at(0);
  const int64_t before = memory.at("held_before"), peak = memory.at("peak_bytes");
  CHECK(before >= 5 * kMiB);
  CHECK(peak >= before + 5 * kMiB);
  CHECK(peak < before + 6 * kMiB);
  CHECK(memory.at("largest").at(0).at("bytes") == 3 * kMiB);
  CHECK(memory.at("largest").at(0).at("inside") == "outer");
  int found = 0;
  for (const json& held : memory.at("largest"))
    found += held.at("kernel") == "add" && held.at("inside") == "outer" && held.at("bytes") == kMiB &&
             held.at("detail").get<std::string>().starts_with("float32 [262144]");
  CHECK(found == 1);
  const auto& bytes = trace.held.at("tensors on " + Device(kCPU, 0).str());
  CHECK(*std::max_element(bytes.begin(), bytes.end()) == peak);
  CHECK(bytes.back() < before - 4 * kMiB);  // without the old one, too
  CHECK(std::is_sorted(trace.held_at.begin(), trace.held_at.end()));
  CHECK(trace.held_at.front() >= 0);
  CHECK(trace.held_at.back() <= trace.find("after")->begin);
  CHECK_THROWS_WITH_AS(cpu::allocate(~std::size_t{0}), doctest::Contains("TANDEM_PROFILE"), Error);
}

TEST_CASE("storages above the limit are counted, and freeing them is not") {
  Profiled profile(100);
  std::vector<Tensor> many;
  for (int i = 0; i < 250; ++i) many.push_back(empty({10000}));
  many.clear();
  const Trace trace = profile.trace();
  CHECK(trace.other.at("dropped_storages") == 150);
  const json& memory = trace.other.at("memory").at(0);
  const int64_t before = memory.at("held_before"), peak = memory.at("peak_bytes");
  CHECK(peak == before + 100 * 40000);
  CHECK(std::abs(trace.held.begin()->second.back() - before) <= peak / 500);  // smaller changes are left out
}

TEST_CASE("names with arbitrary bytes produce a valid file") {
  Profiled profile;
  { profiler::Record span("a \"quoted\" \\ name\n\t\x01"); }
  { profiler::Record span("broken \xff\xc3 utf-8 \xe4\xb8\xad"); }
  { profiler::Record span(""); }
  const Trace trace = profile.trace();
  CHECK(trace.count("a \"quoted\" \\ name\n\t\x01") == 1);
  CHECK(trace.count("broken \xef\xbf\xbd\xef\xbf\xbd utf-8 \xe4\xb8\xad") == 1);
  CHECK(trace.count("") == 1);
}

TEST_CASE("UTF-8 is kept; of other bytes, each is replaced") {
  const char* valid[] = {"\x7f",         "\xc2\x80",         "\xdf\xbf",         "\xe0\xa0\x80",
                         "\xe1\x80\xbf", "\xec\xbf\x80",     "\xed\x9f\xbf",     "\xee\x80\x80",
                         "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf1\x80\x80\x80", "\xf4\x8f\xbf\xbf"};
  // Parts of characters, characters that are longer than they need be, surrogates, and numbers that are too large.
  const char* invalid[] = {"\x80",
                           "\xbf",
                           "\xc0\x80",
                           "\xc1\xbf",
                           "\xc2",
                           "\xe0\x9f\xbf",
                           "\xe1\x80",
                           "\xed\xa0\x80",
                           "\xed\xbf\xbf",
                           "\xf0\x8f\xbf\xbf",
                           "\xf1\x80\x80",
                           "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80",
                           "\xff"};
  Profiled profile;
  for (const char* text : valid) profiler::Record span(concat("good ", text, "."));
  for (const char* text : invalid) profiler::Record span(concat("bad ", text, "."));
  const Trace trace = profile.trace();
  for (const char* text : valid) CHECK(trace.count(concat("good ", text, ".")) == 1);
  std::map<std::size_t, int> bad;  // by length
  for (const char* text : invalid) ++bad[std::strlen(text)];
  for (const auto& [length, count] : bad) {
    std::string replaced = "bad ";
    for (std::size_t i = 0; i < length; ++i) replaced += "\xef\xbf\xbd";
    CHECK(trace.count(replaced + ".") == count);
  }
}

TEST_CASE("a tensor is listed with what its own thread did") {
  Profiled profile;
  {
    profiler::Record span("own");
    std::promise<void> began, made;
    std::thread other([&] {
      profiler::Record later("of another thread");
      began.set_value();
      made.get_future().wait();
      ones({1});
    });
    began.get_future().wait();
    const Tensor large = zeros({1 << 20});
    made.set_value();
    other.join();
  }
  const json listed = profile.trace().other.at("memory").at(0).at("largest").at(0);
  CHECK(listed.at("bytes") == 4 << 20);
  CHECK(listed.at("inside") == "own");
  CHECK(listed.at("kernel") == "fill");
}

TEST_CASE("paths that cannot be written") {
  test::TempFolder folder;
  for (const std::string& path : {folder / "missing/trace.json", folder.path(), std::string("")}) {
    CHECK_THROWS_AS(profiler::start(path), Error);
    CHECK_FALSE(profiler::is_on());
  }
  CHECK_THROWS_WITH_AS(profiler::start(folder / "trace.json", 0), doctest::Contains("at least one"), Error);
  test::write_file(folder / "old.json", "old");
  profiler::start(folder / "old.json");
  CHECK(test::read_file(folder / "old.json") == "old");  // all or nothing
  profiler::stop();
  CHECK(Trace(folder / "old.json").spans.empty());
  profiler::start(folder / "of-%p.json");
  profiler::stop();
  CHECK(Trace(folder / concat("of-", getpid(), ".json")).other.at("process_id") == getpid());
}

TEST_CASE("a long note is cut") {
  char note[48];
  profiler::detail::set_note(note, std::string(47, 'x'));
  CHECK(std::string(note) == std::string(47, 'x'));
  profiler::detail::set_note(note, std::string(48, 'x'));
  CHECK(std::string(note) == std::string(44, 'x') + "...");
}

namespace {

// A device with a queue. Each recorded event advances the time by 1 ms; events are numbers.
struct FakeDevice {
  inline static double now_ms = 0;
  inline static int alive = 0, waits = 0;
  inline static bool broken = false;
  static RuntimeKernels table() {
    RuntimeKernels t = cpu_backend().runtime;
    t.create_event = +[]() -> void* {
      ++alive;
      return new double(0);
    };
    t.destroy_event = +[](void* event) {
      --alive;
      delete static_cast<double*>(event);
    };
    t.record_event = +[](void* event, StreamHandle) {
      check(!broken, "the device is gone");
      *static_cast<double*>(event) = ++now_ms;
    };
    t.synchronize_event = +[](void*) {
      check(!broken, "the device is gone");
      ++waits;
    };
    t.elapsed_ms = +[](void* from, void* to) { return *static_cast<double*>(to) - *static_cast<double*>(from); };
    return t;
  }
};

}  // namespace

TEST_CASE("device spans: read in batches, timed by events, and events are reused") {
  using namespace profiler::detail;
  const RuntimeKernels table = FakeDevice::table();
  FakeDevice::waits = FakeDevice::alive = 0;
  Budget budget(1000);
  {
    const int64_t start = nanoseconds_now() - 5'000'000;
    StreamTrack track(table, {Device(kCPU, 0), nullptr}, start, budget, 10);
    CHECK(FakeDevice::waits == 1);  // for its anchor
    for (int i = 0; i < 25; ++i) track.add(track.mark(), profiler::detail::Span{.name = "k", .category = "kernel"});
    CHECK(FakeDevice::waits == 1 + 2 * 2);  // two batches: the last event and a new anchor
    CHECK(FakeDevice::alive <= 1 + 2 * 10);
    track.resolve();
    int64_t count = 0, last = -1;
    track.spans().each([&](const profiler::detail::Span& span) {
      ++count;
      CHECK(span.end_ns - span.begin_ns == 1'000'000);
      if (count % 10 != 1)
        CHECK(span.begin_ns - last == 1'000'000);
      else  // 1 ms after an anchor, which is at the host's time
        CHECK((span.begin_ns >= 6'000'000 && span.begin_ns <= 1'000'000 + nanoseconds_now() - start));
      last = span.end_ns;
    });
    CHECK(count == 25);
    CHECK(budget.dropped == 0);
  }
  CHECK(FakeDevice::alive == 0);
}

TEST_CASE("spans of a failing device are dropped and counted") {
  using namespace profiler::detail;
  const RuntimeKernels table = FakeDevice::table();
  FakeDevice::alive = 0;
  Budget budget(1000);
  {
    StreamTrack track(table, {Device(kCPU, 0), nullptr}, nanoseconds_now(), budget, 10);
    void* begin = track.mark();
    track.add(begin, profiler::detail::Span{.name = "k", .category = "kernel"});
    begin = track.mark();
    FakeDevice::broken = true;
    CHECK(track.mark() == nullptr);
    track.add(begin, profiler::detail::Span{.name = "k", .category = "kernel"});
    track.resolve();
    FakeDevice::broken = false;
    CHECK(budget.dropped == 2);
  }
  CHECK(FakeDevice::alive == 0);
}
