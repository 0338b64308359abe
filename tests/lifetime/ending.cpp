// ending MODE [PLUGIN]: ends the process as MODE says; exit code 0 if objects may outlive the library's own.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

// A graph whose nodes are destroyed recursively.
Tensor graph(Device device = kCPU) {
  Tensor x = ones({4}, TensorOptions().device(device)).requires_grad_(), t = x;
  for (int i = 0; i < 3; ++i) t = t * 1.0;
  return x * 1.0 + x * 0.5;
}

// Uses the memory that the library keeps per thread.
void compute() {
  const NoGradGuard no_grad;
  AutoGradMode recorded(true);
  nn::Sequential net(nn::Conv2d(1, 4, 3), nn::ReLU(), nn::Flatten(), nn::Linear(4 * 36, 10));
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const Tensor loss = net->forward(randn({16, 1, 8, 8})).pow(2).mean();
  loss.backward();
  optimizer.step();
  const Tensor sorted = std::get<0>(matmul(randn({64, 64}), randn({64, 64})).sort());
  if (!sorted.defined() || loss.grad().defined()) std::abort();
}

struct Late {
  Tensor kept;
  bool computes = false;
  ~Late() {
    if (!computes) return;
    compute();
    kept = graph();
    kept.sum().backward();
  }
};

std::atomic<bool> begun{false};
struct Counting : data::datasets::Dataset<Counting> {
  data::Example<> get(size_t i) override {
    if (ends_at == static_cast<int>(i)) {
      begun.wait(false);  // nobody may use the loader while exit() destroys it
      std::exit(0);
    }
    return {full({8}, static_cast<double>(i)).requires_grad_() * 2, zeros({1})};
  }
  optional<size_t> size() const override { return 512; }
  int ends_at = -1;
};
auto loader_of(int ends_at) {
  Counting counting;
  counting.ends_at = ends_at;
  return data::make_data_loader<data::samplers::SequentialSampler>(counting.map(data::transforms::Stack<>()),
                                                                   data::DataLoaderOptions(4).workers(2).max_jobs(8));
}
using Loader = decltype(loader_of(0));

// In construction order; the last one is destroyed first.
Late global;
thread_local Late of_thread;
Loader global_loader;
std::shared_ptr<nn::Linear> global_model;
std::unique_ptr<optim::Adam> global_optimizer;

void after(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// Starts threads that compute until the process is gone.
void compute_forever(int count) {
  for (int i = 0; i < count; ++i)
    std::thread([] {
      of_thread.kept = graph();
      for (;;) compute();
    }).detach();
  after(30);
}

struct EndsInBackward : autograd::Function<EndsInBackward> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list) { std::exit(0); }
};

void use_plugin(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  reinterpret_cast<void (*)()>(dlsym(plugin, "use"))();
  if (dlclose(plugin) != 0) std::abort();
}

using Modes = std::map<std::string, std::function<void(const char* plugin)>>;

const Modes& modes() {
  static const Modes* const all = new Modes{
      {"global", [](const char*) { global.kept = graph(); }},
      {"tensors on a GPU",
       [](const char*) {
         if (device_count(kCUDA) == 0) return;
         global.kept = graph(kCUDA);
         of_thread.kept = graph(kCUDA);
         std::thread([] { of_thread.kept = graph(kCUDA); }).join();
       }},
      {"thread_local of main", [](const char*) { of_thread.kept = graph(); }},
      {"thread_local of a thread", [](const char*) { std::thread([] { of_thread.kept = graph(); }).join(); }},
      {"global that computes",
       [](const char*) {
         global.computes = true;
         compute();
       }},
      {"thread_local of main that computes",
       [](const char*) {
         of_thread.computes = true;
         compute();
       }},
      {"thread_local of a thread that computes",
       [](const char*) {
         for (int i = 0; i < 3; ++i)
           std::thread([] {
             of_thread.computes = true;
             compute();
           }).join();
       }},
      {"tensors of an ended thread",
       [](const char*) {
         std::thread([] { global.kept = graph(); }).join();
         of_thread.kept = global.kept;
       }},
      {"threads that outlive main", [](const char*) { compute_forever(3); }},
      {"a thread that ends late",
       [](const char*) {
         std::thread([] {
           of_thread.kept = graph();
           after(20);
         }).detach();
         global.computes = true;
       }},
      {"exit in a thread",
       [](const char*) {
         compute_forever(2);
         global.kept = graph();
         of_thread.kept = graph();
         std::thread([] {
           of_thread.kept = graph();
           std::exit(0);
         }).detach();
         for (;;) compute();
       }},
      {"exit in backward", [](const char*) { EndsInBackward::apply(ones({2}).requires_grad_()).sum().backward(); }},
      {"loader in the middle of an epoch",
       [](const char*) {
         global_loader = loader_of(-1);
         global.kept = global_loader->begin()->data;
       }},
      {"exit in a worker of a loader",
       [](const char*) {
         global_loader = loader_of(20);
         global_loader->begin();  // requests more than it takes
         begun = true;
         begun.notify_all();
         for (;;) after(1000);
       }},
      {"model, optimizer and replicas",
       [](const char*) {
         cpu::set_device_count(2);
         global_model = std::make_shared<nn::Linear>(8, 2);
         global_optimizer = std::make_unique<optim::Adam>((*global_model)->parameters(), optim::AdamOptions(0.1));
         const Tensor out = nn::parallel::data_parallel(*global_model, ones({6, 8}),
                                                        std::vector<Device>{Device("cpu:0"), Device("cpu:1")});
         out.sum().backward();
         global_optimizer->step();
         global.kept = out;
       }},
      {"plugin",
       [](const char* plugin) {
         for (int i = 0; i < 5; ++i) use_plugin(plugin);
       }},
      {"plugin of a thread",
       [](const char* plugin) {
         for (int i = 0; i < 5; ++i) std::thread([plugin] { use_plugin(plugin); }).join();
         after(20);
       }},
  };
  return *all;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "--list") == 0) {
    for (const auto& mode : modes()) std::puts(mode.first.c_str());
    return 0;
  }
  set_num_threads(2);
  static_cast<void>(
      of_thread.computes);  // constructed before the library's objects of this thread, so destroyed after them
  modes().at(arguments[1])(count > 2 ? arguments[2] : nullptr);
  return 0;
}
