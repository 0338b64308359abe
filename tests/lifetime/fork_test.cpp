// Forked children of a process with computing threads: whatever those threads held at the fork, the child can
// compute on the CPU.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;

namespace {

// Forks. `body` runs in the child, within half a minute, and returns whether it succeeded.
bool child_succeeds(const std::function<bool()>& body, bool by_exit = false) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    bool right = false;
    try {
      right = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    by_exit ? std::exit(right ? 0 : 1) : _exit(right ? 0 : 1);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) MESSAGE("the child ended by signal " << WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

using Works = std::vector<std::function<void()>>;

// Threads that repeat one action until the scope ends.
class Busy {
 public:
  explicit Busy(const Works& works) {
    for (const auto& work : works)
      threads_.emplace_back([this, work] {
        while (!stop_) work();
      });
  }
  ~Busy() {
    stop_ = true;
    for (auto& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

struct Twice : autograd::Function<Twice> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) { return {g[0] * 2}; }
};

struct Numbers : data::datasets::Dataset<Numbers> {
  data::Example<> get(size_t i) override { return {full({8}, static_cast<double>(i)), zeros({1})}; }
  optional<size_t> size() const override { return 64; }
};
auto loader_of(int workers) {
  return data::make_data_loader<data::samplers::SequentialSampler>(
      Numbers().map(data::transforms::Stack<>()),
      data::DataLoaderOptions(8).workers(static_cast<size_t>(workers)).max_jobs(4));
}
double sum_of_epoch(int workers) {
  auto loader = loader_of(workers);
  double sum = 0;
  for (auto& batch : *loader) sum += batch.data.sum().item<double>();
  return sum;
}
constexpr double kSumOfEpoch = 8.0 * 63 * 64 / 2;

bool backward_is_right() {
  Tensor x = ones({4}).requires_grad_();
  (Twice::apply(x) * 3).sum().backward();
  return x.grad()[3].item<double>() == 6;
}

// Computes with `threads` threads; also draws from the default generator and creates a loader.
bool computes(int threads) {
  set_num_threads(threads);
  const Tensor product = matmul(ones({256, 256}), ones({256, 256}));
  const bool right = product.sum().item<double>() == 256.0 * 256 * 256;
  return right && backward_is_right() && randn({8}).numel() == 8 && sum_of_epoch(1) == kSumOfEpoch;
}

void multiply_matrices() { matmul(randn({160, 160}), randn({160, 160})); }
void differentiate() { backward_is_right(); }
void load_epoch() { sum_of_epoch(2); }
void allocate_much() {
  std::vector<Tensor> kept;
  for (int i = 0; i < 200; ++i) kept.push_back(empty({1 + 97 * i}));
}

}  // namespace

TEST_CASE("children of a computing process") {
  set_num_threads(2);
  const Busy busy(Works{multiply_matrices, differentiate, load_epoch, allocate_much});
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    REQUIRE(child_succeeds([&] { return computes(1 + i % 3); }));
  }
}

TEST_CASE("a child has its own threads, as many as its parent, and may change their number") {
  set_num_threads(4);
  const auto count = [] {
    std::atomic<int64_t> sum{0};
    parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    return sum.load();
  };
  CHECK(count() == 1000);  // the threads have started
  CHECK(child_succeeds([&] {
    const bool right = count() == 1000 && device_num_threads() == 4;
    set_num_threads(1);
    return right && count() == 1000 && device_num_threads() == 1;
  }));
  CHECK(count() == 1000);
}

TEST_CASE("a child uses the model that other threads use") {
  set_num_threads(2);
  nn::Linear model(16, 4);
  const Tensor x = ones({8, 16});
  const auto use = [&] { autograd::grad({model->forward(x).sum()}, model->parameters()); };
  const auto accumulate = [&] { model->forward(x).sum().backward(); };
  const Generator generator(3);
  const auto draw = [&] { generator.next(); };
  const Busy busy(Works{use, accumulate, draw});
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    REQUIRE(child_succeeds([&] {
      use();
      model->forward(x).sum().backward();
      draw();
      return model->weight.grad().defined();
    }));
  }
}

