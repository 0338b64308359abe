// Normalisations and attention.
#include "tandem/models/generate.h"
#include "tandem/tests/cuda/strict.h"

#include <limits>

using namespace tandem;

namespace {

constexpr int64_t kNarrow = 256;  // keys of a block
constexpr ScalarType kTypes[] = {kFloat, kDouble, kBFloat16, kHalf};

Tensor sample(IntArrayRef sizes, ScalarType type) { return (randn(sizes) * 2 + 0.5).to(type); }

}  // namespace

TEST_CASE("strict: layer_norm") {
  if (!is_strict_device()) return;
  const int64_t sizes[][2] = {{1, 1}, {3, 7}, {70, 33}, {5, 100}, {2, 4097}, {1, 40000}, {100, 64}};
  for (const ScalarType type : kTypes)
    for (const auto& size : sizes) {
      const int64_t rows = size[0], n = size[1];
      CAPTURE(type);
      CAPTURE(n);
      const Tensor x = sample({rows, n}, type), w = sample({n}, type), b = sample({n}, type);
      same([n](const Tensors& t) { return layer_norm(t[0], {n}, t[1], t[2]); }, {x, w, b});
      same([n](const Tensors& t) { return layer_norm(t[0], {n}); }, {x});
    }
  Tensor odd = randn({3, 50});
  odd.data_ptr<float>()[7] = std::numeric_limits<float>::infinity();
  odd.data_ptr<float>()[60] = std::numeric_limits<float>::quiet_NaN();
  same([](const Tensors& t) { return layer_norm(t[0], {50}); }, {odd});
}

TEST_CASE("strict: batch_norm") {
  if (!is_strict_device()) return;
  const Dims sizes[] = {{5, 3},        {40, 70},      {2, 3, 1},      {3, 4, 15},
                        {3, 5, 16, 1}, {2, 20, 7, 9}, {2, 2, 70, 71}, {9, 2, 37}};
  for (const ScalarType type : kTypes)
    for (const Dims& size : sizes) {
      CAPTURE(type);
      CAPTURE(size);
      const int64_t c = size[1];
      const ScalarType computed = toOpMathType(type);
      const Tensors inputs{sample(size, type), sample({c}, kFloat).to(type), sample({c}, kFloat).to(type)};
      for (const bool training : {true, false}) {
        const Tensor mean = randn({c}).to(type), var = (rand({c}) + 0.1).to(type);
        Tensor tracked[2];
        same(
            [&](const Tensors& t) {
              const bool device = t[0].is_cuda();
              const Tensor m = mean.to(t[0].device(), computed, false, true),
                           v = var.to(t[0].device(), computed, false, true);
              const Tensor out = batch_norm(t[0], t[1].to(computed), t[2].to(computed), m, v, training, 0.3, 1e-3);
              tracked[device] = cat({m, v}, 0).cpu();
              return out;
            },
            inputs);
        CHECK(testing::identical(tracked[1], tracked[0]));
      }
      if (size.size() < 4) continue;
      const Tensor last = inputs[0].contiguous(MemoryFormat::ChannelsLast);
      for (const bool training : {true, false})
        same(
            [&](const Tensors& t) {
              const Tensor ones = tandem::ones({c}, t[0].options());
              return batch_norm(t[0], t[1], t[2], ones, ones * 2, training, 0.1, 1e-5);
            },
            {last, inputs[1], inputs[2]});
    }
}

TEST_CASE("strict: composed normalisations") {
  if (!is_strict_device()) return;
  same([](const Tensors& t) { return group_norm(t[0], 3, t[1], t[2]); }, {randn({4, 6, 7, 5}), randn({6}), randn({6})});
  same([](const Tensors& t) { return rms_norm(t[0], {70}, t[1]); }, {randn({4, 70}), randn({70})});
  same([](const Tensors& t) { return instance_norm(t[0], t[1], t[2]); }, {randn({3, 4, 9, 8}), randn({4}), randn({4})});
}

TEST_CASE("strict: attention") {
  if (!is_strict_device()) return;
  struct Case {
    int64_t batch, heads, groups, queries, keys, width, value_width;
    bool causal;
    double dropout;
    int mask;  // 0: none, 1: bool, 2: numbers
  };
  const Case cases[] = {{2, 3, 3, 5, 7, 8, 8, false, 0, 0},        {1, 2, 2, 130, 300, 16, 9, true, 0, 0},
                        {1, 4, 2, 40, 290, 33, 20, false, 0.3, 1}, {1, 1, 1, 150, 300, 5, 4, false, 0, 2},
                        {2, 2, 1, 1, 1, 70, 3, false, 0, 0},       {1, 2, 2, 20, 37, 1, 1, false, 0, 0},
                        {1, 1, 1, 3, 600, 600, 530, false, 0, 0},  {1, 9, 9, 33, 33, 12, 12, true, 0.5, 0}};
  for (const ScalarType type : kTypes)
    for (const Case& c : cases) {
      CAPTURE(type);
      CAPTURE(c.keys);
      const Tensors inputs{sample({c.batch, c.queries, c.heads, c.width}, type).transpose(1, 2),
                           sample({c.batch, c.groups, c.keys, c.width}, type),
                           sample({c.batch, c.groups, c.keys, c.value_width}, type)};
      Tensor mask;
      if (c.mask > 0) {
        mask = (rand({c.heads, c.queries, c.keys}) > 0.4).logical_and(arange(c.keys) < c.keys - 20);
        mask.select(1, 1).fill_(false);  // sees no key
        if (c.keys > kNarrow) mask.narrow(2, 0, kNarrow).fill_(false);
        REQUIRE(mask.any().item<bool>());
      }
      if (c.mask == 2)
        mask = randn(mask.sizes()).to(type).masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
      same(
          [&](const Tensors& t) {
            manual_seed(5);
            return scaled_dot_product_attention(t[0], t[1], t[2], t[0].is_cuda() ? to_cuda(mask) : mask, c.dropout,
                                                c.causal, {}, c.heads != c.groups);
          },
          inputs);
    }
  for (const int64_t before : {0, 3, 290})
    same([=](const Tensors& t) { return autograd::causal_attention(t[0], t[1], t[2], before, {}); },
         {randn({1, 2, 10, 8}), randn({1, 2, 300, 8}), randn({1, 2, 300, 8})});
}

TEST_CASE("strict: generate") {
  if (!is_strict_device()) return;
  const auto tokens = [](const Device& device, double temperature) {
    manual_seed(1);
    models::GPT2LMHeadModel model(
        models::GPT2Options().n_layer(1).n_embd(16).n_head(2).vocab_size(30).n_positions(60).initializer_range(0.5));
    model->to(device);
    model->eval();
    const Tensor prompt = (arange(8) * 7 % 30).view({2, 4}).to(device);
    return models::generate(model, prompt, {.max_new_tokens = 50, .temperature = temperature, .seed = 3}).cpu();
  };
  for (const double temperature : {0.0, 0.8})
    CHECK(testing::identical(tokens(cuda0(), temperature), tokens(Device(kCPU), temperature)));
}
