// GPT-2 with a cache computes what it computes without one, and generate() draws the tokens that it says.
#include "tandem/models/generate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::models;
using test::error_of;

namespace {

GPT2LMHeadModel small_model(double deviation = 0.3) {
  manual_seed(1);
  GPT2LMHeadModel model(
      GPT2Options().n_layer(2).n_embd(32).n_head(4).vocab_size(100).n_positions(24).initializer_range(deviation));
  model->eval();
  return model;
}

Tensor some_tokens(int64_t batch, int64_t count) { return randint(0, 100, {batch, count}, TensorOptions(kLong)); }

double difference(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

// What generate() does greedily, without a cache.
Tensor greedy(GPT2LMHeadModel& model, Tensor tokens, int64_t count) {
  NoGradGuard no_grad;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor logits = model(tokens);
    tokens = cat({tokens, logits.select(1, tokens.size(1) - 1).argmax(-1, true)}, 1);
  }
  return tokens;
}

}  // namespace

TEST_CASE("with a cache, GPT-2 computes the logits of the whole sequence") {
  GPT2LMHeadModel model = small_model();
  NoGradGuard no_grad;
  for (const int64_t batch : {1, 3}) {
    const Tensor tokens = some_tokens(batch, 20), expected = model(tokens);
    const GPT2Cache cache(model->options, batch, 20);
    CHECK_EQ(cache.nbytes(), static_cast<std::size_t>(2 * 2 * batch * 20 * 32 * 4));
    const double largest = expected.abs().max().item<double>();
    int64_t begin = 0;
    for (const int64_t count : {7, 1, 1, 4, 1, 0, 6}) {  // several tokens behind earlier ones, too
      const Tensor logits = model->forward(tokens.slice(1, begin, begin + count), cache);
      CHECK_EQ(logits.sizes(), IntArrayRef({batch, count, 100}));
      if (count > 0) CHECK_LT(difference(logits, expected.slice(1, begin, begin + count)), 1e-5 * largest);
      begin += count;
      CHECK_EQ(cache.length(), begin);
    }
    cache.truncate(5);
    CHECK_LT(difference(model->forward(tokens.slice(1, 5, 9), cache), expected.slice(1, 5, 9)), 1e-5 * largest);
  }
}

TEST_CASE("a cache without room, or of another size, is refused and stays as it was") {
  GPT2LMHeadModel model = small_model();
  const GPT2Cache cache(model->options, 2, 6);
  const Tensor tokens = some_tokens(2, 7);
  CHECK_NE(error_of([&] { model->forward(tokens, cache); }).find("room for 6 tokens"), std::string::npos);
  model->forward(tokens.slice(1, 0, 4), cache);
  CHECK_NE(error_of([&] { model->forward(tokens.slice(1, 4, 7), cache); }).find("holds 4"), std::string::npos);
  CHECK_NE(error_of([&] { model->forward(full({2, 1}, 100, TensorOptions(kLong)), cache); }), "");
  CHECK_EQ(cache.length(), 4);
  CHECK_NE(error_of([&] { model->forward(some_tokens(3, 1), cache); }).find("for 2 sequences"), std::string::npos);
  CHECK_NE(error_of([&] { cache.truncate(5); }).find("truncate to 5"), std::string::npos);
  CHECK_NE(error_of([&] { GPT2Cache(model->options, 1, 25); }).find("n_positions = 24"), std::string::npos);
  CHECK_NE(error_of([&] { GPT2Cache(model->options, 0, 5); }).find("batch"), std::string::npos);
  const GPT2Cache other(GPT2Options(model->options).n_layer(3), 2, 6);
  CHECK_NE(error_of([&] { model->forward(tokens.slice(1, 0, 1), other); }).find("another size"), std::string::npos);
  model->train();
  CHECK_NE(error_of([&] { model->forward(tokens.slice(1, 4, 5), cache); }).find("eval()"), std::string::npos);
}

TEST_CASE("greedy generation takes the most probable tokens") {
  GPT2LMHeadModel model = small_model();
  const Tensor prompt = some_tokens(2, 5);
  const Tensor tokens = generate(model, prompt, GenerateOptions{.max_new_tokens = 12, .temperature = 0});
  CHECK(tokens.equal(greedy(model, prompt, 12)));
  CHECK(generate(model, prompt, GenerateOptions{.max_new_tokens = 12, .top_k = 1}).equal(tokens));
  CHECK(generate(model, prompt, GenerateOptions{.max_new_tokens = 0}).equal(prompt));
}

