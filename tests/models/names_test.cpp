// Names and shapes of the state dicts, and numbers of parameters, as those of the published weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tandem/models/models.h"
#include "tandem/nn/init.h"
#include "tandem/tests/models/zoo.h"

using namespace tandem;

namespace {

struct Published {
  const char* name;
  int64_t parameters;
  std::size_t entries;
  std::vector<std::string> first, last;
};

const std::vector<Published> kPublished{
    {"resnet18",
     11'689'512,
     122,
     {"conv1.weight [64, 3, 7, 7]", "bn1.weight [64]", "bn1.bias [64]", "bn1.running_mean [64]", "bn1.running_var [64]",
      "bn1.num_batches_tracked []", "layer1.0.conv1.weight [64, 64, 3, 3]"},
     {"layer4.1.bn2.num_batches_tracked []", "fc.weight [1000, 512]", "fc.bias [1000]"}},
    {"resnet34", 21'797'672, 218, {}, {}},
    {"resnet50",
     25'557'032,
     320,
     {"conv1.weight [64, 3, 7, 7]"},
     {"layer4.2.bn3.num_batches_tracked []", "fc.weight [1000, 2048]", "fc.bias [1000]"}},
    {"resnet101", 44'549'160, 626, {}, {}},
    {"resnet152", 60'192'808, 932, {}, {}},
    {"vgg11", 132'863'336, 22, {}, {}},
    {"vgg11_bn", 132'868'840, 62, {}, {}},
    {"vgg13", 133'047'848, 26, {}, {}},
    {"vgg13_bn", 133'053'736, 76, {}, {}},
    {"vgg16",
     138'357'544,
     32,
     {"features.0.weight [64, 3, 3, 3]", "features.0.bias [64]", "features.2.weight [64, 64, 3, 3]"},
     {"classifier.3.bias [4096]", "classifier.6.weight [1000, 4096]", "classifier.6.bias [1000]"}},
    {"vgg16_bn",
     138'365'992,
     97,
     {"features.0.weight [64, 3, 3, 3]", "features.0.bias [64]", "features.1.weight [64]"},
     {}},
    {"vgg19", 143'667'240, 38, {}, {}},
    {"vgg19_bn", 143'678'248, 118, {}, {}},
    {"mobilenet_v2",
     3'504'872,
     314,
     {"features.0.0.weight [32, 3, 3, 3]", "features.0.1.weight [32]"},
     {"features.18.1.num_batches_tracked []", "classifier.1.weight [1000, 1280]", "classifier.1.bias [1000]"}},
    {"vit_b_16",
     86'567'656,
     152,
     {"class_token [1, 1, 768]", "conv_proj.weight [768, 3, 16, 16]", "conv_proj.bias [768]",
      "encoder.pos_embedding [1, 197, 768]", "encoder.layers.encoder_layer_0.ln_1.weight [768]"},
     {"encoder.ln.bias [768]", "heads.head.weight [1000, 768]", "heads.head.bias [1000]"}},
    {"vit_b_32", 88'224'232, 152, {}, {}},
    {"vit_l_16", 304'326'632, 296, {}, {}},
    {"gpt2",
     124'439'808,
     149,
     {"transformer.wte.weight [50257, 768]", "transformer.wpe.weight [1024, 768]", "transformer.h.0.ln_1.weight [768]",
      "transformer.h.0.ln_1.bias [768]", "transformer.h.0.attn.c_attn.weight [768, 2304]"},
     {"transformer.ln_f.bias [768]", "lm_head.weight [50257, 768]"}},
};

int64_t numbers_of(const nn::Module& model) {
  int64_t sum = 0;
  for (const Tensor& p : model.parameters()) sum += p.numel();
  return sum;
}

}  // namespace

TEST_CASE("state dicts and numbers of parameters are the published ones") {
  const nn::init::SkipGuard no_values;
  for (const Published& expected : kPublished) {
    CAPTURE(expected.name);
    const std::shared_ptr<nn::Module> model = test::make_any_model(expected.name).ptr();
    CHECK_EQ(numbers_of(*model), expected.parameters);
    std::vector<std::string> entries;
    for (const auto& item : model->state_dict()) entries.push_back(concat(item.key(), " ", item.value().sizes()));
    REQUIRE_EQ(entries.size(), expected.entries);
    for (std::size_t i = 0; i < expected.first.size(); ++i) CHECK_EQ(entries[i], expected.first[i]);
    for (std::size_t i = 0; i < expected.last.size(); ++i)
      CHECK_EQ(entries[entries.size() - expected.last.size() + i], expected.last[i]);
  }
}

TEST_CASE("the list of models describes each of them, with any number of classes") {
  const nn::init::SkipGuard no_values;
  std::vector<std::string> names, listed;
  for (const Published& model : kPublished) names.push_back(model.name);
  for (const models::PublishedModel& model : models::published_models()) {
    CAPTURE(model.name);
    listed.push_back(model.name);
    CHECK_EQ(models::find_published(model.name), &model);
    const auto known = std::find_if(kPublished.begin(), kPublished.end(),
                                    [&](const Published& p) { return std::string(p.name) == model.name; });
    REQUIRE(known != kPublished.end());
    CHECK_EQ(model.num_parameters, known->parameters);
    const bool tokens = listed.back() == "gpt2";
    CHECK_EQ(model.input, tokens ? std::vector<int64_t>{128} : std::vector<int64_t>{3, 224, 224});
    CHECK_EQ(model.num_classes, tokens ? 0 : 1000);
    CHECK_EQ(model.head_inputs == 0, tokens);
    if (tokens) continue;
    const std::shared_ptr<nn::Module> other = model.make(7).ptr();
    CHECK_EQ(model.parameters(7), static_cast<double>(numbers_of(*other)));
    CHECK_EQ(model.parameters(1000), static_cast<double>(known->parameters));
    const auto state = other->state_dict();
    const auto last = state[state.size() - 2].value().sizes();
    CHECK_EQ(last, IntArrayRef({7, model.head_inputs}));
  }
  std::sort(names.begin(), names.end());
  std::sort(listed.begin(), listed.end());
  CHECK_EQ(listed, names);
  CHECK_EQ(models::find_published("resnet"), nullptr);
  for (const auto& [depth, counts] : std::vector<std::pair<int64_t, std::vector<int64_t>>>{
           {11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}}) {
    std::vector<int64_t> layers;
    const int64_t channels[] = {64, 128, 256, 512, 512};
    for (std::size_t i = 0; i < 5; ++i) {
      layers.insert(layers.end(), static_cast<std::size_t>(counts[i]), channels[i]);
      layers.push_back(0);
    }
    CHECK_EQ(models::vgg_options(depth).layers(), layers);
  }
}
