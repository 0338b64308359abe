// The tool's models: their sizes, what starts from weights, what is frozen, changed images, evaluation and steps.
#include "tandem/cli/train/models.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tandem/cli/options.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/cli/train/augmentation.h"
#include "tandem/cli/train/batches.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/frozen.h"
#include "tandem/cli/train/stepper.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using tandem::test::error_of;
using tandem::testing::identical;

namespace {

double values_of(const nn::Module& model) {
  double count = 0;
  for (const Tensor& p : model.parameters()) count += static_cast<double>(p.numel());
  return count;
}

// One value per class, so that gradients are known.
ImageSet images_of(int64_t count) {
  return {{arange(count * 4, kInt).remainder(256).to(kByte).view({count, 2, 2}),
           arange(count, kInt).remainder(3).to(kByte),
           {}}};
}

}  // namespace

TEST_CASE("the numbers of parameters are computed without the model") {
  for (const std::string name : {"lenet", "mlp", "linear"})
    for (const ModelShape& shape : {ModelShape{1, 28, 28, 10}, ModelShape{3, 32, 20, 7}, ModelShape{1, 14, 14, 2}}) {
      CAPTURE(name);
      nn::Sequential model = make_model(name, shape);
      CHECK(model_parameters(name, shape) == values_of(*model));
      CHECK(model->forward(zeros({2, shape.channels, shape.height, shape.width})).sizes() ==
            IntArrayRef({2, shape.classes}));
    }
  CHECK(model_parameters("resnet18", {3, 224, 224, 1000}) == 11689512);
  CHECK(error_of([] { make_model("lenett", {}); }).find("unknown model lenett; did you mean lenet? (known: ") == 0);
  CHECK(error_of([] { model_parameters("lenett", {}); }).find("unknown model lenett") == 0);
  CHECK(error_of([] {
          make_model("resnet18", {2, 32, 32, 10});
        }) == "resnet18 takes gray images and images with 3 channels, not 2");
  CHECK(error_of([] {
          make_model("vit_b_16", {3, 224, 32, 10});
        }) == "vit_b_16 takes images of 224 x 224, not 224 x 32");
  CHECK(error_of([] {
          make_model("vit_b_16", {3, 32, 224, 10});
        }) == "vit_b_16 takes images of 224 x 224, not 32 x 224");
  CHECK(is_published("resnet18"));
  CHECK(!is_published("lenet"));
  CHECK(!is_published("gpt2"));
  CHECK(image_size_for("resnet18") == 224);
  CHECK(image_size_for("lenet") == 32);
}

TEST_CASE("stored parameters of another number are refused before the model is made") {
  const auto stored = [](const nn::Sequential& model) {
    serialize::OutputArchive out;
    model->save(out);
    return serialize::InputArchive(out.tensors(), out.metadata());
  };
  const ModelShape shape{1, 4, 4, 3};
  const auto archive = stored(make_model("linear", shape));
  CHECK(values_of(*make_model_for("linear", shape, archive)) == 51);
  CHECK(error_of([&] {
          make_model_for("linear", {1, 4, 5, 3}, archive);
        }) ==
        "the stored parameters do not fit model linear for 3 classes and images of 1 x 4 x 5: got 51 values, expected "
        "63");
}

TEST_CASE("weights that a model starts from") {
  const ModelShape shape{1, 4, 4, 3};
  const auto mlp = [](const ModelShape& s) {
    manual_seed(static_cast<uint64_t>(s.classes));
    return make_model("mlp", s);
  };
  const auto from = mlp(shape), same = mlp({1, 4, 4, 3}), other = mlp({1, 4, 4, 5});
  const Tensor head = other->named_parameters()["fc2.weight"].detach().clone();
  {
    const NoGradGuard no_grad;
    for (const Tensor& p : from->parameters()) Tensor(p).add_(1);
  }
  start_from("mlp", same, from->state_dict());
  for (const auto& item : from->named_parameters())
    CHECK(identical(same->named_parameters()[item.key()], item.value()));
  start_from("mlp", other, from->state_dict());  // keeps its own last layer
  CHECK(identical(other->named_parameters()["fc1.weight"], from->named_parameters()["fc1.weight"]));
  CHECK(identical(other->named_parameters()["fc2.weight"], head));
  const auto linear = make_model("linear", {1, 4, 4, 5});
  CHECK(error_of([&] { start_from("linear", linear, make_model("linear", shape)->state_dict()); }) ==
        "nothing in it fits linear: its only layer is for another number of classes");
  OrderedDict<std::string, Tensor> more = from->state_dict();
  more.insert("extra", ones({2}));
  CHECK(error_of([&] { start_from("mlp", same, more); }).find("extra") != std::string::npos);
  CHECK(!error_of([&] { start_from("mlp", mlp({1, 4, 5, 3}), from->state_dict()); }).empty());
}

