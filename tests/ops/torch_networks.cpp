// Matrix products, convolution, pooling, normalisation, losses.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

void add_products(Table& table) {
  table.give<T(CT, CT)>("mm", mm);
  table.give<T(CT, CT)>("bmm", bmm);
  table.give<T(CT, CT)>("mv", mv);
  table.give<T(CT, CT)>("dot", dot);
  table.give<T(CT, CT)>("outer", outer);
  table.give<T(CT, CT)>("matmul", matmul);
  table.give<T(CT, CT, CT, CS, CS)>("addmm", addmm);
  table.write<CT, CT, CS, CS>("addmm_", &T::addmm_);
  table.give<T(CT, CT, CT, CS, CS)>("baddbmm", baddbmm);
  table.give<T(CT, CT, CT)>("linear", linear);
  table.give<T(std::string_view, TensorList)>("einsum", einsum);
}

void add_losses(Table& table) {
  table.give<T(CT, CT, CT, Reduction, I, double)>("cross_entropy", cross_entropy_loss);
  table.give<T(CT, CT, CT, Reduction, I)>("nll_loss", nll_loss);
  namespace F = nn::functional;  // they broadcast before promoting dtypes, like PyTorch's functional forms
  using Two = std::type_identity<T(T, T, Reduction)>;
  table.add("mse_loss", Two(), [](CT x, CT y, Reduction r) { return F::mse_loss(x, y, r); });
  table.add("l1_loss", Two(), [](CT x, CT y, Reduction r) { return F::l1_loss(x, y, r); });
  table.add("smooth_l1_loss", std::type_identity<T(T, T, Reduction, double)>(),
            [](CT x, CT y, Reduction r, double beta) {
              return F::smooth_l1_loss(x, y, nn::SmoothL1LossOptions(r).beta(beta));
            });
  table.give<T(CT, CT, Reduction, double)>("huber_loss", huber_loss);
  table.give<T(CT, CT, CT, Reduction)>("binary_cross_entropy", binary_cross_entropy);
  table.give<T(CT, CT, CT, CT, Reduction)>("binary_cross_entropy_with_logits",
                                           binary_cross_entropy_with_logits);
  table.give<T(CT, CT, Reduction, bool)>("kl_div", kl_div);
}

}  // namespace

void add_networks(Table& table) {
  add_products(table);
  add_losses(table);
  table.give<T(CT, CT, CT, Ints, Ints, Ints, I)>("conv2d", conv2d);
  table.give<T(CT, CT, CT, Ints, std::string_view, Ints, I)>("conv2d", autograd::conv2d_padded);
  table.give<T(CT, CT, CT, Ints, Ints, Ints, I)>("conv1d", conv1d);
  table.give<T(CT, CT, CT, Ints, Ints, Ints, I, Ints)>("conv_transpose2d", conv_transpose2d);
  table.give<T(CT, Ints, Ints, Ints, bool, bool, optional<I>)>("avg_pool2d", avg_pool2d);
  table.give<std::tuple<T, T>(CT, Ints, Ints, Ints, Ints, bool)>("max_pool2d_with_indices",
                                                                 max_pool2d_with_indices);
  table.give<T(CT, Ints, Ints, Ints, Ints, bool)>("max_pool2d", max_pool2d);
  table.give<T(CT, Ints, Ints, Ints, Ints, bool)>("max_pool1d", max_pool1d);
  table.give<T(CT, Ints)>("adaptive_avg_pool2d", adaptive_avg_pool2d);
  table.give<T(CT, CT, CT, CT, CT, bool, double, double)>("batch_norm", batch_norm);
  table.give<T(CT, Ints, CT, CT, double)>("layer_norm", layer_norm);
  table.give<T(CT, I, CT, CT, double)>("group_norm", group_norm);
}

}  // namespace tandem::testing
