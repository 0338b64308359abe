// RNN, LSTM, GRU, their cells and packed sequences: values from PyTorch 2.15, options, states, clones, errors. The
// underlying operations have separate tests.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/core/threads/parallel_for.h"
#include "tandem/tandem.h"
#include "tandem/tests/nn/layers/layer_testing.h"

using namespace tandem;
using nn::utils::rnn::PackedSequence;
using testing::text;
namespace rnn = tandem::nn::utils::rnn;

namespace {

// (i k mod 11) / 10 - 0.5
Tensor pattern(IntArrayRef sizes, int64_t k) {
  return (arange(checked_numel(sizes), kLong) * k).remainder(11).to(kFloat).div(10).sub(0.5).view(sizes);
}
template <class Holder>
Holder filled(Holder layer) {
  NoGradGuard no_grad;
  int64_t k = 2;
  for (Tensor& p : layer->parameters()) p.copy_(pattern(p.sizes(), k++));
  return layer;
}
// The sum of all elements and the first few of them.
bool near(const Tensor& t, double sum, const std::vector<double>& values) {
  const Tensor flat = t.detach().to(kDouble).reshape({-1});
  return std::abs(flat.sum().item<double>() - sum) < 2e-5 * (1 + std::abs(sum)) &&
         allclose(flat.narrow(0, 0, static_cast<int64_t>(values.size())), tensor(values).to(kDouble), 2e-5, 1e-6);
}
const Tensor& gradient(const nn::Module& layer, const char* name) { return layer.named_parameters()[name].grad(); }
Tensor lengths_2_3() { return tensor(std::vector<int64_t>{2, 3}, kLong); }

}  // namespace

TEST_CASE("LSTM: values and gradients") {
  const Tensor x = pattern({3, 2, 3}, 3);
  nn::LSTM layer = filled(nn::LSTM(nn::LSTMOptions(3, 2).num_layers(2).bidirectional(true)));
  const auto [out, state] = layer(x);
  const auto [h, c] = state;
  CHECK(out.sizes() == IntArrayRef{3, 2, 4});
  CHECK(near(out, 1.02693, {0.0237607, 0.0661617, 0.0342675, 0.0372403, 0.0255586}));
  CHECK(near(h, 0.642002, {0.118066, 0.0340995, 0.124236, 0.0172931, 0.0715777}));
  CHECK(near(c, 1.27013, {0.227007, 0.0886035, 0.238988, 0.042861}));
  (out * out).sum().backward();
  CHECK(near(gradient(*layer, "weight_ih_l0"), 0.00193415, {0.000399607, 0.000144814, 2.38257e-05}));
  CHECK(near(gradient(*layer, "bias_hh_l0_reverse"), -0.0325037, {-0.00486864, -0.000287644, -0.00123112}));
  CHECK(near(gradient(*layer, "weight_hh_l1_reverse"), 0.0100469, {0.000130535, 0.000188696}));

  const PackedSequence packed = rnn::pack_padded_sequence(x, lengths_2_3(), false, false);
  const auto [packed_out, packed_state] = layer->forward_with_packed_input(packed);
  CHECK(near(packed_out.data(), 0.833836, {0.0255586, 0.0581418, 0.0415331, 0.0448239, 0.0236809}));
  CHECK(near(std::get<0>(packed_state), 0.658895, {0.0754082, 0.112259, 0.124236, 0.0172931}));
  CHECK(near(std::get<1>(packed_state), 1.34099, {0.161822, 0.260216}));
}