TEST_CASE("weights that are not finite are counted") {
  OrderedDict<std::string, Tensor> state("Tensor");
  state.insert("a", ones({1000}));
  state.insert("b", tensor({1.0F, std::nanf(""), std::numeric_limits<float>::infinity()}));
  state.insert("c", tensor({-std::numeric_limits<float>::infinity()}));
  state.insert("n", ones({2}, kLong));
  CHECK(count_not_finite(state) == 3);
  CHECK(not_finite(state) == "3 of 1,006 weights are not finite, the first in b");
  state["b"] = zeros({3});
  state["c"] = zeros({1});
  CHECK(count_not_finite(state) == 0);
  CHECK(not_finite(state).empty());
}

TEST_CASE("parameters that are frozen by name") {
  const ModelShape shape{1, 28, 28, 10};
  const auto frozen = [&](const std::string& name, const std::string& patterns) {
    const auto model = make_model(name, shape);
    freeze(name, model, patterns);
    std::string out;
    for (const auto& item : model->named_parameters())
      if (!item.value().requires_grad()) out += (out.empty() ? "" : " ") + item.key();
    return out;
  };
  CHECK(frozen("lenet", "").empty());
  CHECK(frozen("lenet", "conv1") == "conv1.weight conv1.bias");
  CHECK(frozen("lenet", "conv1.bias") == "conv1.bias");
  CHECK(frozen("lenet", "conv*") == "conv1.weight conv1.bias conv2.weight conv2.bias");
  CHECK(frozen("lenet", "*.bias,fc1") == "conv1.bias conv2.bias fc1.weight fc1.bias fc2.bias");
  CHECK(frozen("lenet", "all-but-head") == "conv1.weight conv1.bias conv2.weight conv2.bias fc1.weight fc1.bias");
  const auto refusal = [&](const std::string& name, const std::string& patterns) {
    return error_of([&] { frozen(name, patterns); });
  };
  CHECK(refusal("linear", "all-but-head") == "--freeze all-but-head: linear has only one layer");
  CHECK(refusal("lenet", "conv1,conf2") ==
        "--freeze conf2: no parameter or layer of lenet has this name; the nearest are conv2, conv1, fc2");
  CHECK(refusal("lenet", "*") == "--freeze *: no parameter of lenet is left to train");
  CHECK(refusal("lenet", "onv1").find("no parameter or layer of lenet has this name") != std::string::npos);

  nn::Sequential net(nn::Linear(4, 4), nn::BatchNorm1d(4), nn::BatchNorm1d(4), nn::Dropout(0.5),
                     nn::LayerNorm(nn::LayerNormOptions({4})));
  for (const Tensor& p : net->ptr(1)->parameters()) p.set_requires_grad(false);
  net->ptr(2)->parameters()[0].set_requires_grad(false);
  for (const Tensor& p : net->ptr(4)->parameters()) p.set_requires_grad(false);
  net->eval();
  train_unfrozen(*net);
  CHECK(net->is_training());
  for (const std::size_t at : {0, 2, 3, 4}) CHECK(net->ptr(at)->is_training());
  CHECK(!net->ptr(1)->is_training());
}

