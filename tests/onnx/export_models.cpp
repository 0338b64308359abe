// Exports networks: export_models FOLDER [--large]. Without --large, small ones only.
#include <cstdio>
#include <cstring>
#include <functional>

#include "tandem/models/models.h"
#include "tandem/nn/any_module.h"
#include "tandem/tandem.h"
#include "tandem/tests/models/zoo.h"
#include "tandem/tests/onnx/exported.h"

using namespace tandem;

namespace {

using Inputs = std::function<Tensor(int64_t batch)>;
int failed = 0, written = 0;

void write(const std::string& folder, const std::string& name, nn::AnyModule module, const Inputs& inputs,
           const std::vector<int64_t>& batches) {
  try {
    std::vector<test::Tensors> more;
    for (std::size_t i = 1; i < batches.size(); ++i) more.push_back({inputs(batches[i])});
    test::write_export(
        folder, name, *module.ptr(),
        [&](const test::Tensors& x) { return test::Tensors{module.forward<Tensor>(x[0])}; }, {inputs(batches[0])},
        more);
    ++written;
  } catch (const std::exception& error) {
    ++failed;
    std::printf("%s: %s\n", name.c_str(), error.what());
  }
}

Inputs images(std::vector<int64_t> sizes) {
  return [sizes](int64_t batch) {
    std::vector<int64_t> all{batch};
    all.insert(all.end(), sizes.begin(), sizes.end());
    return randn(all);
  };
}
Inputs tokens(int64_t count, int64_t vocabulary) {
  return [=](int64_t batch) { return randint(0, vocabulary, {batch, count}, kLong); };
}

// Running statistics that are not 0 and 1.
nn::AnyModule trained(nn::AnyModule module, const Tensor& input) {
  NoGradGuard no_grad;
  module.ptr()->train();
  module.forward<Tensor>(input);
  return module;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::printf("usage: export_models FOLDER [--large]\n"), 2;
  const std::string folder = argv[1];
  const bool large = argc > 2 && std::strcmp(argv[2], "--large") == 0;
  manual_seed(1);
  nn::Sequential mlp(nn::Linear(20, 32), nn::ReLU(), nn::Linear(32, 5), nn::Softmax(1));
  write(folder, "mlp", nn::AnyModule(mlp), images({20}), {4, 1, 7});
  write(folder, "lenet", nn::AnyModule(models::lenet()), images({1, 28, 28}), {2, 1, 5});
  write(folder, "gpt2_small", test::make_any_model("gpt2_small"), tokens(24, 100), {2, 1, 3});
  models::VisionTransformer vit(models::VisionTransformerOptions()
                                    .image_size(32)
                                    .patch_size(8)
                                    .num_layers(2)
                                    .num_heads(4)
                                    .hidden_dim(32)
                                    .mlp_dim(64)
                                    .num_classes(10));
  write(folder, "vit_small", nn::AnyModule(vit), images({3, 32, 32}), {2, 1, 3});
  // Residuals and activations in a convolution, weights of one byte, and parameters that share a storage.
  const Inputs small = images({3, 32, 32});
  models::ResNet resnet(models::ResNetOptions(models::ResNetBlockKind::kBasic, {1, 1, 1, 1}).num_classes(10));
  nn::AnyModule fused = trained(nn::AnyModule(resnet), small(2));
  fused.ptr()->eval();
  nn::fuse(*resnet);
  write(folder, "resnet_fused", fused, small, {2, 1, 3});
  models::MobileNetV2 mobilenet(models::MobileNetV2Options(10).width_mult(0.35));
  fused = trained(nn::AnyModule(mobilenet), small(2));
  fused.ptr()->eval();
  nn::fuse(*mobilenet);
  write(folder, "mobilenet_fused", fused, small, {2, 1, 3});
  nn::AnyModule bytes = test::make_any_model("gpt2_small");
  bytes.ptr()->eval();
  nn::quantize_weights(*bytes.ptr(), {.group = 12});
  write(folder, "gpt2_bytes", bytes, tokens(24, 100), {2, 1, 3});
  nn::AnyModule flat = test::make_any_model("gpt2_small");
  const nn::FlatParameters parameters(*flat.ptr());
  write(folder, "gpt2_flat", flat, tokens(24, 100), {2, 1, 3});
  if (large) {
    for (const char* name : {"resnet18", "resnet50", "vgg11", "vgg16_bn", "mobilenet_v2", "vit_b_16"}) {
      const Inputs inputs = images({3, 224, 224});
      nn::AnyModule module = test::make_any_model(name);
      if (std::strncmp(name, "vit", 3) != 0) module = trained(module, inputs(2));
      write(folder, name, module, inputs, {1, 2});
    }
    write(folder, "gpt2", test::make_any_model("gpt2"), tokens(16, 50257), {1, 2});
  }
  std::printf("%d exported, %d refused\n", written, failed);
  std::printf("%d have the same bits after they have been read, %d have not\n", test::same, test::others);
  return failed != 0 || test::others != 0;
}
