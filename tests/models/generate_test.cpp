// GPT-2 with a cache computes what it computes without one, and generate() draws the tokens that it says.
#include "tandem/models/generate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tandem/autograd/ops.h"
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