TEST_CASE("a child of a profiled process") {
  const test::TempFolder folder;
  set_num_threads(2);
  profiler::start(folder / "trace.json");
  {
    const Busy busy(
        Works{multiply_matrices, differentiate, [] { const profiler::Record span(std::to_string(std::rand())); }});
    for (int i = 0; i < 50; ++i) {
      CAPTURE(i);
      REQUIRE(child_succeeds([&] {
        const bool off = !profiler::is_on();
        profiler::start(folder / "child.json");
        const bool right = computes(2);
        profiler::stop();
        return off && right;
      }));
    }
  }
  profiler::stop();
}

TEST_CASE("loaders of the parent") {
  auto fresh = loader_of(2), begun = loader_of(2), alone = loader_of(0);
  auto batch = begun->begin();
  auto own = alone->begin();
  // Destroyed by exit(): their destructors have no threads to wait for.
  static auto held = loader_of(2);
  held->begin();
  CHECK(child_succeeds(
      [&] {
        const std::string said = error_of([&] { ++batch; });
        double sum = 0;
        for (auto& b : *begun) sum += b.data.sum().item<double>();
        for (auto& b : *fresh) sum += b.data.sum().item<double>();
        ++own;
        begun.reset();
        return said.find("forked during an epoch") != std::string::npos && sum == 2 * kSumOfEpoch &&
               own->data[0][0].item<double>() == 8;
      },
      true));
  ++batch;
  CHECK(batch->data[0][0].item<double>() == 8);

  data::BatchLoader rows({arange(8).view({8, 1})}, {.batch_size = 2, .workers = 2});
  CHECK(rows.next()->at(0)[1].item<int64_t>() == 1);
  CHECK(child_succeeds([&] {
    for (int i = 0; i < 2; ++i)
      if (error_of([&] { rows.next(); }).find("forked during an epoch") == std::string::npos) return false;
    return true;
  }));
  CHECK(rows.next()->at(0)[1].item<int64_t>() == 3);
}

TEST_CASE("a fork inside code that the library calls") {
  set_num_threads(2);
  SUBCASE("in a body of parallel_for") {
    const auto fork_in_body = [] {
      pid_t child = -1;
      std::atomic<bool> once{false};
      const std::thread::id self = std::this_thread::get_id();
      parallel_for(64, 1, [&](int64_t, int64_t) {
        if (std::this_thread::get_id() != self)
          while (!once) std::this_thread::yield();  // leaves some to the calling thread
        else if (!once.exchange(true))
          child = fork();
      });
      return child;
    };
    std::fflush(nullptr);
    const pid_t parent = getpid();
    pid_t child = -1;
    const std::string said = error_of([&] { child = fork_in_body(); });
    if (getpid() != parent) {
      alarm(30);
      _exit(said.find("parallel_for: the process was forked") != std::string::npos && computes(2) ? 0 : 1);
    }
    int status = -1;
    REQUIRE(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  SUBCASE("in a hook of backward") {
    Tensor x = ones({4}).requires_grad_();
    bool right = false;
    x.register_hook([&](const Tensor&) {
      right = child_succeeds([] {
        const AutoGradMode recorded(true);
        return computes(2);
      });
    });
    (x * 2).sum().backward();
    CHECK(right);
  }
}

TEST_CASE("replicas in a child") {
  const int before = cpu::device_count();
  cpu::set_device_count(2);
  const nn::Linear model(8, 2);
  const auto run = [&] {
    const Tensor out =
        nn::parallel::data_parallel(model, ones({6, 8}), std::vector<Device>{Device("cpu:0"), Device("cpu:1")});
    out.sum().backward();
    return out.size(0) == 6;
  };
  CHECK(run());
  CHECK(child_succeeds(run));
  CHECK(run());
  cpu::set_device_count(before);
}

TEST_CASE("CUDA in a child") {
  if (device_count(kCUDA) == 0) {
    MESSAGE("skipped: no CUDA device");
    return;
  }
  Tensor held = ones({4}, TensorOptions().device(kCUDA));
  CHECK(child_succeeds(
      [&] {
        const std::string said = error_of([] { ones({4}, TensorOptions().device(kCUDA)); });
        held.reset();  // its memory belongs to the parent
        return said.find("CUDA cannot be used in a forked child") != std::string::npos && computes(2);
      },
      true));
  CHECK(held.sum().item<double>() == 4);
}
