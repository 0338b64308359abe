// Recurrent layers on CUDA against the CPU's, at once and step by step.
#include <doctest/doctest.h>

#include <thread>

#include "tandem/autograd/ops/nn/recurrent_layer.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/cuda/tolerance.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda/device_calls.h"
#endif

using namespace tandem;

namespace {

const Device kDevice("cuda:0");

struct Layer {
  RecurrentKind kind;
  int64_t size;
  bool reverse = false;
  ScalarType dtype = kFloat;
};
struct Run {
  Tensor out, h, c, dx, dh, dc, dw;
  std::vector<Tensor> all() const { return {out, h, c, dx, dh, dc, dw}; }
};

Tensor numbers(IntArrayRef sizes, ScalarType dtype, double k) {
  return (arange(checked_numel(sizes), kDouble) * k).sin().view(sizes).to(dtype).mul(0.3);
}

// All results of a layer for sequences of these lengths, which do not increase.
Run run(const Layer& l, const std::vector<int64_t>& lengths, Device device, bool state_needed = true) {
  const auto batch = static_cast<int64_t>(lengths.size());
  const int64_t gates = gate_count(l.kind) * l.size, features = 3;
  const Tensor whole = numbers({lengths[0], batch, features}, l.dtype, 0.37);
  std::vector<int64_t> sizes;
  std::vector<Tensor> inputs;
  for (int64_t t = 0; t < lengths[0]; ++t) {
    sizes.push_back(std::count_if(lengths.begin(), lengths.end(), [&](int64_t length) { return length > t; }));
    inputs.push_back(whole[t].narrow(0, 0, sizes.back()));
  }
  const auto leaf = [&](const Tensor& t, bool needed = true) { return t.to(device).detach().requires_grad_(needed); };
  const auto state = [&](double k) { return leaf(numbers({batch, l.size}, l.dtype, k), state_needed); };
  const Tensor x = leaf(cat(inputs)), h = state(0.71), w_hh = leaf(numbers({gates, l.size}, l.dtype, 1.3));
  const Tensor c = l.kind == RecurrentKind::kLstm ? state(0.53) : Tensor();
  const autograd::RecurrentWeights w{leaf(numbers({gates, features}, l.dtype, 0.9)),
                                     w_hh,
                                     leaf(numbers({gates}, l.dtype, 0.11)),
                                     leaf(numbers({gates}, l.dtype, 0.13)),
                                     {}};
  const autograd::RecurrentState s =
      autograd::recurrent_layer("layer", l.kind, x, autograd::recurrent_steps(sizes), l.reverse, h, c, w);
  Tensor loss = (s.out * s.out).sum() + (s.h * s.h * s.h).sum();
  if (c.defined()) loss = loss + (s.c * s.c).sum();
  loss.backward();
  return {s.out, s.h, s.c, x.grad(), h.grad(), c.defined() ? c.grad() : Tensor(), w_hh.grad()};
}

void check_layer(const Layer& l, const std::vector<int64_t>& lengths, bool state_needed = true) {
  CAPTURE(static_cast<int>(l.kind));
  CAPTURE(l.size);
  CAPTURE(lengths.size());
  const std::vector<Tensor> here = run(l, lengths, kCPU, state_needed).all(),
                            there = run(l, lengths, kDevice, state_needed).all();
  for (std::size_t i = 0; i < here.size(); ++i) {
    REQUIRE(here[i].defined() == there[i].defined());
    if (!here[i].defined()) continue;
    std::string why;
    const bool close = testing::close(there[i].detach().to(kCPU), here[i].detach(),
                                      unless_strict(l.dtype == kFloat ? 2e-5 : 1e-12), &why);
    CHECK_MESSAGE(close, "result ", i, ": ", why);
  }
}

constexpr RecurrentKind kKinds[] = {RecurrentKind::kLstm, RecurrentKind::kGru, RecurrentKind::kTanh,
                                    RecurrentKind::kRelu};

}  // namespace

TEST_CASE("recurrent layers and their gradients") {
  if (!has_devices(1)) return;
  const std::vector<int64_t> equal(5, 4), packed{6, 4, 4, 1};
  for (const RecurrentKind kind : kKinds)
    for (const ScalarType dtype : {kFloat, kDouble})
      for (const bool reverse : {false, true})
        for (const auto& lengths : {equal, packed}) check_layer({kind, 7, reverse, dtype}, lengths);
  check_layer({RecurrentKind::kGru, 6}, equal, /*state_needed=*/false);
  check_layer({RecurrentKind::kLstm, 1}, {1});
}

