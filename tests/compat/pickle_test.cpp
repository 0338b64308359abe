// LibTorch's functions for Python's files, in a program that links tandem_pt.
#include <doctest/doctest.h>
#include <torch/torch.h>

TEST_CASE("pickle_save and pickle_load") {
  const torch::Tensor x = torch::arange(4).view({2, 2}).t();
  const std::vector<char> file = torch::pickle_save(torch::IValue(x));
  const torch::Tensor back = torch::pickle_load(file).toTensor();
  CHECK(back.equal(x));
  CHECK_EQ(back.strides(), x.strides());
}