TEST_CASE("the same seed generates the same tokens, and more of them continue") {
  GPT2LMHeadModel model = small_model(0.1);
  const Tensor prompt = some_tokens(2, 3);
  const GenerateOptions options{.max_new_tokens = 10, .top_k = 50, .top_p = 0.95, .seed = 5};
  GenerateOptions longer = options, other = options;
  longer.max_new_tokens = 20;
  other.seed = 6;
  const Tensor tokens = generate(model, prompt, options);
  CHECK_EQ(tokens.sizes(), IntArrayRef({2, 13}));
  CHECK(generate(model, prompt, options).equal(tokens));
  CHECK(generate(model, prompt, longer).slice(1, 0, 13).equal(tokens));
  CHECK_FALSE(generate(model, prompt, other).equal(tokens));
  const Tensor same = prompt.slice(0, 0, 1).expand({2, 3});  // each sequence draws for itself
  const Tensor drawn = generate(model, same, options);
  CHECK_FALSE(drawn[0].equal(drawn[1]));
}

TEST_CASE("tokens are passed on as they come, and generation ends at the end token") {
  GPT2LMHeadModel model = small_model();
  const Tensor prompt = some_tokens(2, 3);
  GenerateOptions options{.max_new_tokens = 10, .temperature = 0};
  const Tensor all = generate(model, prompt, options);
  std::vector<int64_t> seen;
  options.on_tokens = [&](const std::vector<int64_t>& tokens) {
    CHECK_EQ(tokens.size(), 2);
    seen.push_back(tokens[1]);
    return seen.size() < 4;
  };
  const Tensor some = generate(model, prompt, options);
  CHECK(some.equal(all.slice(1, 0, 7)));
  for (std::size_t i = 0; i < 4; ++i) CHECK_EQ(seen[i], all[1][static_cast<int64_t>(i) + 3].item<int64_t>());

  const int64_t end = all[0][5].item<int64_t>();  // the third new token of the first sequence
  options.on_tokens = nullptr;
  options.end_token = end;
  const Tensor ended = generate(model, prompt, options);
  bool over[2] = {false, false};
  for (int64_t t = 3; t < ended.size(1); ++t) {
    CHECK_FALSE((over[0] && over[1]));
    for (int64_t n = 0; n < 2; ++n) {
      const int64_t token = ended[n][t].item<int64_t>();
      CHECK_EQ(token, over[n] ? end : all[n][t].item<int64_t>());
      over[n] = over[n] || token == end;
    }
  }
  CHECK(over[0]);
}

TEST_CASE("sample_token draws with the probabilities of the softmax") {
  const std::vector<double> logits{1, 3, -std::numeric_limits<double>::infinity(), 2, 3};
  const Tensor values = tensor(logits, TensorOptions(kDouble));
  const auto shares = [&](const GenerateOptions& options) {
    std::vector<double> share(5, 0);
    constexpr int kDraws = 10000;
    for (int i = 0; i < kDraws; ++i)
      share[static_cast<std::size_t>(sample_token(values, options, (i + 0.5) / kDraws))] += 1.0 / kDraws;
    return share;
  };
  const auto near = [&](const GenerateOptions& options, std::vector<double> weights) {
    double total = 0;
    for (const double w : weights) total += w;
    const std::vector<double> found = shares(options);
    for (std::size_t i = 0; i < 5; ++i) CHECK_EQ(found[i], doctest::Approx(weights[i] / total).epsilon(0.001));
  };
  const double e = std::exp(1.0);
  near(GenerateOptions{}, {e, e * e * e, 0, e * e, e * e * e});
  near(GenerateOptions{.temperature = 0.5}, {e * e, std::exp(6.0), 0, std::exp(4.0), std::exp(6.0)});
  near(GenerateOptions{.top_k = 3}, {0, e * e * e, 0, e * e, e * e * e});
  near(GenerateOptions{.top_k = 2}, {0, 1, 0, 0, 1});
  near(GenerateOptions{.top_k = 1}, {0, 1, 0, 0, 0});
  near(GenerateOptions{.top_k = 100}, {e, e * e * e, 0, e * e, e * e * e});
  near(GenerateOptions{.top_p = 0.5}, {0, 1, 0, 0, 1});  // the probabilities are 0.40, 0.40, 0.15 and 0.05
  near(GenerateOptions{.top_p = 0.3}, {0, 1, 0, 0, 0});
  near(GenerateOptions{.top_p = 0.9}, {0, e * e * e, 0, e * e, e * e * e});
  near(GenerateOptions{.temperature = 0}, {0, 1, 0, 0, 0});
}

