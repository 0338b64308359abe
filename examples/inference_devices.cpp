// Inference on chosen devices: ResNet-50 and ResNet-18, with weights from files, each on the fourth device; then
// several threads and several processes, each with its own model on its own device.
//
//   inference_devices [--device NAME] [--size N] [--batch N] [--seconds X] [--processes N] [--weights DIR]
//   inference_devices --help
//   tandem launch -n 4 inference_devices --worker     the processes, started by the launcher
//
// The fourth device is cuda:3 if there are four GPUs among those in CUDA_VISIBLE_DEVICES (or logical ones:
// TANDEM_CUDA_DEVICES=4), otherwise cpu:3, one of four logical devices that share the cores.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/device_threads.h"
#include "tandem/models/models.h"
#include "tandem/tandem.h"

using namespace tandem;

constexpr const char* kUsage =
    "usage: inference_devices [OPTIONS]\n"
    "  --device NAME    device of the first part (cuda:3 if there is one, else cpu:3)\n"
    "  --size N         height and width of the images (64)\n"
    "  --batch N        images per call (2)\n"
    "  --seconds X      time of each measurement (0.3)\n"
    "  --processes N    processes that run at once (2)\n"
    "  --weights DIR    has resnet18.safetensors and resnet50.safetensors; default: random weights, in a "
    "temporary folder\n"
    "  --worker         be one of several processes, as tandem launch starts them\n";

struct Settings {
  std::string device, weights;
  int64_t size = 64, batch = 2, processes = 2;
  double seconds = 0.3;
  bool worker = false;
};

// A folder with random weights, removed at the end.
struct RandomWeights {
  explicit RandomWeights(bool small_only) {
    std::string pattern = (std::filesystem::temp_directory_path() / "inference-XXXXXX").string();
    check(::mkdtemp(pattern.data()) != nullptr, "cannot create ", pattern, ": ", std::strerror(errno));
    folder = pattern;
    serialize::save_safetensors(folder + "/resnet18.safetensors", models::resnet18()->state_dict());
    if (!small_only) serialize::save_safetensors(folder + "/resnet50.safetensors", models::resnet50()->state_dict());
  }
  ~RandomWeights() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  RandomWeights(const RandomWeights&) = delete;
  RandomWeights& operator=(const RandomWeights&) = delete;
  std::string folder;
};

// A model in evaluation mode on a device, with its BatchNorm layers folded into the convolutions.
models::ResNet loaded(models::ResNet (*make)(int64_t), const std::string& file, const Device& device) {
  models::ResNet model = [make] {
    const nn::init::SkipGuard values_follow;
    return make(1000);
  }();
  model->load_state_dict(serialize::load_safetensors(file).tensors);
  model->eval();
  nn::fuse(model);
  model->to(device);
  return model;
}

