#include "tandem/tests/models/zoo.h"

#include "tandem/models/models.h"

namespace tandem::test {

nn::AnyModule make_any_model(const std::string& name) {
  if (name == "gpt2_small")
    return nn::AnyModule(models::GPT2LMHeadModel(
        models::GPT2Options().n_layer(2).n_embd(32).n_head(4).vocab_size(100).n_positions(24).attn_pdrop(0)));
  const models::PublishedModel* model = models::find_published(name);
  check(model != nullptr, "there is no model ", name);
  return model->make(model->num_classes);
}

}  // namespace tandem::test