TEST_CASE("LSTM with a projection") {
  const Tensor x = pattern({3, 2, 3}, 3);
  nn::LSTM layer = filled(nn::LSTM(nn::LSTMOptions(3, 3).num_layers(2).proj_size(2)));
  const auto [out, state] = layer(x);
  CHECK(near(out, -0.673589, {-0.0393665, -0.0393665, -0.0388008}));
  CHECK(std::get<0>(state).sizes() == IntArrayRef{2, 2, 2});
  CHECK(near(std::get<1>(state), 1.82436, {0.0395519, -0.402022, 0.832653}));
  (out * out).sum().backward();
  CHECK(near(gradient(*layer, "weight_hr_l1"), -0.154394, {-0.0508841, -0.0396999, 0.00928449}));
  CHECK_THROWS_WITH_AS(nn::LSTM(nn::LSTMOptions(3, 3).proj_size(3)), doctest::Contains("proj_size"), Error);
}

TEST_CASE("GRU and RNN: values and gradients") {
  const Tensor x = pattern({3, 2, 3}, 3);
  nn::GRU gru = filled(nn::GRU(nn::GRUOptions(3, 2).num_layers(2).bidirectional(true)));
  const auto [out, h] = gru(x);
  CHECK(near(out, 1.27189, {-0.023011, -0.00524209, 0.390978, -0.076831}));
  CHECK(near(h, 1.56682, {0.0791144, 0.14247, 0.0803666}));
  (out * out).sum().backward();
  CHECK(near(gradient(*gru, "bias_ih_l1_reverse"), 1.14765, {-0.0876696, -0.0357018, -0.442954}));
  CHECK(near(gradient(*gru, "bias_hh_l1_reverse"), -0.277393, {-0.0876696, -0.0357018, -0.442954}));
  const PackedSequence packed = rnn::pack_padded_sequence(x, lengths_2_3(), false, false);
  CHECK(near(std::get<1>(gru->forward_with_packed_input(packed)), 1.61093, {0.0305048, 0.334819}));

  nn::RNN tanh_layer = filled(nn::RNN(nn::RNNOptions(3, 2).num_layers(2)));
  const auto [tanh_out, tanh_h] = tanh_layer(x);
  CHECK(near(tanh_out, 2.38411, {-0.61298, 0.721141, -0.556585}));
  CHECK(near(tanh_h, -0.384372, {-0.519058, -0.0413686}));
  (tanh_out * tanh_out).sum().backward();
  CHECK(near(gradient(*tanh_layer, "weight_hh_l0"), -0.231061, {-0.0922535, -0.0652498}));

  nn::RNN relu_layer = filled(nn::RNN(nn::RNNOptions(3, 2).nonlinearity(kReLU).bidirectional(true).bias(false)));
  const auto [relu_out, relu_h] = relu_layer(x);
  CHECK(near(relu_out, 2.34, {0.3, 0, 0.3, 0.24}));
  CHECK(near(relu_h, 1.03, {0.02, 0.23, 0.21, 0.03}));
  (relu_out * relu_out).sum().backward();
  CHECK(near(gradient(*relu_layer, "weight_ih_l0_reverse"), -0.684, {-0.6, -0.132, 0.336}));
}

TEST_CASE("cells") {
  const Tensor x = pattern({3, 2, 3}, 3)[0];
  nn::LSTMCell lstm = filled(nn::LSTMCell(3, 2));
  const auto [h, c] = lstm(x);
  CHECK(near(h, 0.1485, {0.0909995, -0.017262, 0.0363782, 0.0383844}));
  CHECK(near(c, 0.279105, {0.173427, -0.0412962}));
  CHECK(near(filled(nn::GRUCell(3, 2))(x), 0.262017, {0.079106, 0.0121337, 0.00398131, 0.166796}));
  nn::RNNCell cell = filled(nn::RNNCell(3, 2));
  CHECK(near(cell(x), -1.77851, {-0.604368, -0.158649, -0.789461, -0.226028}));
  CHECK(cell(x[0]).sizes() == IntArrayRef{2});
  CHECK(allclose(cell(x[0]), cell(x)[0]));
  CHECK(allclose(cell(x, zeros({2, 2})), cell(x)));
  CHECK(text(cell) == "tandem::nn::RNNCell(3, 2)");
  CHECK(text(nn::RNNCell(nn::RNNCellOptions(3, 2).nonlinearity(kReLU).bias(false))) ==
        "tandem::nn::RNNCell(3, 2, bias=false, nonlinearity=kReLU)");
  CHECK(text(nn::GRUCell(3, 2)) == "tandem::nn::GRUCell(3, 2)");
  CHECK_THROWS_WITH_AS(cell(x, zeros({2, 3})), doctest::Contains("RNNCell: expected states [2, 2]"), Error);
  CHECK_THROWS_WITH_AS(cell(zeros({2, 4})), doctest::Contains("input_size = 3"), Error);
}

