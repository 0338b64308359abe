// Differentiable collectives: values, gradients and second-order gradients are those of the same function in one
// process.
#include "tandem/parallel/shared/collectives.h"

#include <doctest/doctest.h>

#include "tandem/autograd/engine.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/distributed/ranks.h"

namespace tandem::distributed {
namespace {

using functional::Group;
using tandem::testing::close;
using tandem::testing::identical;

// Fixed numbers that differ from rank to rank.
Tensor numbers(IntArrayRef sizes, int rank, double step) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return arange(n, kDouble).mul(step).add(1.3 * rank).sin().view(sizes);
}

struct Case {
  const char* name;
  std::vector<int64_t> sizes;
  std::function<Tensor(const Tensor& x, const Group& group)> distributed;
  std::function<Tensors(const Tensors& x)> reference;  // what every rank has
};

struct Derivatives {
  Tensors first, second;
};
// Of the sum of nonlinear functions of the outputs, and of the squares of its gradients.
Derivatives derivatives(const Tensors& outputs, const Tensors& inputs, const std::vector<int>& ranks) {
  Tensor loss = zeros({}, kDouble), next = zeros({}, kDouble);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    loss = loss + (outputs[i].sin() * numbers(outputs[i].sizes(), ranks[i], 0.7)).sum();
  Derivatives out{autograd::grad({loss}, inputs, {}, nullopt, true), {}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    next = next + (out.first[i] * out.first[i] * numbers(inputs[i].sizes(), ranks[i], 0.4)).sum();
  out.second = autograd::grad({next}, inputs);
  return out;
}

void run_case(const Case& of, int size) {
  CAPTURE(of.name);
  CAPTURE(size);
  std::vector<int> ranks;
  Tensors inputs;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(rank);
    inputs.push_back(numbers(of.sizes, rank, 0.9).requires_grad_());
  }
  const Tensors outputs = of.reference(inputs);
  const Derivatives expected = derivatives(outputs, inputs, ranks);
  check_no_errors(run_ranks(size, [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    const Tensor x = numbers(of.sizes, group.rank(), 0.9).requires_grad_();
    const Tensor y = of.distributed(x, group.shared_from_this());
    CHECK(y.is_contiguous());
    CHECK(close(y, outputs[rank], 1e-14));
    const Derivatives got = derivatives({y}, {x}, {group.rank()});
    CHECK(close(got.first[0], expected.first[rank], 1e-13));
    CHECK(close(got.second[0], expected.second[rank], 1e-13));
  }));
}

Tensor sum_of(const Tensors& x) {
  Tensor out = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) out = out + x[i];
  return out;
}
Tensors everywhere(const Tensor& value, std::size_t size) { return Tensors(size, value); }

std::vector<Case> reductions() {
  return {
      {"all_reduce",
       {3, 2},
       [](const Tensor& x, const Group& g) { return functional::all_reduce(x, ReduceOp::SUM, g); },
       [](const Tensors& x) { return everywhere(sum_of(x), x.size()); }},
      {"all_reduce of a strided scalar average",
       {2, 4},
       [](const Tensor& x, const Group& g) { return functional::all_reduce(x.t(), ReduceOp::AVG, g); },
       [](const Tensors& x) { return everywhere(sum_of(x).t() / static_cast<double>(x.size()), x.size()); }},
      {"all_reduce max",
       {5},
       [](const Tensor& x, const Group& g) { return functional::all_reduce(x, ReduceOp::MAX, g); },
       [](const Tensors& x) { return everywhere(stack(x).amax(0), x.size()); }},
      {"all_reduce min with ties",
       {5},
       [](const Tensor& x, const Group& g) { return functional::all_reduce(x * x.detach().gt(0.5), ReduceOp::MIN, g); },
       [](const Tensors& x) {
         Tensors masked;
         for (const Tensor& t : x) masked.push_back(t * t.detach().gt(0.5));
         return everywhere(stack(masked).amin(0), x.size());
       }},
      {"reduce",
       {2, 2},
       [](const Tensor& x, const Group& g) { return functional::reduce(x, g->size() - 1, ReduceOp::SUM, g); },
       [](const Tensors& x) {
         Tensors out = everywhere(zeros({2, 2}, kDouble), x.size());
         out.back() = sum_of(x);
         return out;
       }},
      {"broadcast",
       {2, 2},
       [](const Tensor& x, const Group& g) { return functional::broadcast(x, g->size() / 2, g); },
       [](const Tensors& x) {
         // The others' gradients are zeros, not undefined.
         return everywhere(x[x.size() / 2] + 0 * sum_of(x), x.size());
       }},
      {"reduce_scatter",
       {12, 2},
       [](const Tensor& x, const Group& g) { return functional::reduce_scatter(x, ReduceOp::SUM, g); },
       [](const Tensors& x) { return sum_of(x).chunk(static_cast<int64_t>(x.size())); }},
      {"reduce_scatter of averages",
       {12},
       [](const Tensor& x, const Group& g) { return functional::reduce_scatter(x, ReduceOp::AVG, g); },
       [](const Tensors& x) {
         return (sum_of(x) / static_cast<double>(x.size())).chunk(static_cast<int64_t>(x.size()));
       }},
  };
}