TEST_CASE("options and prompts out of range are refused") {
  GPT2LMHeadModel model = small_model();
  const Tensor prompt = some_tokens(1, 3);
  const auto message = [&](const GenerateOptions& options) {
    return error_of([&] { generate(model, prompt, options); });
  };
  CHECK_NE(message(GenerateOptions{.temperature = -1}).find("temperature"), std::string::npos);
  CHECK_NE(message(GenerateOptions{.top_k = -1}).find("top_k"), std::string::npos);
  CHECK_NE(message(GenerateOptions{.top_p = 0}).find("top_p"), std::string::npos);
  CHECK_NE(message(GenerateOptions{.top_p = std::numeric_limits<double>::quiet_NaN()}).find("top_p"),
           std::string::npos);
  CHECK_NE(message(GenerateOptions{.max_new_tokens = -1}).find("max_new_tokens"), std::string::npos);
  CHECK_NE(message(GenerateOptions{.max_new_tokens = 22}).find("24 positions"), std::string::npos);
  CHECK_NE(message(GenerateOptions{.max_new_tokens = INT64_MAX}).find("24 positions"), std::string::npos);
  CHECK_EQ(message(GenerateOptions{.max_new_tokens = 21}), "");
  CHECK_NE(error_of([&] { generate(model, prompt.to(kInt)); }).find("int64"), std::string::npos);
  CHECK_NE(error_of([&] { generate(model, prompt.slice(1, 0, 0)); }).find("at least one"), std::string::npos);
  const Tensor broken = full({4}, std::numeric_limits<double>::quiet_NaN());
  CHECK_NE(error_of([&] { sample_token(broken, {}, 0); }).find("NaN"), std::string::npos);
  model->train();
  CHECK_NE(message(GenerateOptions{.max_new_tokens = 2}).find("eval()"), std::string::npos);
}

TEST_CASE("with slide, generation goes on when all positions are used") {
  GPT2LMHeadModel model = small_model();
  const NoGradGuard no_grad;
  for (const int64_t length : {3, 24, 30}) {
    const Tensor prompt = some_tokens(2, length);
    const Tensor all = generate(model, prompt, GenerateOptions{.max_new_tokens = 50, .temperature = 0, .slide = true});
    Tensor expected = prompt;
    int64_t start = length > 24 ? length - 24 : 0;
    for (int i = 0; i < 50; ++i) {
      const int64_t end = expected.size(1);
      if (end - start > 24) start = end - 12;
      const Tensor logits = model(expected.slice(1, start, end));
      expected = cat({expected, logits.select(1, logits.size(1) - 1).argmax(-1, true)}, 1);
    }
    CHECK(all.equal(expected));
  }
}

TEST_CASE("prompts of different lengths get together what each gets alone") {
  GPT2LMHeadModel model = small_model();
  std::vector<std::vector<int64_t>> prompts;
  for (const int64_t length : {3, 9, 1, 9, 5}) {
    const Tensor tokens = some_tokens(1, length);
    prompts.emplace_back(tokens.const_data_ptr<int64_t>(), tokens.const_data_ptr<int64_t>() + length);
  }
  const auto check_alone = [&](const GenerateOptions& options) {
    const auto together = generate(model, prompts, options);
    REQUIRE_EQ(together.size(), prompts.size());
    for (std::size_t n = 0; n < prompts.size(); ++n) {
      const Tensor alone = generate(model, tensor(prompts[n]).unsqueeze(0), options);
      CHECK(tensor(together[n]).equal(alone[0]));
    }
    return together;
  };
  const auto all = check_alone(GenerateOptions{.max_new_tokens = 15, .temperature = 0});
  CHECK_EQ(all[2].size(), 16);
  check_alone(GenerateOptions{.max_new_tokens = 15, .temperature = 0, .end_token = all[1][12]});
  const auto message = [&](const std::vector<std::vector<int64_t>>& some, const GenerateOptions& options) {
    return error_of([&] { generate(model, some, options); });
  };
  CHECK_NE(message({{1}, {}}, {}).find("empty"), std::string::npos);
  CHECK_NE(message({}, {}).find("no prompts"), std::string::npos);
  CHECK_NE(message(prompts, GenerateOptions{.slide = true}).find("slide"), std::string::npos);
  CHECK_NE(message(prompts, GenerateOptions{.max_new_tokens = 16}).find("24 positions"), std::string::npos);
}