TEST_CASE("a packed sequence gives what each sequence gives alone") {
  manual_seed(3);
  nn::LSTM layer(nn::LSTMOptions(4, 5).num_layers(2).bidirectional(true));
  layer->to(kDouble);
  const std::vector<int64_t> lengths{2, 5, 1, 4, 5};
  std::vector<Tensor> sequences;
  for (const int64_t n : lengths) sequences.push_back(randn({n, 4}, kDouble).requires_grad_());
  const std::vector<Tensor> states{randn({4, 5, 5}, kDouble), randn({4, 5, 5}, kDouble)};
  const PackedSequence packed = rnn::pack_sequence(sequences, false);
  const auto [out, state] = layer->forward_with_packed_input(packed, std::make_tuple(states[0], states[1]));
  const auto [padded, found] = rnn::pad_packed_sequence(out, true);
  CHECK(equal(found, tensor(lengths, kLong)));
  const Tensor weight = randn({5, 5, 10}, kDouble);
  Tensor loss = zeros({}, kDouble);
  for (int64_t i = 0; i < 5; ++i) {
    const int64_t n = lengths[static_cast<std::size_t>(i)];
    const auto [alone, end] = layer(sequences[static_cast<std::size_t>(i)].unsqueeze(1),
                                    optional(std::make_tuple(states[0].narrow(1, i, 1), states[1].narrow(1, i, 1))));
    CHECK(allclose(padded[i].narrow(0, 0, n), alone.squeeze(1), 1e-9, 1e-12));
    CHECK(padded[i].narrow(0, n, 5 - n).abs().sum().item<double>() == 0);
    CHECK(allclose(std::get<0>(state).narrow(1, i, 1), std::get<0>(end), 1e-9, 1e-12));
    CHECK(allclose(std::get<1>(state).narrow(1, i, 1), std::get<1>(end), 1e-9, 1e-12));
    loss = loss + (alone.squeeze(1) * weight[i].narrow(0, 0, n)).sum() + std::get<1>(end).sum();
  }
  std::vector<Tensor> leaves = layer->parameters();
  leaves.insert(leaves.end(), sequences.begin(), sequences.end());
  const auto one_by_one = autograd::grad({loss}, leaves);
  const auto together = autograd::grad({(padded * weight).sum() + std::get<1>(state).sum()}, leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) CHECK(allclose(one_by_one[i], together[i], 1e-8, 1e-11));
}