std::vector<Case> exchanges() {
  return {
      {"all_gather",
       {2, 3},
       [](const Tensor& x, const Group& g) { return stack(functional::all_gather(x, g)); },
       [](const Tensors& x) { return everywhere(stack(x), x.size()); }},
      {"all_gather of scalars, not all of them used",
       {},
       [](const Tensor& x, const Group& g) { return functional::all_gather(x, g).back().clone(); },
       [](const Tensors& x) { return everywhere(x.back() + 0 * sum_of(x), x.size()); }},
      {"all_gather_into_tensor",
       {2, 3},
       [](const Tensor& x, const Group& g) { return functional::all_gather_into_tensor(x.t(), g); },
       [](const Tensors& x) {
         Tensors turned;
         for (const Tensor& t : x) turned.push_back(t.t());
         return everywhere(cat(turned), x.size());
       }},
      {"all_to_all",
       {12, 2},
       [](const Tensor& x, const Group& g) { return functional::all_to_all(x, {}, {}, g); },
       [](const Tensors& x) {
         std::vector<Tensors> parts(x.size());
         for (const Tensor& t : x) {
           const Tensors chunks = t.chunk(static_cast<int64_t>(x.size()));
           for (std::size_t to = 0; to < x.size(); ++to) parts[to].push_back(chunks[to]);
         }
         Tensors out;
         for (const Tensors& of : parts) out.push_back(cat(of));
         return out;
       }},
      {"all_to_all, rank i receives i + 1 rows",
       {10, 2},
       [](const Tensor& x, const Group& g) {
         std::vector<int64_t> in, out(static_cast<std::size_t>(g->size()), g->rank() + 1);
         int64_t rows = 0;
         for (int to = 0; to < g->size(); ++to) rows += in.emplace_back(to + 1);
         return functional::all_to_all(x.narrow(0, 0, rows), out, in, g);
       },
       [](const Tensors& x) {
         Tensors out;
         for (int64_t to = 0, row = 0; to < static_cast<int64_t>(x.size()); row += ++to) {
           Tensors parts;
           for (const Tensor& t : x) parts.push_back(t.narrow(0, row, to + 1));
           out.push_back(cat(parts));
         }
         return out;
       }},
  };
}

// Every rank scales and bends what it gets from the rank before it. Rank r's factor: numbers({4}, r, 0.3).
Tensor chain_link(const Tensor& before, const Tensor& factor) { return (before * factor).tanh(); }

}  // namespace

TEST_CASE("reductions and their gradients") {
  if (!available()) return;
  for (const Case& of : reductions())
    for (int size = 1; size <= 4; ++size) run_case(of, size);
}

TEST_CASE("exchanges and their gradients") {
  if (!available()) return;
  for (const Case& of : exchanges())
    for (int size = 1; size <= 4; ++size) run_case(of, size);
}

