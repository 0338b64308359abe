// Decoding by captured steps draws the tokens of eager decoding.
#include "tandem/models/generate.h"

#include <doctest/doctest.h>

#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda_emulation/emulation.h"
#endif

namespace tandem::models {
namespace {

const Device kDevice("cuda:0");

GPT2LMHeadModel small_model(Device device, int64_t positions) {
  manual_seed(1);
  GPT2LMHeadModel model(
      GPT2Options().n_layer(1).n_embd(16).n_head(2).vocab_size(30).n_positions(positions).initializer_range(0.5));
  model->to(device);
  model->eval();
  return model;
}

uint64_t graph_launches() {
#ifdef TANDEM_CUDA_EMULATION
  return cuda_emulation::counters().graph_launches;
#else
  return 0;
#endif
}

}  // namespace

TEST_CASE("generate: captured steps draw the same tokens as eager ones") {
  if (!has_devices(1)) return;
  const auto prompt = [](int64_t batch) { return (arange(4 * batch) * 7 % 30).view({batch, 4}); };
  for (const auto& options :
       {GenerateOptions{.max_new_tokens = 70, .temperature = 0},
        GenerateOptions{.max_new_tokens = 20, .temperature = 2, .top_k = 9},
        GenerateOptions{.max_new_tokens = 20, .temperature = 2},
        GenerateOptions{.max_new_tokens = 20, .temperature = 3, .top_p = 0.7, .seed = 3},
        GenerateOptions{.max_new_tokens = 20, .temperature = 3, .top_k = 20, .top_p = 0.9, .seed = 4},
        GenerateOptions{.max_new_tokens = 40, .temperature = 0, .slide = true}}) {
    const int64_t positions = options.slide ? 12 : 80;
    const GPT2LMHeadModel here = small_model(kCPU, positions), there = small_model(kDevice, positions);
    const uint64_t before = graph_launches();
    const Tensor tokens = generate(there, prompt(2).to(kDevice), options);
    CHECK(testing::identical(tokens.cpu(), generate(here, prompt(2), options)));
#ifdef TANDEM_CUDA_EMULATION
    // Warming up and recording take four tokens, of each capture and after each time that the cache slides.
    CHECK(graph_launches() - before >= static_cast<uint64_t>(options.slide ? 1 : options.max_new_tokens - 12));
#else
    static_cast<void>(before);
#endif
  }
  const std::vector<std::vector<int64_t>> prompts{{3, 4, 5}, {7}, {1, 2}};
  const GenerateOptions greedy = GenerateOptions{.max_new_tokens = 12, .temperature = 0};
  CHECK(generate(small_model(kDevice, 32), prompts, greedy) == generate(small_model(kCPU, 32), prompts, greedy));
}

TEST_CASE("generate on a GPU: sequences end, a callback sees each token and may end it, NaN is an error") {
  if (!has_devices(1)) return;
  const GPT2LMHeadModel here = small_model(kCPU, 80), there = small_model(kDevice, 80);
  const Tensor prompt = (arange(6) * 7 % 30).view({3, 2});
  const auto options = GenerateOptions{.max_new_tokens = 60, .temperature = 2, .seed = 5};
  const Tensor endless = generate(here, prompt, options);
  for (const int64_t column : {2, 9, 40}) {  // with a token that ends a sequence early, late, or not at all
    GenerateOptions ending = options;
    ending.end_token = endless[1][column].item<int64_t>();
    const Tensor expected = generate(here, prompt, ending), tokens = generate(there, prompt, ending);
    CHECK(testing::identical(tokens, expected));
    std::vector<std::vector<int64_t>> seen;
    GenerateOptions told = ending;
    told.on_tokens = [&](const std::vector<int64_t>& some) {
      seen.push_back(some);
      return seen.size() < 12;
    };
    const Tensor part = generate(there, prompt, told);
    CHECK(part.size(1) == std::min<int64_t>(expected.size(1), 2 + 12));
    CHECK(testing::identical(part, expected.narrow(1, 0, part.size(1)).contiguous()));
    CHECK(static_cast<int64_t>(seen.size()) == part.size(1) - 2);
    for (std::size_t i = 0; i < seen.size(); ++i)
      CHECK(testing::identical(tensor(seen[i]), part.select(1, 2 + static_cast<int64_t>(i)).contiguous()));
  }
  there->lm_head->weight.data()[29].fill_(NAN);  // a token that the prompt has not
  for (const auto& drawn : {options, GenerateOptions{.max_new_tokens = 60, .temperature = 2, .top_k = 5, .seed = 5},
                            GenerateOptions{.max_new_tokens = 60, .temperature = 0, .seed = 5}})
    CHECK_THROWS_WITH_AS(generate(there, prompt, drawn), doctest::Contains("the logit of token 29 is NaN"), Error);
}

TEST_CASE("generate on a GPU: few positions, no layers, autocast, hooks, the caller's random numbers") {
  if (!has_devices(1)) return;
  const Tensor prompt = ones({1, 2}, kLong);
  const auto options = GenerateOptions{.max_new_tokens = 9, .temperature = 0, .slide = true};
  CHECK(testing::identical(generate(small_model(kDevice, 2), prompt, options),
                           generate(small_model(kCPU, 2), prompt, options)));
  const auto without_layers = [&](Device device) {
    manual_seed(1);
    GPT2LMHeadModel model(GPT2Options().n_layer(0).n_embd(16).n_head(2).vocab_size(30).n_positions(16));
    model->to(device);
    model->eval();
    return generate(model, prompt, GenerateOptions{.max_new_tokens = 9, .temperature = 0});
  };
  CHECK(testing::identical(without_layers(kDevice), without_layers(kCPU)));

  GPT2LMHeadModel model = small_model(kDevice, 32);
  const auto few = GenerateOptions{.max_new_tokens = 9, .temperature = 0};
  {
    const autocast::AutocastGuard mixed(kCUDA, kBFloat16);
    CHECK(generate(model, prompt, few).size(1) == 11);
  }
  int calls = 0;
  model->transformer->ln_f->register_forward_hook(
      [&](nn::Module&, const std::vector<Tensor>&, const Tensor&) { ++calls; });
  set_generator_mode(GeneratorMode::kPyTorch);
  manual_seed(1);
  const Tensor first = rand({5});
  generate(small_model(kDevice, 32), prompt, few);
  const Tensor second = rand({5});
  set_generator_mode(GeneratorMode::kPhilox);
  CHECK_FALSE(testing::identical(first, second));
  generate(model, prompt, few);
  CHECK(calls >= 9);
}

TEST_CASE("GPT2Cache: places on the device give the bits of places on the host") {
  if (!has_devices(1)) return;
  const NoGradGuard no_grad;
  for (const Device device : {Device(kCPU), kDevice}) {
    GPT2LMHeadModel model = small_model(device, 32);
    const Tensor tokens = (arange(20) * 11 % 30).view({2, 10}).to(device);
    const GPT2Cache one(model->options, 2, 32, TensorOptions(device)),
        other(model->options, 2, 32, TensorOptions(device));
    for (const auto* cache : {&one, &other}) {
      cache->set_padding({2, 0});
      model->forward(tokens.narrow(1, 0, 4), *cache);
    }
    other.keep_places_on_device(16);
    for (int64_t i = 4; i < 10; ++i) {
      const Tensor expected = model->forward(tokens.narrow(1, i, 1), one),
                   got = model->forward(tokens.narrow(1, i, 1), other);
      other.advance(1);
      CHECK(testing::identical(got.cpu(), expected.cpu()));
    }
    CHECK(other.length() == one.length());
    CHECK_THROWS_AS(model->forward(tokens.narrow(1, 0, 2), other), Error);
    CHECK_THROWS_AS(other.keep_places_on_device(33), Error);
    CHECK_THROWS_AS(other.keep_places_on_device(10), Error);
    one.truncate(7);
    other.truncate(7);
    CHECK(testing::identical(model->forward(tokens.narrow(1, 3, 1), other).cpu(),
                             model->forward(tokens.narrow(1, 3, 1), one).cpu()));
    other.advance(1);
    other.keep_places_on_device(0);
    CHECK(testing::identical(model->forward(tokens.narrow(1, 0, 3), other).cpu(),
                             model->forward(tokens.narrow(1, 0, 3), one).cpu()));
  }
}

}  // namespace tandem::models