TEST_CASE("the fused layer agrees with a composition of its cells, on any number of threads") {
  manual_seed(5);
  const int64_t steps = 4, batch = 40, features = 70,
                size = 300;  // several panels and blocks of the products
  nn::LSTM lstm(features, size);
  nn::LSTMCell cell(features, size);
  nn::GRU gru(features, size);
  {
    NoGradGuard no_grad;
    for (std::size_t i = 0; i < 4; ++i) cell->parameters()[i].copy_(lstm->parameters()[i]);
  }
  const Tensor x = randn({steps, batch, features}), weight = randn({steps, batch, size});
  Tensor h = zeros({batch, size}), c = h;
  std::vector<Tensor> outs;
  for (int64_t t = 0; t < steps; ++t) {
    std::tie(h, c) = cell(x[t], optional(std::make_tuple(h, c)));
    outs.push_back(h);
  }
  const Tensor by_cells = stack(outs);
  const auto wanted = autograd::grad({(by_cells * weight).sum()}, cell->parameters());
  const auto results = [&] {
    const Tensor a = std::get<0>(lstm(x)), b = std::get<0>(gru(x));
    std::vector<Tensor> all = autograd::grad({(a * weight).sum()}, lstm->parameters());
    for (const Tensor& g : autograd::grad({(b * weight).sum()}, gru->parameters())) all.push_back(g);
    all.push_back(a);
    all.push_back(b);
    return all;
  };
  const int threads = get_num_threads();
  set_num_threads(1);
  const std::vector<Tensor> one = results();
  set_num_threads(3);
  const std::vector<Tensor> three = results();
  set_num_threads(threads);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(equal(one[i], three[i]));
  CHECK(allclose(one[8], by_cells, 1e-4, 1e-5));
  for (std::size_t i = 0; i < 4; ++i) CHECK(allclose(one[i], wanted[i], 1e-3, 1e-3));
}

TEST_CASE("layouts and states of recurrent layers") {
  manual_seed(1);
  nn::LSTM layer(3, 2), first(nn::LSTMOptions(3, 2).batch_first(true));
  {
    NoGradGuard no_grad;
    for (std::size_t i = 0; i < 4; ++i) first->parameters()[i].copy_(layer->parameters()[i]);
  }
  const Tensor x = randn({4, 2, 3});
  const auto [out, state] = layer(x);
  CHECK(allclose(std::get<0>(first(x.transpose(0, 1))).transpose(0, 1), out));
  // Without a batch.
  const auto [alone, alone_state] = layer(x.select(1, 1));
  CHECK(allclose(alone, out.select(1, 1)));
  CHECK(std::get<0>(alone_state).sizes() == IntArrayRef{1, 2});
  // In two parts.
  const auto [begin, middle] = layer(x.narrow(0, 0, 2));
  const auto [end, last] = layer(x.narrow(0, 2, 2), optional(middle));
  CHECK(allclose(cat({begin, end}), out));
  CHECK(allclose(std::get<1>(last), std::get<1>(state)));
  // Not recorded: the same values.
  NoGradGuard no_grad;
  CHECK(equal(std::get<0>(layer(x)), out));
  CHECK(std::get<0>(layer(zeros({3, 0, 3}))).sizes() == IntArrayRef{3, 0, 2});
}

TEST_CASE("dropout between recurrent layers") {
  manual_seed(2);
  nn::GRU layer(nn::GRUOptions(3, 4).num_layers(2).dropout(1.0));
  const Tensor x = randn({3, 2, 3});
  NoGradGuard no_grad;
  const auto [out, h] = layer(x);
  const auto [other, g] = layer(x * 2);
  CHECK(equal(out, other));  // the second layer sees zeros
  CHECK_FALSE(equal(h[0], g[0]));
  layer->eval();
  CHECK_FALSE(allclose(std::get<0>(layer(x)), out));
}

TEST_CASE("recurrent dropout: its rate, its scale, and where it acts") {
  const double p = 0.3;
  // Each layer copies its positive input, so the output is the input times the mask between the layers.
  const auto make = [&](int64_t layers) {
    nn::RNN net(nn::RNNOptions(8, 8).num_layers(layers).dropout(p).nonlinearity(kReLU));
    NoGradGuard no_grad;
    for (auto& parameter : net->named_parameters())
      parameter.key().starts_with("weight_ih") ? parameter->copy_(eye(8)) : parameter->zero_();
    return net;
  };
  nn::RNN net = make(2);
  const Tensor x = (rand({30, 40, 8}, Generator(1)) + 0.5).requires_grad_();
  manual_seed(3);
  const auto [out, h] = net(x);
  const Tensor mask = (out / x).detach(), kept = mask != 0;
  CHECK(allclose(mask, kept.to(kFloat) / (1 - p)));
  const double share = kept.to(kFloat).mean().item<double>();
  CHECK(std::abs(share - (1 - p)) < 5 * std::sqrt(p * (1 - p) / 9600));
  CHECK_FALSE(equal(kept[0], kept[1]));  // a separate mask for each step
  CHECK(allclose(h[0], x[29]));
  out.sum().backward();
  CHECK(allclose(x.grad(), mask));
  CHECK_FALSE(equal(std::get<0>(net(x)), out));
  manual_seed(3);
  CHECK(equal(std::get<0>(net(x)), out));
  net->eval();
  CHECK(allclose(std::get<0>(net(x)), x));
  CHECK(allclose(std::get<0>(make(1)(x)), x));
}

