#include "tandem/tests/models/zoo.h"

#include <map>

#include "tandem/models/models.h"

namespace tandem::test {
namespace {

template <class Holder>
std::function<nn::AnyModule()> maker(Holder (*make)(int64_t)) {
  return [make] { return nn::AnyModule(make(1000)); };
}

models::GPT2LMHeadModel small_gpt2() {
  return models::GPT2LMHeadModel(
      models::GPT2Options().n_layer(2).n_embd(32).n_head(4).vocab_size(100).n_positions(24).attn_pdrop(0));
}

}  // namespace

nn::AnyModule make_any_model(const std::string& name) {
  using namespace models;
  static const std::map<std::string, std::function<nn::AnyModule()>> makers{
      {"resnet18", maker(resnet18)},
      {"resnet34", maker(resnet34)},
      {"resnet50", maker(resnet50)},
      {"resnet101", maker(resnet101)},
      {"resnet152", maker(resnet152)},
      {"vgg11", maker(vgg11)},
      {"vgg11_bn", maker(vgg11_bn)},
      {"vgg13", maker(vgg13)},
      {"vgg13_bn", maker(vgg13_bn)},
      {"vgg16", maker(vgg16)},
      {"vgg16_bn", maker(vgg16_bn)},
      {"vgg19", maker(vgg19)},
      {"vgg19_bn", maker(vgg19_bn)},
      {"mobilenet_v2", maker(mobilenet_v2)},
      {"vit_b_16", maker(vit_b_16)},
      {"vit_b_32", maker(vit_b_32)},
      {"vit_l_16", maker(vit_l_16)},
      {"gpt2", [] { return nn::AnyModule(gpt2()); }},
      {"gpt2_small", [] { return nn::AnyModule(small_gpt2()); }},
  };
  const auto found = makers.find(name);
  check(found != makers.end(), "there is no model ", name);
  return found->second();
}

}  // namespace tandem::test