TEST_CASE("recurrent layers of large batches and weights") {
  if (!has_devices(1)) return;
  std::vector<int64_t> many;  // several rows in a block, of which some end earlier
  for (int64_t i = 0; i < 540; ++i) many.push_back(i < 267 ? 3 : 2);
  for (const RecurrentKind kind : {RecurrentKind::kLstm, RecurrentKind::kGru})
    for (const std::size_t batch : {140, 301, 540})
      check_layer({kind, 5, batch == 301}, {many.begin(), many.begin() + static_cast<std::ptrdiff_t>(batch)});
  check_layer({RecurrentKind::kTanh, 520}, {2, 2});     // too large for one kernel
  check_layer({RecurrentKind::kLstm, 132}, {2, 2, 1});  // more columns than threads, and not all of the weight is kept
  check_layer({RecurrentKind::kGru, 140, true}, {2, 1});
}

TEST_CASE("the steps of a row have the same bits alone and in any batch") {
  if (!has_devices(1)) return;
  constexpr int64_t kSteps = 4, kBatch = 300, kSize = 12;
  for (const RecurrentKind kind : kKinds) {
    const int64_t gates = gate_count(kind) * kSize;
    // The states after all steps and the gradients of those before them, of rows [first, first + rows).
    const auto states = [&](int64_t first, int64_t rows) {
      const auto of_rows = [&](int64_t width, double k) {
        const Tensor all = numbers({kSteps, kBatch, width}, kFloat, k).narrow(1, first, rows);
        return all.reshape({kSteps * rows, width}).to(kDevice).contiguous();
      };
      const auto state = [&](double k) { return of_rows(kSize, k).narrow(0, 0, rows).clone(); };
      const auto fresh = [&](int64_t width) { return empty_raw({kSteps * rows, width}, kFloat, kDevice); };
      RecurrentForward f{.kind = kind, .weight = numbers({gates, kSize}, kFloat, 1.3).to(kDevice)};
      for (int64_t t = 0; t < kSteps; ++t) f.steps.push_back({t * rows, rows});
      f.gates = of_rows(gates, 0.9);
      f.h = state(0.71);
      f.c = state(0.53);
      f.out = fresh(kSize);
      f.bias = numbers({gates}, kFloat, 0.11).to(kDevice);
      f.h_prev = fresh(kSize);
      f.c_prev = fresh(kSize);
      f.candidate = fresh(kSize);
      backend(kDevice).recurrent.forward(f);
      RecurrentBackward b{.kind = kind, .steps = {f.steps.rbegin(), f.steps.rend()}, .weight = f.weight};
      b.gates = f.gates;
      b.h_prev = f.h_prev;
      b.c_prev = f.c_prev;
      b.candidate = f.candidate;
      b.grad = of_rows(kSize, 0.37);
      b.dh = state(0.17);
      b.dc = state(0.19);
      b.d_gates = fresh(gates);
      b.d_hidden = fresh(gates);
      backend(kDevice).recurrent.backward(b);
      return std::pair(f.h.cpu(), b.dh.cpu());
    };
    const auto [h, dh] = states(0, kBatch);
    for (const int64_t first : {0, 149, 298}) {
      const auto [h_of_two, dh_of_two] = states(first, 2);
      CHECK(testing::identical(h_of_two, h.narrow(0, first, 2).contiguous()));
      CHECK(testing::identical(dh_of_two, dh.narrow(0, first, 2).contiguous()));
    }
  }
}

TEST_CASE("a recurrent layer of another thread does not take shared memory away") {
  if (!has_devices(1)) return;
  const auto check_size = [](int64_t size) { check_layer({RecurrentKind::kLstm, size}, {2, 2}); };
  check_size(128);
  std::thread([&] { check_size(96); }).join();
  check_size(128);
}

#ifdef TANDEM_CUDA_EMULATION
TEST_CASE("a recurrent layer launches as much for many steps as for few") {
  if (!has_devices(1)) return;
  const auto calls = [](const Layer& l, int64_t steps) {
    run(l, std::vector<int64_t>(3, steps), kDevice);  // what is made once
    return calls_of([&] { run(l, std::vector<int64_t>(3, steps), kDevice); });
  };
  for (const RecurrentKind kind : kKinds) CHECK(calls({kind, 8}, 3) == calls({kind, 8}, 11));
  CHECK_FALSE(calls({RecurrentKind::kTanh, 520}, 1) == calls({RecurrentKind::kTanh, 520}, 2));
}
#endif