TEST_CASE("parameters of recurrent layers") {
  nn::LSTM layer(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).proj_size(2));
  std::string names;
  for (const auto& p : layer->named_parameters()) names += p.key() + " ";
  CHECK(names.starts_with("weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 weight_hr_l0 weight_ih_l0_reverse "));
  CHECK(layer->named_parameters()["weight_ih_l1"].sizes() == IntArrayRef{16, 4});
  CHECK(layer->all_weights().size() == 20);
  CHECK(layer->all_weights()[9].is_same(layer->named_parameters()["weight_hr_l0_reverse"]));
  for (const Tensor& p : layer->parameters()) {
    CHECK(p.abs().max().item<double>() <= 0.5);
    CHECK(p.abs().max().item<double>() > 0.2);
  }
  CHECK(text(layer) ==
        "tandem::nn::LSTM(input_size=3, hidden_size=4, num_layers=2, bias=true, batch_first=false, dropout=0, "
        "bidirectional=true, proj_size=2)");
  const Tensor x = randn({2, 1, 3});
  const auto copy = std::dynamic_pointer_cast<nn::LSTMImpl>(layer->clone());
  CHECK(equal(std::get<0>(copy->forward(x)), std::get<0>(layer(x))));
  {
    NoGradGuard no_grad;
    copy->parameters()[0].zero_();
  }
  CHECK_FALSE(equal(std::get<0>(copy->forward(x)), std::get<0>(layer(x))));
  copy->load_state_dict(layer->state_dict());
  CHECK(equal(std::get<0>(copy->forward(x)), std::get<0>(layer(x))));
  layer->to(kDouble);
  layer->flatten_parameters();
  CHECK(allclose(std::get<0>(layer(x.to(kDouble))).to(kFloat), std::get<0>(copy->forward(x)), 1e-5, 1e-6));
  std::stringstream archive;
  nn::GRU from(2, 3), to(2, 3);
  save(from, archive);
  load(to, archive);
  CHECK(equal(std::get<0>(from(ones({1, 1, 2}))), std::get<0>(to(ones({1, 1, 2})))));
  nn::AnyModule any(from);
  using Pair = std::tuple<Tensor, Tensor>;
  CHECK(equal(std::get<0>(any.forward<Pair>(ones({1, 1, 2}))), std::get<0>(from(ones({1, 1, 2})))));
}