TEST_CASE("with its places on the device, a cache takes token after token, with the same logits") {
  GPT2LMHeadModel model = small_model();
  const NoGradGuard no_grad;
  const auto refused = [](const GPT2Cache& cache, int64_t keys) {
    CHECK_EQ(error_of([&] { cache.keep_places_on_device(keys); }),
             concat("GPT2Cache: ", keys, " places on the device must be more than the ", cache.length(),
                    " tokens and at most the capacity, 20"));
  };
  for (const int64_t batch : {1, 3}) {
    const Tensor tokens = some_tokens(batch, 20);
    const GPT2Cache plain(model->options, batch, 20), placed(model->options, batch, 20);
    if (batch == 3)
      for (const GPT2Cache* cache : {&plain, &placed}) cache->set_padding({2, 0, 1});
    const auto same = [&](int64_t begin, int64_t end) {
      const Tensor expected = model->forward(tokens.slice(1, begin, end), plain);
      const Tensor found = model->forward(tokens.slice(1, begin, end), placed);
      if (placed.place().defined()) placed.advance(1);
      CHECK_EQ(placed.length(), end);
      CHECK_LT(difference(found, expected), 1e-5 * expected.abs().max().item<double>());
    };
    CHECK_FALSE(placed.place().defined());
    same(0, 4);
    for (const int64_t keys : {-1, 3, 4, 21}) refused(placed, keys);
    for (const Tensor& t : {placed.append(0, zeros({batch, 4, 1, 8}), full({batch, 4, 1, 8}, NAN)).second})
      CHECK_EQ(t.size(2), 5);  // what is behind the tokens does not count, even if it is no number
    placed.keep_places_on_device(5);
    CHECK_EQ(placed.place().item<int64_t>(), 4);
    same(4, 5);
    CHECK_EQ(placed.place().item<int64_t>(), 5);
    CHECK_NE(error_of([&] {
               model->forward(tokens.slice(1, 5, 6), placed);
             }).find("GPT2: with places on the device a cache takes one token at a time, up to 5 in all, got "),
             std::string::npos);
    placed.keep_places_on_device(20);
    CHECK_NE(error_of([&] { model->forward(tokens.slice(1, 5, 7), placed); }).find("one token at a time, up to 20"),
             std::string::npos);
    for (int64_t t = 5; t < 9; ++t) same(t, t + 1);
    for (const GPT2Cache* cache : {&plain, &placed}) cache->truncate(6);
    CHECK_EQ(placed.place().item<int64_t>(), 6);
    for (int64_t t = 6; t < 20; ++t) same(t, t + 1);
    CHECK_FALSE(placed.visible().defined());
    for (const GPT2Cache* cache : {&plain, &placed}) cache->truncate(7);
    placed.keep_places_on_device(0);
    CHECK_FALSE(placed.place().defined());
    same(7, 11);
  }
}

