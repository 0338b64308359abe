// The list of models.
#include "tandem/models/published.h"

#include "tandem/models/models.h"

namespace tandem::models {
namespace {

template <auto make>
PublishedModel image_model(const char* name) {
  return {name, {3, 224, 224}, 1000, [](int64_t classes) { return nn::AnyModule(make(classes)); }};
}

}  // namespace

const std::vector<PublishedModel>& published_models() {
  static const std::vector<PublishedModel> all{
      image_model<resnet18>("resnet18"),   image_model<resnet34>("resnet34"),
      image_model<resnet50>("resnet50"),   image_model<resnet101>("resnet101"),
      image_model<resnet152>("resnet152"), image_model<vgg11>("vgg11"),
      image_model<vgg11_bn>("vgg11_bn"),   image_model<vgg13>("vgg13"),
      image_model<vgg13_bn>("vgg13_bn"),   image_model<vgg16>("vgg16"),
      image_model<vgg16_bn>("vgg16_bn"),   image_model<vgg19>("vgg19"),
      image_model<vgg19_bn>("vgg19_bn"),   image_model<mobilenet_v2>("mobilenet_v2"),
      image_model<vit_b_16>("vit_b_16"),   image_model<vit_b_32>("vit_b_32"),
      image_model<vit_l_16>("vit_l_16"),   {"gpt2", {128}, 0, [](int64_t) { return nn::AnyModule(gpt2()); }},
  };
  return all;
}

const PublishedModel* find_published(const std::string& name) {
  for (const PublishedModel& model : published_models())
    if (name == model.name) return &model;
  return nullptr;
}

}  // namespace tandem::models
