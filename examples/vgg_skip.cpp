// VGG-16 with a skip connection from conv4_3, as networks for segmentation have it (J. Long et al.: Fully convolutional
// networks for semantic segmentation. 2015): once with a mistake that many programs make, once repaired.
//
//   vgg_skip [--steps N] [--width N] [--size N]      default: 12 steps, width 8, images of 64 x 64
//   vgg_skip --help
//
// The mistake: the skip connection takes the output of conv4_3 before the rectifier, which then overwrites it in place.
// A layer has saved it to compute the gradient of its weight, so backward would use wrong numbers. Tandem's backward
// notices that, and names the operation, the tensor's shape and what overwrote it. The repaired network takes the skip
// connection behind the rectifier. --width 64 is the published network; the default is 8 times narrower.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tandem/tandem.h"

using namespace tandem;

constexpr const char* kUsage =
    "usage: vgg_skip [--steps N] [--width N] [--size N]\n"
    "  --steps N   training steps of the repaired network (12)\n"
    "  --width N   channels of conv1_1 (8); 64: as published\n"
    "  --size N    height and width of the images, a multiple of 32 (64)\n";

struct Settings {
  int64_t steps = 12, width = 8, size = 64;
};

enum class Skip { kBeforeRectifier, kAfterRectifier };

struct VGGSkipImpl : nn::Module {
  VGGSkipImpl(int64_t width, int64_t classes, Skip skip) : skip(skip) {
    int64_t in = 3;
    const auto block = [&](nn::Sequential& to, int64_t out, int convolutions, bool pool) {
      for (int i = 0; i < convolutions; ++i, in = out) {
        to->push_back(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)));
        to->push_back(nn::ReLU(nn::ReLUOptions(true)));
      }
      if (pool) to->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2)));
    };
    block(front, width, 2, true);
    block(front, 2 * width, 2, true);
    block(front, 4 * width, 3, true);
    block(front, 8 * width, 2, false);  // up to the rectifier of conv4_2
    register_module("front", front);
    conv4_3 = register_module("conv4_3", nn::Conv2d(nn::Conv2dOptions(in, in, 3).padding(1)));
    back->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2)));
    block(back, 8 * width, 3, true);
    register_module("back", back);
    score = register_module("score", nn::Conv2d(nn::Conv2dOptions(in, classes, 1)));
    score_skip = register_module("score_skip", nn::Conv2d(nn::Conv2dOptions(in, classes, 1)));
    for (const auto& module : modules(false))
      if (auto* conv = module->as<nn::Conv2d>()) {
        nn::init::kaiming_normal_(conv->weight, 0, kFanIn, kReLU);
        nn::init::zeros_(conv->bias);
      }
  }

  // Images [N, 3, H, W] to scores [N, classes, H, W].
  Tensor forward(const Tensor& images) {
    const Tensor features = conv4_3(front->forward(images));
    Tensor fine;
    if (skip == Skip::kBeforeRectifier) fine = score_skip(features);  // saves `features` …
    const Tensor rectified = features.relu_();                        // … which this overwrites
    if (skip == Skip::kAfterRectifier) fine = score_skip(rectified);
    const Tensor coarse = score(back->forward(rectified));
    return enlarge(enlarge(coarse, 4) + fine, 8);
  }

  // Repeats every pixel.
  static Tensor enlarge(const Tensor& x, int64_t factor) {
    return x.repeat_interleave(factor, 2).repeat_interleave(factor, 3);
  }

  Skip skip;
  nn::Sequential front, back;
  nn::Conv2d conv4_3{nullptr}, score{nullptr}, score_skip{nullptr};
};
TANDEM_MODULE(VGGSkip);

// Noise that is brighter where the class of a pixel, 1 in a random rectangle, is 1.
struct Batch {
  Tensor images, classes;
};
Batch draw(int64_t count, int64_t size) {
  Batch batch{randn({count, 3, size, size}) * 0.5, zeros({count, size, size}, TensorOptions(kLong))};
  for (int64_t n = 0; n < count; ++n) {
    const int64_t half = size / 2, top = randint(0, half, {1}).item<int64_t>(),
                  left = randint(0, half, {1}).item<int64_t>();
    batch.images[n].slice(1, top, top + half).slice(2, left, left + half).add_(1);
    batch.classes[n].slice(0, top, top + half).slice(1, left, left + half).fill_(1);
  }
  return batch;
}

Tensor loss_of(VGGSkip& net, const Batch& batch) {
  return nn::functional::cross_entropy(net(batch.images), batch.classes);
}

// Returns whether the mistake is reported.
bool show_mistake(const Settings& settings) {
  VGGSkip net(settings.width, 2, Skip::kBeforeRectifier);
  std::puts("The skip connection taken before the rectifier:");
  try {
    loss_of(net, draw(2, settings.size)).backward();
  } catch (const Error& error) {
    std::printf("%s\n\n", error.what());
    return true;
  }
  std::puts("no error");
  return false;
}

// Returns whether a tensor that is the result of an operation refuses a change of requires_grad.
bool show_leaves() {
  const Tensor leaf = ones({2}).requires_grad_(), result = leaf * 2;
  std::puts("requires_grad of a result changed:");
  try {
    result.requires_grad_(false);
  } catch (const Error& error) {
    std::printf("%s\n\n", error.what());
    return true;
  }
  std::puts("no error");
  return false;
}

// Returns whether the loss falls.
bool train_repaired(const Settings& settings) {
  VGGSkip net(settings.width, 2, Skip::kAfterRectifier);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  std::puts("Taken behind the rectifier, the network trains:");
  double first = 0, last = 0;
  for (int64_t step = 0; step < settings.steps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = loss_of(net, draw(4, settings.size));
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
    std::printf("step %2lld: loss %.4f\n", static_cast<long long>(step), last);
  }
  return settings.steps < 2 || last < first;
}

int main(int argc, char** argv) try {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") return std::fputs(kUsage, stdout) < 0;
    int64_t* target = name == "--steps"   ? &settings.steps
                      : name == "--width" ? &settings.width
                      : name == "--size"  ? &settings.size
                                          : nullptr;
    check(target != nullptr && i + 1 < argc, kUsage);
    *target = std::atoll(argv[++i]);
  }
  check(settings.steps >= 0 && settings.width > 0 && settings.size > 0 && settings.size % 32 == 0, kUsage);
  manual_seed(0);
  const bool reported = show_mistake(settings), refused = show_leaves(), trained = train_repaired(settings);
  return reported && refused && trained ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
