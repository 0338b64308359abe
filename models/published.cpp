// The list of models.
#include "tandem/models/published.h"

#include "tandem/models/models.h"

namespace tandem::models {
namespace {

template <auto make>
PublishedModel image_model(const char* name, int64_t parameters, int64_t head_inputs) {
  return {name,       {3, 224, 224}, 1000,
          parameters, head_inputs,   [](int64_t classes) { return nn::AnyModule(make(classes)); }};
}

}  // namespace

const std::vector<PublishedModel>& published_models() {
  static const std::vector<PublishedModel> all{
      image_model<resnet18>("resnet18", 11689512, 512),
      image_model<resnet34>("resnet34", 21797672, 512),
      image_model<resnet50>("resnet50", 25557032, 2048),
      image_model<resnet101>("resnet101", 44549160, 2048),
      image_model<resnet152>("resnet152", 60192808, 2048),
      image_model<vgg11>("vgg11", 132863336, 4096),
      image_model<vgg11_bn>("vgg11_bn", 132868840, 4096),
      image_model<vgg13>("vgg13", 133047848, 4096),
      image_model<vgg13_bn>("vgg13_bn", 133053736, 4096),
      image_model<vgg16>("vgg16", 138357544, 4096),
      image_model<vgg16_bn>("vgg16_bn", 138365992, 4096),
      image_model<vgg19>("vgg19", 143667240, 4096),
      image_model<vgg19_bn>("vgg19_bn", 143678248, 4096),
      image_model<mobilenet_v2>("mobilenet_v2", 3504872, 1280),
      image_model<vit_b_16>("vit_b_16", 86567656, 768),
      image_model<vit_b_32>("vit_b_32", 88224232, 768),
      image_model<vit_l_16>("vit_l_16", 304326632, 1024),
      {"gpt2", {128}, 0, 124439808, 0, [](int64_t) { return nn::AnyModule(gpt2()); }},
  };
  return all;
}

const PublishedModel* find_published(const std::string& name) {
  for (const PublishedModel& model : published_models())
    if (name == model.name) return &model;
  return nullptr;
}

}  // namespace tandem::models
