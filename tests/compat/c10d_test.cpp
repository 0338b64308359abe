// Process groups by LibTorch's names. The ranks are threads.
#include <doctest/doctest.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupMPI.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "tandem/tests/distributed/ranks.h"

namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

// What `body` throws on each of two ranks.
std::vector<std::string> on_two_ranks(const std::function<void(const Group&, int rank)>& body) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, 2), rank);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}
void check_on_two_ranks(const std::function<void(const Group&, int rank)>& body) {
  for (const std::string& error : on_two_ranks(body)) CHECK(error == "");
}

torch::Tensor of_rank(int rank, int64_t n = 2) { return torch::full({n}, rank + 1.0); }
bool is(const torch::Tensor& t, const std::vector<double>& values) {
  return torch::equal(t.to(torch::kDouble).reshape({-1}), torch::tensor(values).to(torch::kDouble));
}

}  // namespace

TEST_CASE("stores") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  store->set("a", "text");
  store->set("b", std::vector<uint8_t>{1, 2});
  CHECK(store->get_to_str("a") == "text");
  CHECK(store->get("b") == std::vector<uint8_t>{1, 2});
  CHECK(store->add("n", 3) + store->add("n", 4) == 10);
  CHECK(store->check({"a", "b"}));
  CHECK_FALSE(store->check({"c"}));
  store->wait({"a"});
  CHECK_THROWS_AS(store->wait({"c"}, std::chrono::milliseconds(1)), c10::Error);
  CHECK(store->compareSet("a", std::string("text"), std::string("other")) == "other");
  CHECK(store->deleteKey("a"));
  store->setTimeout(std::chrono::milliseconds(5));
  CHECK(store->getTimeout() == std::chrono::milliseconds(5));
  const c10::intrusive_ptr<c10d::Store> base = store;
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("p", base);
  prefixed->set("x", "y");
  CHECK(store->get_to_str("p/x") == "y");

  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  const auto server = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  server->set("k", "v");
  options.port = server->getPort();
  options.isServer = false;
  CHECK(c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options)->get_to_str("k") == "v");
}

TEST_CASE("collectives") {
  if (!tandem::distributed::available()) return;
  check_on_two_ranks([](const Group& group, int rank) {
    CHECK(group->getRank() == rank);
    CHECK(group->getSize() == 2);
    CHECK(group->getBackendName() == "gloo");
    std::vector<torch::Tensor> tensors = {of_rank(rank), of_rank(rank, 3)};
    const auto work = group->allreduce(tensors);
    CHECK(is(tensors[0], {3, 3}));  // before wait()
    CHECK(work->wait());
    CHECK(work->isSuccess());
    CHECK(work->exception() == nullptr);
    CHECK(is(work->result().at(1), {3, 3, 3}));
    c10d::AllreduceOptions average;
    average.reduceOp = c10d::ReduceOp::AVG;
    tensors = {of_rank(rank)};
    group->allreduce(tensors, average)->wait();
    CHECK(is(tensors[0], {1.5, 1.5}));

    c10d::BroadcastOptions from_one;
    from_one.rootRank = 1;
    tensors = {of_rank(rank)};
    group->broadcast(tensors, from_one)->wait();
    CHECK(is(tensors[0], {2, 2}));
    c10d::ReduceOptions to_zero;
    to_zero.reduceOp = c10d::ReduceOp::MAX;
    tensors = {of_rank(rank)};
    group->reduce(tensors, to_zero)->wait();
    if (rank == 0) CHECK(is(tensors[0], {2, 2}));

    std::vector<torch::Tensor> inputs = {of_rank(rank)}, outputs = {torch::zeros(2)};
    std::vector<std::vector<torch::Tensor>> lists = {{torch::zeros(2), torch::zeros(2)}};
    group->allgather(lists, inputs)->wait();
    CHECK(is(torch::cat(lists[0]), {1, 1, 2, 2}));
    torch::Tensor all = torch::zeros(4);
    group->_allgather_base(all, inputs[0])->wait();
    CHECK(is(all, {1, 1, 2, 2}));
    std::vector<std::vector<torch::Tensor>> none, at_root = {{torch::zeros(2), torch::zeros(2)}};
    group->gather(rank == 0 ? at_root : none, inputs)->wait();
    if (rank == 0) CHECK(is(torch::cat(at_root[0]), {1, 1, 2, 2}));
    at_root = {{of_rank(4), of_rank(5)}};
    group->scatter(outputs, rank == 0 ? at_root : none)->wait();
    CHECK(is(outputs[0], {rank + 5., rank + 5.}));

    std::vector<std::vector<torch::Tensor>> blocks = {{of_rank(rank), of_rank(rank + 10)}};
    group->reduce_scatter(outputs, blocks)->wait();
    CHECK(is(outputs[0], rank == 0 ? std::vector<double>{3, 3} : std::vector<double>{23, 23}));
    torch::Tensor joined = torch::cat(blocks[0]);
    group->_reduce_scatter_base(outputs[0], joined)->wait();
    CHECK(is(outputs[0], rank == 0 ? std::vector<double>{3, 3} : std::vector<double>{23, 23}));
    torch::Tensor rows = torch::tensor({rank * 10., rank * 10. + 1}), received = torch::zeros(2, torch::kFloat);
    std::vector<int64_t> equal;
    rows = rows.to(torch::kFloat);
    group->alltoall_base(received, rows, equal, equal)->wait();
    CHECK(is(received, {rank + 0., rank + 10.}));

    tensors = {of_rank(rank)};
    const auto message = rank == 0 ? group->send(tensors, 1, 7) : group->recv(tensors, 0, 7);
    message->wait();
    CHECK(is(tensors[0], {1, 1}));
    group->barrier()->wait();
  });
}