// Images per second on the current device of the calling thread.
double throughput(models::ResNet& model, const Tensor& images, double seconds) {
  using Clock = std::chrono::steady_clock;
  const InferenceMode inference;
  model(images).cpu();  // allocates
  const auto start = Clock::now();
  double elapsed = 0;
  int64_t count = 0;
  for (; elapsed < seconds; count += images.size(0)) {
    model(images).cpu();  // waits for the device
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return static_cast<double>(count) / elapsed;
}

void on_the_fourth_device(const Settings& settings, const Device& device) {
  const InferenceMode inference;
  const Tensor images = randn({settings.batch, 3, settings.size, settings.size});
  std::printf("images: on %s, device index %d\n", images.device().str().c_str(), images.device().index());
  const Tensor moved = images.to(device);
  std::printf("moved:  on %s, device index %d\n", moved.device().str().c_str(), moved.device().index());
  const auto run = [&](const char* name, models::ResNet (*make)(int64_t)) {
    models::ResNet model = loaded(make, settings.weights + "/" + name + ".safetensors", device);
    const Tensor best = std::get<1>(model(moved).max(1));
    std::printf("%s: logits on %s, classes", name, best.device().str().c_str());
    for (int64_t i = 0; i < best.numel(); ++i) std::printf(" %lld", static_cast<long long>(best[i].item<int64_t>()));
    std::puts("");
  };
  run("resnet50", [](int64_t classes) { return models::resnet50(classes); });
  run("resnet18", [](int64_t classes) { return models::resnet18(classes); });
}

models::ResNet resnet18_on(const Settings& settings, const Device& device) {
  return loaded([](int64_t classes) { return models::resnet18(classes); }, settings.weights + "/resnet18.safetensors",
                device);
}

// As many threads as devices; thread i has a model on device i.
void in_threads(const Settings& settings, DeviceType type) {
  for (const int count : {1, 2, 4}) {
    if (count > device_count(type)) break;
    std::vector<Device> devices;
    for (int i = 0; i < count; ++i) devices.emplace_back(type, static_cast<DeviceIndex>(i));
    std::vector<double> speed(devices.size());
    const auto errors = run_on_devices(devices, [&](std::size_t i) {
      models::ResNet model = resnet18_on(settings, devices[i]);
      const Tensor images = randn({settings.batch, 3, settings.size, settings.size}).to(devices[i]);
      speed[i] = throughput(model, images, settings.seconds);
    });
    for (const auto& error : errors)
      if (error) std::rethrow_exception(error);
    std::printf("%d thread%s, a model on a device each: %.1f images/s\n", count, count == 1 ? "" : "s",
                std::accumulate(speed.begin(), speed.end(), 0.0));
  }
}

// One of several processes: RANK numbers them, LOCAL_RANK those of this machine.
void be_worker(const Settings& settings, DeviceType type) {
  const char* rank = std::getenv("LOCAL_RANK");
  check(rank != nullptr, "inference_devices --worker: LOCAL_RANK is not set; start it with tandem launch");
  const Device device(type, static_cast<DeviceIndex>(std::atoi(rank) % device_count(type)));
  const DeviceGuard guard(device);
  models::ResNet model = resnet18_on(settings, device);
  const Tensor images = randn({settings.batch, 3, settings.size, settings.size}).to(device);
  std::printf("process %s on %s: %.1f images/s\n", rank, device.str().c_str(),
              throughput(model, images, settings.seconds));
}

void in_processes(const Settings& settings) {
  std::fflush(stdout);
  const std::string size = std::to_string(settings.size), batch = std::to_string(settings.batch),
                    seconds = std::to_string(settings.seconds);
  const char* words[] = {
      "inference_devices", "--worker",    "--weights", settings.weights.c_str(), "--size", size.c_str(),
      "--batch",           batch.c_str(), "--seconds", seconds.c_str(),          nullptr};
  std::vector<pid_t> children;
  for (int64_t i = 0; i < settings.processes; ++i) {
    ::setenv("LOCAL_RANK", std::to_string(i).c_str(), 1);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(words), environ);
    if (error != 0) std::fprintf(stderr, "cannot start a process: %s\n", std::strerror(error));
    if (error == 0) children.push_back(child);
  }
  int failures = static_cast<int>(settings.processes) - static_cast<int>(children.size());
  for (const pid_t child : children) {
    int status = 0;
    failures += ::waitpid(child, &status, 0) != child || status != 0;
  }
  check(failures == 0, failures, " of ", settings.processes, " processes failed");
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--worker") {
      settings.worker = true;
      continue;
    }
    check(i + 1 < argc, kUsage);
    const char* value = argv[++i];
    if (name == "--device")
      settings.device = value;
    else if (name == "--weights")
      settings.weights = value;
    else if (name == "--size")
      settings.size = std::atoll(value);
    else if (name == "--batch")
      settings.batch = std::atoll(value);
    else if (name == "--processes")
      settings.processes = std::atoll(value);
    else if (name == "--seconds")
      settings.seconds = std::atof(value);
    else
      fail(kUsage);
  }
  check(settings.size >= 32 && settings.batch > 0 && settings.processes >= 0 && settings.processes <= 64 &&
            settings.seconds >= 0,
        kUsage);
  return settings;
}

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  Settings settings = settings_of(argc, argv);
  const DeviceType type = device_count(kCUDA) >= 4 ? kCUDA : kCPU;
  Device fourth = settings.device.empty() ? Device(type, 3) : Device(settings.device);
  if (type == kCPU) cpu::set_device_count(std::max({4, device_count(kCPU), fourth.is_cpu() ? fourth.index() + 1 : 1}));
  manual_seed(0);
  std::optional<RandomWeights> random;
  if (settings.weights.empty()) settings.weights = random.emplace(settings.worker).folder;
  if (settings.worker) {
    be_worker(settings, type);
    return 0;
  }
  on_the_fourth_device(settings, fourth);
  in_threads(settings, type);
  in_processes(settings);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