TEST_CASE("caches out of range are refused with their numbers") {
  const GPT2Options options = small_model()->options;
  const auto message = [&](int64_t batch, int64_t capacity, const GPT2Options& of) {
    return error_of([&] { GPT2Cache(of, batch, capacity); });
  };
  CHECK_EQ(message(0, 5, options), "GPT2Cache: batch must be positive, got 0");
  CHECK_EQ(message(1, 5, options), "");
  for (const int64_t capacity : {-1, 0, 25})
    CHECK_EQ(message(1, capacity, options),
             concat("GPT2Cache: capacity must be from 1 to n_positions = 24, got ", capacity));
  for (const int64_t capacity : {1, 24}) CHECK_EQ(message(1, capacity, options), "");
  for (const int64_t heads : {-1, 0, 5})
    CHECK_EQ(message(1, 5, GPT2Options(options).n_head(heads)),
             concat("GPT2Cache: n_head = ", heads, " must be positive and divide n_embd = 32"));
  const GPT2Cache cache(options, 2, 6);
  CHECK_EQ(cache.batch(), 2);
  CHECK_EQ(cache.capacity(), 6);
  CHECK_EQ(cache.length(), 0);
  const auto padded = [&](const std::vector<int64_t>& padding) {
    return error_of([&] { cache.set_padding(padding); });
  };
  CHECK_EQ(padded({0}), "GPT2Cache: padding for 1 sequences, the cache is for 2");
  CHECK_EQ(padded({0, -1}), "GPT2Cache: padding -1, the capacity is 6");
  CHECK_EQ(padded({6, 0}), "GPT2Cache: padding 6, the capacity is 6");
  CHECK_FALSE(cache.padding().defined());
  CHECK_EQ(padded({5, 0}), "");
  CHECK(cache.padding().equal(tensor({int64_t{5}, int64_t{0}})));
  cache.advance(3);
  CHECK_EQ(padded({5, 0}), "GPT2Cache: padding comes before all tokens, and the cache holds 3");
  for (const int64_t length : {-1, 4})
    CHECK_EQ(error_of([&] { cache.truncate(length); }),
             concat("GPT2Cache: cannot truncate to ", length, " tokens, the cache has 3"));
  CHECK_EQ(error_of([&] { cache.truncate(3); }), "");
  CHECK_EQ(cache.length(), 3);
  const auto room = [&](std::vector<int64_t> sizes, const GPT2Options& of) {
    return error_of([&] { cache.check_room(zeros(sizes, TensorOptions(kLong)), of); });
  };
  CHECK_EQ(room({2, 3}, options), "");
  CHECK_EQ(room({2, 4}, options),
           "GPT2: the cache has room for 6 tokens and holds 3, so 4 more do not fit; make it with a larger capacity "
           "(n_positions = 24 is the most), or truncate it");
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2}, {3, 1}, {2, 1, 1}})
    CHECK_EQ(room(sizes, options), concat("GPT2: the cache is for 2 sequences, so input_ids must be [2, T], got ",
                                          zeros(sizes, TensorOptions(kLong))));
  for (const auto& other : {GPT2Options(options).n_layer(1), GPT2Options(options).n_head(8),
                            GPT2Options(options).n_embd(64), GPT2Options(options).n_head(2).n_embd(16)})
    CHECK_EQ(room({2, 1}, other), "GPT2: the cache was made for a model of another size");
}

TEST_CASE("sample_token takes the first token whose cumulative probability is larger than the number") {
  const double inf = std::numeric_limits<double>::infinity(), below = std::nextafter(1.0, 0.0);
  const auto sample = [](const std::vector<double>& weights, double uniform, const GenerateOptions& options = {}) {
    std::vector<double> logits;
    for (const double w : weights) logits.push_back(std::log(w));
    return sample_token(tensor(logits, TensorOptions(kDouble)), options, uniform);
  };
  // Probabilities 1/4, 1/2, 0, 1/4, whose sums are exact.
  const std::vector<double> weights{1, 2, 0, 1};
  const auto tokens = [&](const GenerateOptions& options) {
    std::vector<int64_t> out;
    for (const double uniform : {0.0, std::nextafter(0.25, 0.0), 0.25, std::nextafter(0.75, 0.0), 0.75, below})
      out.push_back(sample(weights, uniform, options));
    return out;
  };
  using Tokens = std::vector<int64_t>;
  CHECK_EQ(tokens({}), Tokens{0, 0, 1, 1, 3, 3});
  CHECK_EQ(tokens({.top_k = 4}), Tokens{0, 0, 1, 1, 3, 3});
  CHECK_EQ(tokens({.top_k = 3}), Tokens{0, 0, 1, 1, 3, 3});
  CHECK_EQ(tokens({.top_k = 2}), Tokens{0, 0, 0, 1, 1, 1});  // 1/3 and 2/3: of equal ones the first stays
  CHECK_EQ(tokens({.top_p = 0.5}), Tokens{1, 1, 1, 1, 1, 1});
  CHECK_EQ(tokens({.top_p = 0.51}), Tokens{0, 0, 0, 1, 1, 1});
  CHECK_EQ(tokens({.top_p = 0.75}), Tokens{0, 0, 0, 1, 1, 1});
  CHECK_EQ(tokens({.top_p = 0.76}), Tokens{0, 0, 1, 1, 3, 3});
  CHECK_EQ(tokens({.top_p = 1e-300}), Tokens{1, 1, 1, 1, 1, 1});
  CHECK_EQ(tokens({.top_k = 2, .top_p = 0.6}), Tokens{1, 1, 1, 1, 1, 1});  // of the two that are left
  CHECK_EQ(tokens({.top_k = 1}), Tokens{1, 1, 1, 1, 1, 1});
  CHECK_EQ(tokens({.temperature = 0}), Tokens{1, 1, 1, 1, 1, 1});
  CHECK_EQ(sample({1, 1, 1}, 0.5, {.temperature = 0}), 0);
  CHECK_EQ(sample({0, 0}, 0.9), 0);  // no token is possible: the first
  CHECK_EQ(sample({5}, 0.9), 0);
  CHECK_EQ(sample({1, inf, inf}, 0.9), 1);
  for (const int64_t place : {0, 2})
    CHECK_EQ(error_of([&] {
               std::vector<double> logits{1, 1, 1};
               logits[static_cast<std::size_t>(place)] = NAN;
               sample_token(tensor(logits, TensorOptions(kDouble)), {.temperature = 0}, 0);
             }),
             concat("generate: the logit of token ", place, " is NaN"));
  for (const Tensor& logits : {zeros({2, 2}), zeros({}), zeros({0}), zeros({2}, TensorOptions(kLong))})
    CHECK_EQ(error_of([&] { sample_token(logits, {}, 0); }),
             concat("sample_token: logits must be [vocab_size], got ", logits));
}