TEST_CASE("errors of ranks are thrown by wait()") {
  if (!tandem::distributed::available()) return;
  const std::vector<std::string> errors = on_two_ranks([](const Group& group, int rank) {
    std::vector<torch::Tensor> tensors = {torch::ones(2 + rank)};
    const auto work = group->allreduce(tensors);
    CHECK_FALSE(work->isSuccess());
    CHECK(work->exception() != nullptr);
    work->wait();
  });
  for (const std::string& error : errors) CHECK(error.find("all_reduce") != std::string::npos);
  check_on_two_ranks([](const Group& group, int) {
    std::vector<torch::Tensor> one = {torch::ones(2)}, none;
    std::vector<std::vector<torch::Tensor>> lists;
    CHECK_THROWS_WITH_AS(group->allgather(lists, one), doctest::Contains("got 0 and 1"), c10::Error);
    CHECK_THROWS_WITH_AS(group->reduce_scatter(none, lists), doctest::Contains("at least 1"), c10::Error);
  });
}

TEST_CASE("a training as in LibTorch's example: gradients are summed, then divided before wait()") {
  if (!tandem::distributed::available()) return;
  const auto data = torch::rand({8, 4}), targets = torch::rand({8, 1});
  const auto gradient = [&](int64_t begin, int64_t end, torch::nn::Linear net) {
    net->zero_grad();
    torch::mse_loss(net(data.slice(0, begin, end)), targets.slice(0, begin, end)).backward();
  };
  torch::nn::Linear whole(4, 1);
  gradient(0, 8, whole);
  check_on_two_ranks([&](const Group& group, int rank) {
    torch::nn::Linear net(4, 1);
    {
      torch::NoGradGuard no_grad;
      net->weight.copy_(whole->weight);
      net->bias.copy_(whole->bias);
    }
    gradient(rank * 4, rank * 4 + 4, net);
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (auto& parameter : net->named_parameters()) {
      std::vector<torch::Tensor> tensors = {parameter.value().grad()};
      works.push_back(group->allreduce(tensors));
      parameter.value().grad().data() = parameter.value().grad().data() / group->getSize();
    }
    for (auto& work : works) work->wait();
    CHECK(torch::allclose(net->weight.grad(), whole->weight.grad(), 1e-5, 1e-6));
    CHECK(torch::allclose(net->bias.grad(), whole->bias.grad(), 1e-5, 1e-6));
  });
}
