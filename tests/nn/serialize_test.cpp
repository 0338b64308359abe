// save and load of tensors, modules and optimizers.
#include "tandem/nn/serialize.h"
#include "tandem/autograd/ops.h"

#include <doctest/doctest.h>

#include <sstream>

#include "tandem/autograd/ops/factories.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/optim/adam.h"
#include "tandem/nn/optim/sgd.h"
#include "tandem/nn/sequential.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::TempFolder;

namespace {
float at(const Tensor& t, int64_t i = 0) { return t.data_ptr<float>()[i]; }
}  // namespace

TEST_CASE("modules, tensors and lists survive a round trip through files") {
  const TempFolder folder;
  const std::string path = folder / "net.safetensors";
  nn::Sequential net(nn::Linear(2, 3), nn::Linear(3, 1)), other(nn::Linear(2, 3), nn::Linear(3, 1));
  save(net, path);
  load(other, path);
  CHECK(at(net->forward(ones({1, 2}))) == at(other->forward(ones({1, 2}))));
  auto shared = std::make_shared<nn::LinearImpl>(2, 3);
  CHECK_THROWS_WITH_AS(load(shared, path), doctest::Contains("missing"), Error);
  CHECK_THROWS_WITH_AS(load(shared, folder / "none"), doctest::Contains("cannot be opened"), Error);

  Tensor t = arange(6, kDouble).view({2, 3}), back;
  save(t, path);
  load(back, path);
  CHECK((back.dtype() == kDouble));
  CHECK(back.sizes() == t.sizes());
  CHECK(back.data_ptr<double>()[5] == 5);

  std::vector<Tensor> list{ones({1}), zeros({2})}, list_back;
  std::stringstream stream;
  save(list, stream);
  load(list_back, stream);
  CHECK(list_back.size() == 2);
  CHECK(list_back[1].numel() == 2);
}

TEST_CASE("an optimizer resumes where it was saved") {
  const auto train = [](nn::Linear& net, optim::Optimizer& optimizer, int steps) {
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      (net(ones({3, 2})) * net(ones({3, 2}))).sum().backward();
      optimizer.step();
    }
  };
  const TempFolder folder;
  nn::Linear a(2, 2), b(2, 2);
  optim::AdamOptions options = optim::AdamOptions(0.03).betas({0.8, 0.9}).amsgrad(true).weight_decay(0.1);
  optim::Adam first(a->parameters(), options), second(b->parameters());
  train(a, first, 3);
  save(a, folder / "net");
  save(first, folder / "optimizer");
  load(b, folder / "net");
  load(second, folder / "optimizer");
  train(a, first, 3);
  train(b, second, 3);
  for (int64_t i = 0; i < 4; ++i) CHECK(at(a->weight, i) == at(b->weight, i));
  CHECK(static_cast<optim::AdamOptions&>(second.param_groups()[0].options()).amsgrad());

  serialize::OutputArchive kept;  // in memory, sharing the tensors of `second`
  second.save(kept);
  serialize::InputArchive given(kept.tensors(), kept.metadata());
  optim::Adam third(a->parameters(), options);
  third.load(given);
  const auto moment = [](optim::Adam& o, const Tensor& p) {
    return static_cast<optim::AdamParamState&>(*o.state().at(p.impl())).exp_avg();
  };
  const float before = at(moment(second, b->weight), 0);
  train(a, third, 1);
  CHECK(at(moment(third, a->weight), 0) != before);
  CHECK(at(moment(second, b->weight), 0) == before);

  optim::SGD sgd(a->parameters(), 0.1);
  CHECK_THROWS_WITH_AS(load(sgd, folder / "optimizer"), doctest::Contains("state belongs to Adam"), Error);
  nn::Linear larger(3, 2);
  optim::Adam wrong(larger->parameters());
  CHECK_THROWS_WITH_AS(load(wrong, folder / "optimizer"), doctest::Contains("has shape"), Error);
  optim::Adam fewer({larger->weight});
  CHECK_THROWS_WITH_AS(load(fewer, folder / "optimizer"), doctest::Contains("with 2 parameters"), Error);
}