TEST_CASE("gradients of gradients along a chain of messages") {
  if (!available()) return;
  for (int size = 2; size <= 4; ++size) {
    CAPTURE(size);
    Tensors factors;
    Tensor value = ones({4}, kDouble), second = zeros({}, kDouble);
    for (int rank = 0; rank < size; ++rank) {
      factors.push_back(numbers({4}, rank, 0.3).requires_grad_());
      value = chain_link(value, factors.back());
    }
    const Tensors first = autograd::grad({value.sin().sum()}, factors, {}, nullopt, true);
    for (const Tensor& g : first) second = second + (g * g).sum();
    second.backward();
    check_no_errors(run_ranks(size, [&](ProcessGroup& ranks) {
      const Group group = ranks.shared_from_this();
      const int rank = group->rank();
      const Tensor factor = numbers({4}, rank, 0.3).requires_grad_(), start = zeros({}, kDouble).requires_grad_();
      Tensor x = ones({4}, kDouble);
      if (rank > 0) x = functional::recv({4}, TensorOptions(kDouble).requires_grad(true), rank - 1, group, 5, start);
      const Tensor y = chain_link(x, factor),
                   loss = rank + 1 < size ? functional::send(y, rank + 1, group, 5) : y.sin().sum();
      Tensors inputs{factor};
      if (rank > 0) inputs.push_back(start);
      const Tensors g = autograd::grad({loss}, inputs, {}, nullopt, true);
      CHECK(close(g[0], first[static_cast<std::size_t>(rank)], 1e-14));
      Tensor next = (g[0] * g[0]).sum();
      if (rank > 0) {
        CHECK(g[1].item<double>() == 0);
        next = next + g[1];
      }
      if (rank + 1 < size) next = next + loss;  // later ranks' second loss depends on what was sent, too
      next.backward();
      CHECK(close(factor.grad(), factors[static_cast<std::size_t>(rank)].grad(), 1e-13));
    }));
  }
}

TEST_CASE("two ranks may send large tensors to each other before they receive") {
  if (!available()) return;
  check_no_errors(run_ranks(2, [](ProcessGroup& ranks) {
    const Group group = ranks.shared_from_this();
    const int other = 1 - group->rank();
    Tensor x = full({1 << 20}, group->rank() + 1.0).requires_grad_();
    Tensor y = x * 2;
    const Tensor sent = functional::send(y, other, group);
    y.mul_(0);  // a copy has been sent
    const Tensor got = functional::recv({1 << 20}, requires_grad(), other, group, 0, sent);
    CHECK(got[0].item<float>() == 2.0f * static_cast<float>(other + 1));
    (got * (group->rank() + 3.0)).sum().backward();
    CHECK(identical(x.grad(), full({1 << 20}, 2 * (other + 3.0))));
  }));
}

TEST_CASE("without gradients, and what is refused") {
  if (!available()) return;
  CHECK_THROWS_WITH_AS(
      functional::all_reduce(ones({1})),
      "all_reduce: there is no process group; pass one, or call distributed::init_process_group() first", Error);
  check_no_errors(run_ranks(2, [](ProcessGroup& ranks) {
    const Group group = ranks.shared_from_this();
    const Tensor x = full({2}, 3.0).requires_grad_();
    CHECK_THROWS_AS(functional::all_reduce(x, ReduceOp::PRODUCT, group), Error);
    CHECK_THROWS_AS(functional::reduce(x, 0, ReduceOp::MAX, group), Error);
    CHECK_THROWS_AS(functional::reduce_scatter(x, ReduceOp::MAX, group), Error);
    CHECK_THROWS_AS(functional::reduce_scatter(ones({3}), ReduceOp::SUM, group), Error);
    CHECK_THROWS_AS(functional::all_gather_into_tensor(ones({}), group), Error);
    CHECK_THROWS_AS(functional::all_to_all(ones({2}), {3, -1}, {}, group), Error);
    CHECK_THROWS_AS(functional::broadcast({}, 0, group), Error);
    const NoGradGuard no_grad;
    CHECK(functional::all_reduce(x, ReduceOp::PRODUCT, group)[0].item<float>() == 9);
    CHECK(!functional::broadcast(x, 1, group).requires_grad());
    if (group->rank() == 0) {
      CHECK(!functional::send(x, 1, group).requires_grad());
      functional::send(arange(3), 1, group);
    } else {
      CHECK(!functional::recv({2}, requires_grad(), 0, group).requires_grad());
      CHECK(functional::recv({3}, kLong, 0, group)[2].item<int64_t>() == 2);
    }
  }));
}

}  // namespace tandem::distributed