TEST_CASE("changed images") {
  Recipe r;
  const Tensor images = arange(2 * 16 * 8, kFloat).view({1, 2, 16, 8}).expand({400, 2, 16, 8}).contiguous() + 1;
  CHECK(augmented(r, images).is_same(images));
  manual_seed(1);
  r.augment = "flip";
  const Tensor flipped = augmented(r, images);
  int64_t mirrored = 0;
  for (int64_t i = 0; i < images.size(0); ++i) {
    const bool turned = equal(flipped[i], images[i].flip({2}));
    CHECK((turned || equal(flipped[i], images[i])));
    mirrored += turned;
  }
  CHECK(mirrored > 150);
  CHECK(mirrored < 250);

  r.augment = "crop";  // by up to 2 rows and 1 column
  const Tensor padded = constant_pad_nd(images[0], {1, 1, 2, 2}), cropped = augmented(r, images);
  std::vector<int> seen(5 * 3 * 2, 0);
  for (int64_t i = 0; i < images.size(0); ++i) {
    bool found = false;
    for (int64_t y = 0; y < 5 && !found; ++y)
      for (int64_t x = 0; x < 3 && !found; ++x)
        for (const bool flip : {false, true}) {
          const Tensor source = flip ? constant_pad_nd(images[0].flip({2}), {1, 1, 2, 2}) : padded;
          if (!equal(cropped[i], source.narrow(1, y, 16).narrow(2, x, 8))) continue;
          ++seen[static_cast<std::size_t>((y * 3 + x) * 2 + flip)];
          found = true;
        }
    CHECK(found);
  }
  for (const int count : seen) CHECK(count > 0);

  for (const std::string augment : {"none", "flip", "crop", "resized-crop", "randaugment"}) {
    r.augment = augment;
    const bool each = augment == "resized-crop" || augment == "randaugment";
    CHECK(changes_each_image(r) == each);
    CHECK(image_transform(r, {8, 6}, false).has_value() == each);
    if (!each) continue;
    CHECK(augmented(r, images).is_same(images));
    for (const bool files : {false, true}) {
      const Tensor changed = (*image_transform(r, {8, 6}, files))(full({3, 8, 6}, 7, kByte));
      CHECK(changed.sizes() == IntArrayRef({3, 8, 6}));
    }
  }
}

TEST_CASE("images and tokens become inputs") {
  const Tensor gray = tensor({0, 51, 255, 102}, kByte).view({1, 2, 2});
  CHECK(to_input(gray).sizes() == IntArrayRef({1, 1, 2, 2}));
  CHECK(allclose(to_input(gray).flatten(), tensor({0.0F, 0.2F, 1.0F, 0.4F})));
  CHECK(to_input(zeros({2, 3, 4, 4}, kByte)).sizes() == IntArrayRef({2, 3, 4, 4}));
  CHECK(to_input(ones({2, 5}, kInt)).dtype() == kLong);
  CHECK(to_input(ones({2, 5}, kInt)).sum().item<int64_t>() == 10);

  manual_seed(2);
  const Tensor scores = randn({2, 3, 4}), labels = tensor({0, 1, 2, 3, 2, 1}, kByte).view({2, 3});
  const Tensor each = cross_entropy_loss(scores.view({6, 4}), labels.to(kLong).view({6}), {}, Reduction::None);
  CHECK(allclose(cross_entropy_of(scores, labels, Reduction::None), each.view({2, 3}).mean(1)));
  CHECK(allclose(cross_entropy_of(scores, labels, Reduction::Sum), each.sum()));
  CHECK(allclose(cross_entropy_of(scores[0], labels[0].to(kLong), Reduction::Mean), each.narrow(0, 0, 3).mean()));
  CHECK(cross_entropy_of(scores, labels, Reduction::Mean, 0.5).item<double>() !=
        doctest::Approx(each.mean().item<double>()));
  CHECK(equal(correct_in(scores, scores.argmax(-1)), ones({2, 3}, kBool)));
  CHECK(equal(correct_in(scores, (scores.argmax(-1) + 1).remainder(4).to(kByte)), zeros({2, 3}, kBool)));
}

TEST_CASE("batches of evaluation") {
  const auto batch = [](IntArrayRef sizes) {
    return evaluation_batch({{zeros(sizes, kByte), zeros({sizes[0]}, kByte), {}}});
  };
  CHECK(batch({2, 28, 28}) == 1000);
  CHECK(batch({2, 32, 32}) == 1000);
  CHECK(batch({2, 3, 64, 32}) == 500);
  CHECK(batch({2, 3, 1000, 1000}) == 16);
  nn::Sequential model(nn::Flatten(), nn::Linear(4, 3));
  const ImageSet data = images_of(10);
  const NoGradGuard no_grad;
  const Tensor output = model->forward(to_input(data.images));
  const double loss = cross_entropy_of(output, data.labels, Reduction::Sum).item<double>() / 10;
  const double accuracy = correct_in(output, data.labels).sum().item<double>() / 10;
  for (const int64_t size : {1, 3, 10, 11}) {
    model->train();
    const Score score = evaluate(model, data, size);
    CHECK(score.loss == doctest::Approx(loss));
    CHECK(score.accuracy == doctest::Approx(accuracy));
    CHECK(model->is_training());
  }
  // In pieces.
  const Tensor many = randint(256, {5000, 32, 32}, kByte);
  nn::Sequential wide(nn::Flatten(), nn::Linear(1024, 3));
  CHECK(identical(output_of(*wide, many), wide->forward(to_input(many))));
}