TEST_CASE("packing and padding") {
  const Tensor x = arange(12, kFloat).view({3, 2, 2});
  const PackedSequence packed = rnn::pack_padded_sequence(x, lengths_2_3(), false, false);
  CHECK(equal(packed.data(), tensor({2., 3., 0., 1., 6., 7., 4., 5., 10., 11.}).to(kFloat).view({5, 2})));
  CHECK(equal(packed.batch_sizes(), tensor(std::vector<int64_t>{2, 2, 1}, kLong)));
  CHECK(equal(packed.sorted_indices(), tensor(std::vector<int64_t>{1, 0}, kLong)));
  CHECK(equal(packed.unsorted_indices(), tensor(std::vector<int64_t>{1, 0}, kLong)));
  const auto [padded, lengths] = rnn::pad_packed_sequence(packed, true, -1, 4);
  CHECK(padded.sizes() == IntArrayRef{2, 4, 2});
  CHECK(equal(lengths, lengths_2_3()));
  CHECK(equal(padded[0].narrow(0, 0, 2), x.select(1, 0).narrow(0, 0, 2)));
  CHECK(padded[0].narrow(0, 2, 2).eq(-1).all().item<bool>());
  CHECK(equal(padded[1].narrow(0, 0, 3), x.select(1, 1)));
  const PackedSequence list = rnn::pack_sequence({x.select(1, 1), x.select(1, 0).narrow(0, 0, 2)});
  CHECK_FALSE(list.sorted_indices().defined());
  CHECK(equal(list.data(), packed.data()));
  CHECK(equal(packed.to(kDouble).data(), packed.data().to(kDouble)));
  CHECK(equal(rnn::invert_permutation(tensor(std::vector<int64_t>{2, 0, 1}, kLong)),
              tensor(std::vector<int64_t>{1, 2, 0}, kLong)));
  CHECK_THROWS_WITH_AS(rnn::pack_padded_sequence(x, lengths_2_3()),
                       doctest::Contains("You can pass `enforce_sorted=False`"), Error);
  CHECK_THROWS_WITH_AS(rnn::pack_padded_sequence(zeros({0, 0}), zeros({0}, kLong)),
                       doctest::Contains("Cannot pack empty tensors"), Error);
  CHECK_THROWS_WITH_AS(rnn::pack_padded_sequence(x, tensor(std::vector<int64_t>{4, 1}, kLong)),
                       doctest::Contains("from 1 to 3"), Error);
  CHECK_THROWS_WITH_AS(rnn::pad_packed_sequence(packed, false, 0, 2),
                       doctest::Contains("Expected total_length to be at least"), Error);
  const PackedSequence broken(packed.data(), tensor(std::vector<int64_t>{3, 3}, kLong));
  CHECK_THROWS_WITH_AS(nn::GRU(2, 3)->forward_with_packed_input(broken), doctest::Contains("batch_sizes"), Error);
}

