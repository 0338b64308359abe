// Reading images for training: how fast one thread prepares them, and how much of that a loader's workers keep.
//
//   bench_vision [WORKERS]     default: 1 and 2
//
// Writes 256 JPEG files of 500 x 375 pixels to a temporary folder, which stay in the page cache. `decode` only reads
// them; `train` makes the 224 x 224 inputs of an ImageNet recipe. The last column is the loader's rate divided by that
// of one thread without a loader, times the workers; it cannot be above the number of free cores.
// Each figure is the best of 3.
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tandem/autograd/ops.h"
#include "tandem/core/base/clock.h"
#include "tandem/datasets/data.h"
#include "tandem/datasets/vision/image_folder.h"

using namespace tandem;
using namespace tandem::vision;
using namespace tandem::vision::transforms;
using tandem::vision::datasets::ImageFolder;

namespace {

constexpr int64_t kImages = 256, kBatch = 16, kHeight = 375, kWidth = 500;

// Waves with some noise: about 90 KB per file, as photographs of this size.
Tensor photograph(int64_t number) {
  const Tensor y = arange(kHeight, kFloat).view({1, kHeight, 1}), x = arange(kWidth, kFloat).view({1, 1, kWidth});
  const Tensor c = arange(3, kFloat).view({3, 1, 1});
  const Tensor waves = sin(x / (9 + c * 4) + static_cast<double>(number)) * cos(y / (23 - c * 3)) * 90 + 128;
  return (waves + randn({3, kHeight, kWidth}) * 12).clamp(0, 255).to(kByte);
}

struct Speed {
  double rate = 0;     // images per second
  double time = 1e30;  // the processor's, ms per image
};

template <class Run>
Speed best_of_3(const Run& run) {
  Speed best;
  for (int i = 0; i < 3; ++i) {
    const double start = seconds_now(), cpu_start = cpu_seconds_now();
    run();
    best.rate = std::max(best.rate, static_cast<double>(kImages) / (seconds_now() - start));
    best.time = std::min(best.time, 1e3 * (cpu_seconds_now() - cpu_start) / kImages);
  }
  return best;
}

void measure(const char* name, const std::string& folder, const Compose& transform,
             const std::vector<size_t>& workers) {
  ImageFolder set(folder, transform);
  const Speed alone = best_of_3([&] {
    const SerialGuard serial;
    for (size_t i = 0; i < *set.size(); ++i) set.get(i);
  });
  std::printf("%-8s one thread        %6.0f images/s %6.2f ms\n", name, alone.rate, alone.time);
  for (const size_t count : workers) {
    const Speed loaded = best_of_3([&] {
      data::DataLoader loader(set, {.batch_size = kBatch, .shuffle = true, .num_workers = count, .seed = 1});
      int64_t seen = 0;
      for (auto& batch : loader) seen += batch.data.size(0);
      if (seen != kImages) std::abort();
    });
    std::printf("%-8s loader, %2zu workers %5.0f images/s %6.2f ms %6.2f\n", name, count, loaded.rate, loaded.time,
                loaded.rate / (alone.rate * static_cast<double>(count)));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<size_t> workers;
  for (int i = 1; i < argc; ++i) workers.push_back(static_cast<size_t>(std::strtoul(argv[i], nullptr, 10)));
  if (workers.empty()) workers = {1, 2};
  std::string folder = (std::filesystem::temp_directory_path() / "bench-vision-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  std::filesystem::create_directory(folder + "/class");
  uintmax_t bytes = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    const std::string path = folder + "/class/" + std::to_string(i) + ".jpg";
    write_jpeg(photograph(i), path, 85);
    bytes += std::filesystem::file_size(path);
  }
  std::printf("%lld JPEG files of %lld x %lld pixels, %.0f KB on average\n", static_cast<long long>(kImages),
              static_cast<long long>(kWidth), static_cast<long long>(kHeight),
              static_cast<double>(bytes) / 1000 / static_cast<double>(kImages));
  measure("decode", folder, Compose({}), workers);
  measure("train", folder,
          Compose({RandomResizedCrop(224), RandomHorizontalFlip(), ConvertImageDtype(),
                   transforms::Normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225})}),
          workers);
  std::filesystem::remove_all(folder);
} catch (const Error& error) {
  std::fprintf(stderr, "bench_vision: %s\n", error.what());
  return 1;
}