TEST_CASE("layouts of a GPU") {
  Recipe r;
  nn::Sequential most(nn::Conv2d(8, 16, 3), nn::Conv2d(16, 8, 3), nn::Conv2d(3, 8, 3), nn::Linear(8, 8));
  CHECK(!is_faster_channels_last(*most, r));
  for (const char* precision : {"bf16", "fp16"}) {
    r.precision = precision;
    CHECK(is_faster_channels_last(*most, r));
    CHECK(!is_faster_channels_last(*nn::Sequential(nn::Conv2d(8, 8, 3), nn::Conv2d(3, 8, 3)), r));
    CHECK(!is_faster_channels_last(*nn::Sequential(nn::Conv2d(8, 7, 3)), r));
    CHECK(!is_faster_channels_last(*nn::Sequential(nn::Linear(8, 8)), r));
  }
  choose_layout(*most, r, kCPU);
  CHECK(most->parameters()[0].is_contiguous());
  {
    const auto mixed = in_precision(r, kCPU);
    CHECK(mixed != nullptr);
    CHECK(ones({2, 2}).mm(ones({2, 2})).dtype() == kHalf);
  }
  r.precision = "bf16";
  {
    const auto mixed = in_precision(r, kCPU);
    CHECK(ones({2, 2}).mm(ones({2, 2})).dtype() == kBFloat16);
  }
  r.precision = "fp32";
  CHECK(in_precision(r, kCPU) == nullptr);
}

TEST_CASE("steps: groups have the gradient of one large batch, and norms are clipped") {
  const ImageSet data = images_of(12);
  const Tensor images = to_input(data.images), labels = data.labels.to(kLong);
  const auto trained = [&](Recipe r, const std::vector<int64_t>& sizes) {
    manual_seed(3);
    nn::Sequential model(nn::Flatten(), nn::Linear(4, 3));
    r.lr = 0.5;
    const auto stepper = make_stepper(model, r, {.devices = {Device(kCPU, 0)}, .root = Device(kCPU, 0)});
    stepper->start(0, 0);
    int64_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const GroupPlace place{static_cast<double>(sizes[i]) / 12, i == 0, i + 1 == sizes.size(), sizes[i]};
      stepper->step({images.narrow(0, at, sizes[i]), labels.narrow(0, at, sizes[i])}, place);
      at += sizes[i];
      if (!place.last && r.accumulate < 1000) CHECK(stepper->examples_pending() == at);
    }
    CHECK(stepper->examples_pending() == 0);
    CHECK(stepper->finite_batches() == static_cast<int64_t>(sizes.size()));
    return std::tuple(model->named_parameters()["1.weight"].detach().clone(), stepper->loss_sum(), stepper->correct());
  };
  Recipe r;
  r.accumulate = 3;
  const auto whole = trained(r, {12}), group = trained(r, {4, 4, 4}), uneven = trained(r, {5, 5, 2});
  for (const auto& each : {group, uneven}) {
    CHECK(testing::close(std::get<0>(each), std::get<0>(whole), 1e-6));
    CHECK(std::get<1>(each) == doctest::Approx(std::get<1>(whole)));
    CHECK(std::get<2>(each) == std::get<2>(whole));
  }
  r.accumulate = 1000;  // not in one call
  CHECK(testing::close(std::get<0>(trained(r, {5, 5, 2})), std::get<0>(whole), 1e-6));

  manual_seed(3);
  nn::Sequential start(nn::Flatten(), nn::Linear(4, 3));
  const Tensor before = start->named_parameters()["1.weight"].detach();
  const auto moved = [&](double clip) {
    Recipe clipped;
    clipped.clip = clip;
    return (std::get<0>(trained(clipped, {12})) - before).norm().item<double>();
  };
  CHECK(moved(1e6) == doctest::Approx(moved(0)));
  CHECK(moved(0.01) < 0.5 * 0.01);  // of all parameters together
  CHECK(moved(0.01) == doctest::Approx(2 * moved(0.005)).epsilon(1e-3));
}
