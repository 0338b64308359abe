// A request gets the same bits whether it is served alone or among 63 others.
#include <doctest/doctest.h>

#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"

using namespace tandem;
using namespace tandem::models;

namespace {

constexpr int64_t kRequests = 64;

// serve(requests [N, …]) returns [N, …].
template <class Serve>
void check_served(const Tensor& requests, Serve serve) {
  const NoGradGuard no_grad;
  const Tensor all = serve(requests);
  for (const int64_t i : {int64_t{0}, int64_t{17}, kRequests - 1})
    CHECK(testing::identical(serve(requests.narrow(0, i, 1)), all.narrow(0, i, 1).contiguous()));
}

}  // namespace

TEST_CASE("images of ResNet-18, plain and fused, and of LeNet") {
  manual_seed(1);
  ResNet resnet = resnet18(10);
  resnet->eval();
  check_served(randn({kRequests, 3, 64, 64}), [&](const Tensor& x) { return resnet(x); });
  nn::fuse(*resnet);
  check_served(randn({kRequests, 3, 64, 64}), [&](const Tensor& x) { return resnet(x); });
  nn::Sequential net = lenet(LeNetOptions(10));
  net->eval();
  check_served(randn({kRequests, 1, 28, 28}), [&](const Tensor& x) { return net->forward(x); });
}

TEST_CASE("sequences of GPT-2 with its cache, and of an LSTM") {
  manual_seed(1);
  GPT2LMHeadModel gpt2(GPT2Options().vocab_size(300).n_positions(32).n_embd(96).n_layer(2).n_head(4));
  gpt2->eval();
  check_served(randint(0, 300, {kRequests, 12}), [&](const Tensor& tokens) {
    const GPT2Cache cache(gpt2->options, tokens.size(0), 12);
    std::vector<Tensor> logits{gpt2->forward(tokens.narrow(1, 0, 9), cache)};
    for (int64_t t = 9; t < 12; ++t) logits.push_back(gpt2->forward(tokens.narrow(1, t, 1), cache));
    return cat(logits, 1);
  });
  nn::LSTM lstm(nn::LSTMOptions(40, 130).num_layers(2).batch_first(true));
  lstm->eval();
  check_served(randn({kRequests, 9, 40}), [&](const Tensor& x) { return std::get<0>(lstm(x)); });
}