TEST_CASE("rows of logits are sampled where they are as one by one") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor logits = tensor({0.0,  1.0,  -inf, 0.5,  1.0, -2.0, 3.0,  3.0,  3.0,  3.0,  3.0,  3.0,
                                -inf, -inf, 2.0,  -inf, 2.5, -inf, -inf, -inf, -inf, -inf, -inf, -inf},
                               TensorOptions(kDouble))
                            .view({4, 6}) +
                        tensor({0.0, 800.0, -800.0, 0.0}, TensorOptions(kDouble)).view({4, 1});  // what exp() overflows
  const auto [best, tokens] = max(logits, -1);
  for (const GenerateOptions& options : {GenerateOptions{},
                                         {.temperature = 0.5},
                                         {.top_k = 1},
                                         {.top_k = 2},
                                         {.top_k = 3},
                                         {.top_k = 6},
                                         {.top_k = 9},
                                         {.top_p = 0.3},
                                         {.top_p = 0.9},
                                         {.top_p = 0.999},
                                         {.temperature = 2, .top_k = 3, .top_p = 0.5}})
    for (const double uniform : {0.0, 0.1, 0.35, 0.6, 0.85, 0.99}) {
      const Tensor found =
          models::detail::sample_tokens(logits, best, tokens, options, full({4}, uniform, TensorOptions(kDouble)));
      for (int64_t n = 0; n < 4; ++n) {
        CAPTURE(n);
        CAPTURE(uniform);
        CHECK_EQ(found[n].item<int64_t>(), sample_token(logits[n], options, uniform));
      }
    }
}

TEST_CASE("generation draws each token with the next numbers of its seed") {
  GPT2LMHeadModel model = small_model(0.1);
  const NoGradGuard no_grad;
  const Tensor prompt = some_tokens(3, 4);
  for (const GenerateOptions& options : {GenerateOptions{.max_new_tokens = 6, .seed = 11},
                                         {.max_new_tokens = 6, .temperature = 0.5, .top_k = 7, .seed = 12},
                                         {.max_new_tokens = 6, .top_p = 0.5, .seed = 13}}) {
    Tensor uniform;
    {
      const GeneratorGuard guard{Generator(options.seed)};
      uniform = rand({6, 3}, TensorOptions(kDouble));
    }
    Tensor all = prompt;
    for (int64_t t = 0; t < 6; ++t) {
      const Tensor logits = model(all).select(1, -1);
      std::vector<int64_t> next;
      for (int64_t n = 0; n < 3; ++n) next.push_back(sample_token(logits[n], options, uniform[t][n].item<double>()));
      all = cat({all, tensor(next).view({3, 1})}, 1);
    }
    const Tensor draws = default_generator().get_state();
    CHECK(generate(model, prompt, options).equal(all));
    CHECK(default_generator().get_state().equal(draws));
  }
}