TEST_CASE("packed sequences in any order, of any dtype of lengths, batch first or not") {
  const Tensor x = arange(24, kFloat).view({4, 3, 2});  // [T, N, F]
  const std::vector<int64_t> lengths{2, 4, 3};
  for (const bool batch_first : {false, true})
    for (const ScalarType type : {kLong, kInt, kFloat}) {
      const Tensor input = batch_first ? x.transpose(0, 1) : x;
      const PackedSequence packed =
          rnn::pack_padded_sequence(input, tensor(lengths, kLong).to(type), batch_first, false);
      CHECK(equal(packed.batch_sizes(), tensor(std::vector<int64_t>{3, 3, 2, 1}, kLong)));
      CHECK(equal(packed.sorted_indices(), tensor(std::vector<int64_t>{1, 2, 0}, kLong)));
      CHECK(equal(packed.unsorted_indices(), tensor(std::vector<int64_t>{2, 0, 1}, kLong)));
      CHECK(equal(packed.data().narrow(0, 0, 3), stack({x[0][1], x[0][2], x[0][0]})));
      for (const bool out_first : {false, true}) {
        const auto [padded, found] = rnn::pad_packed_sequence(packed, out_first, 7);
        CHECK(equal(found, tensor(lengths, kLong)));
        const Tensor rows = out_first ? padded : padded.transpose(0, 1);
        CHECK(rows.sizes() == IntArrayRef({3, 4, 2}));
        for (int64_t n = 0; n < 3; ++n) {
          const int64_t length = lengths[static_cast<std::size_t>(n)];
          CHECK(equal(rows[n].slice(0, 0, length), x.select(1, n).slice(0, 0, length)));
          CHECK(rows[n].slice(0, length).eq(7).all().item<bool>());
        }
      }
      CHECK(std::get<0>(rnn::pad_packed_sequence(packed, true)).slice(1, 2)[0].eq(0).all().item<bool>());
      CHECK(std::get<0>(rnn::pad_packed_sequence(packed, true, 0, 4)).size(1) == 4);
      for (const int64_t total : {-1, 0, 3})
        CHECK_THROWS_WITH_AS(
            rnn::pad_packed_sequence(packed, true, 0, total),
            concat("Expected total_length to be at least the length of the longest sequence in input, 4, "
                   "but got ",
                   total)
                .c_str(),
            Error);
    }
  for (const Tensor& wrong : {zeros({3}), zeros({})})
    CHECK_THROWS_WITH_AS(
        rnn::pack_padded_sequence(wrong, tensor(lengths, kLong)),
        doctest::Contains("pack_padded_sequence: expected a padded batch of at least 2 dimensions, got"), Error);
  const std::vector<Tensor> sequences{x.select(1, 0).slice(0, 0, 2), x.select(1, 1), x.select(1, 2).slice(0, 0, 3)};
  const PackedSequence listed = rnn::pack_sequence(sequences, false);
  CHECK(equal(listed.data(), rnn::pack_padded_sequence(x, tensor(lengths, kLong), false, false).data()));
  CHECK_THROWS_AS(rnn::pack_sequence(sequences), Error);
  CHECK_FALSE(rnn::invert_permutation(Tensor()).defined());
  const PackedSequence moved = listed.to(TensorOptions(kDouble));
  CHECK(equal(moved.sorted_indices(), listed.sorted_indices()));
  CHECK(moved.data().dtype() == kDouble);
  CHECK(listed.to(TensorOptions(kFloat)).data().is_same(listed.data()));
  CHECK(equal(PackedSequence(listed.data(), listed.batch_sizes(), listed.sorted_indices()).unsorted_indices(),
              listed.unsorted_indices()));
  CHECK_FALSE(PackedSequence(listed.data(), listed.batch_sizes()).unsorted_indices().defined());
}

TEST_CASE("errors of recurrent layers") {
  nn::LSTM layer(3, 2);
  const Tensor x = zeros({4, 2, 3});
  CHECK_THROWS_WITH_AS(layer(zeros({4, 2, 5})), doctest::Contains("input_size = 3"), Error);
  CHECK_THROWS_WITH_AS(layer(zeros({3})), doctest::Contains("2 dimensions"), Error);
  CHECK_THROWS_WITH_AS(layer(zeros({0, 2, 3})), doctest::Contains("at least one step"), Error);
  CHECK_THROWS_WITH_AS(layer(x, optional(std::make_tuple(zeros({1, 2, 3}), zeros({1, 2, 2})))),
                       doctest::Contains("expected hidden size [1, 2, 2], got [1, 2, 3]"), Error);
  CHECK_THROWS_WITH_AS(layer(x, optional(std::make_tuple(zeros({1, 2, 2}), zeros({1, 3, 2})))),
                       doctest::Contains("expected cell size [1, 2, 2], got [1, 3, 2]"), Error);
  CHECK_THROWS_WITH_AS(layer(x.to(kDouble)), doctest::Contains("float64"), Error);
  CHECK_THROWS_WITH_AS(lstm(x, {zeros({1, 2, 2})}, layer->all_weights(), true, 1, 0, true, false, false),
                       doctest::Contains("two states"), Error);
  CHECK_THROWS_WITH_AS(gru(x, zeros({1, 2, 2}), layer->all_weights(), false, 1, 0, true, false, false),
                       doctest::Contains("expected 2 parameters"), Error);
  CHECK_THROWS_WITH_AS(nn::GRU(nn::GRUOptions(3, 0)), doctest::Contains("hidden_size must be positive"), Error);
  CHECK_THROWS_WITH_AS(nn::RNN(nn::RNNOptions(3, 2).nonlinearity(kSigmoid)), doctest::Contains("nonlinearity"), Error);
}