TEST_CASE("options of generation at their limits, and how it ends") {
  GPT2LMHeadModel model = small_model();
  const Tensor prompt = some_tokens(2, 3);
  const auto message = [&](const GenerateOptions& options) {
    return error_of([&] { generate(model, prompt, options); });
  };
  const double inf = std::numeric_limits<double>::infinity();
  CHECK_EQ(message({.max_new_tokens = -1}), "generate: max_new_tokens must not be negative, got -1");
  CHECK_EQ(message({.temperature = -0.5}), "generate: temperature must be a number from 0 on, got -0.5");
  CHECK_EQ(message({.temperature = inf}), "generate: temperature must be a number from 0 on, got inf");
  CHECK_EQ(message({.top_k = -1}), "generate: top_k must not be negative, got -1");
  for (const double top_p : {0.0, -0.1, 1.5})
    CHECK_EQ(message({.top_p = top_p}), concat("generate: top_p must be above 0 and at most 1, got ", top_p));
  CHECK_EQ(message({.max_new_tokens = 2, .top_k = 1000000, .top_p = 1}), "");
  CHECK_EQ(message({.max_new_tokens = 22}),
           "generate: a prompt of 3 tokens and 22 new ones are more than the model's 24 positions");
  CHECK_EQ(message({.max_new_tokens = 22, .slide = true}), "");
  for (const Tensor& wrong :
       {prompt[0], prompt.unsqueeze(0), prompt.slice(0, 0, 0), prompt.slice(1, 0, 0), prompt.to(kInt)})
    CHECK_EQ(error_of([&] { generate(model, wrong, {}); }),
             concat("generate: the prompt must be int64 [N, T] with at least one token, got ", wrong));
  // A prompt of all positions needs no new token.
  const Tensor whole = some_tokens(1, 24);
  CHECK(generate(model, whole, {.max_new_tokens = 0}).equal(whole));
  CHECK_FALSE(generate(model, whole, {.max_new_tokens = 0}).is_same(whole));
  CHECK_EQ(generate(model, some_tokens(1, 23), {.max_new_tokens = 1}).size(1), 24);
  // A sequence that ends with its first token, and one that ends with its last.
  const Tensor all = generate(model, prompt, {.max_new_tokens = 8, .temperature = 0});
  for (const auto& [n, t] : {std::pair<int64_t, int64_t>{0, 3}, {1, 10}}) {
    const GenerateOptions until{.max_new_tokens = 8, .temperature = 0, .end_token = all[n][t].item<int64_t>()};
    const Tensor alone = generate(model, prompt.slice(0, n, n + 1), until);
    int64_t end = 3;
    while (end < 11 && all[n][end].item<int64_t>() != until.end_token) ++end;
    CHECK_EQ(alone.size(1), std::min<int64_t>(11, end + 1));
    CHECK(alone[0].equal(all[n].slice(0, 0, alone.size(1))));
  }
  // Token 0 ends a sequence, too; prompts may contain the end token.
  Tensor with_end = prompt.clone();
  with_end[0][1].fill_(0);
  const Tensor zero = generate(model, with_end, {.max_new_tokens = 8, .temperature = 0, .end_token = 0});
  CHECK(zero.slice(1, 0, 3).equal(with_end));
  const std::vector<std::vector<int64_t>> prompts{{1, 0, 2}, {5}};
  const auto free = generate(model, prompts, {.max_new_tokens = 4, .temperature = 0});
  CHECK_EQ(free[0].size(), 7);
  CHECK_EQ(free[1].size(), 5);
  const auto ended = generate(model, prompts, {.max_new_tokens = 4, .temperature = 0, .end_token = free[1][1]});
  CHECK_EQ(ended[1], std::vector<int64_t>{5, free[1][1]});
  // A model whose last layer gives NaN for some tokens.
  GPT2LMHeadModel broken = small_model();
  {
    const NoGradGuard no_grad;
    broken->transformer->ln_f->bias.fill_(0.5);
    for (const int64_t token : {41, 7}) broken->lm_head->weight[token].fill_(NAN);
  }
  for (const double temperature : {0.0, 1.0})
    CHECK_EQ(
        error_of([&] {
          generate(broken, full({1, 2}, 3, TensorOptions(kLong)), {.max_new_tokens = 5, .temperature = temperature});
        }),
        "generate: the logit of token 7 is NaN");
  // A callback that ends the generation after the first token.
  int calls = 0;
  const GenerateOptions once{
      .max_new_tokens = 8, .temperature = 0, .on_tokens = [&](const std::vector<int64_t>&) { return ++calls > 1; }};
  CHECK(generate(model, prompt, once).equal(all.slice(1, 0, 4)));
  CHECK_EQ(calls, 1);
}
