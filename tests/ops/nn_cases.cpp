// Convolution, pooling, losses, normalisation.
#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::vector<OpTest> nn_cases() {
  std::vector<OpTest> list;
  const auto give = [&](OpTest test) { list.push_back(std::move(test)); };
  give(op("conv2d", "F.conv2d(x0, x1, x2)", [](const Tensors& x) { return conv2d(x[0], x[1], x[2]); },
          {{real({2, 2, 5, 4}), real({3, 2, 3, 2}), real({3})}}));
  give(op("conv2d stride padding", "F.conv2d(x0, x1, x2, stride=(2, 1), padding=(1, 2))",
          [](const Tensors& x) {
            return conv2d(x[0], x[1], x[2], {2, 1}, {1, 2});
          },
          {{real({2, 2, 5, 4}), real({3, 2, 3, 3}), real({3})}}));
  give(op("conv2d dilation", "F.conv2d(x0, x1, None, dilation=2)",
          [](const Tensors& x) { return conv2d(x[0], x[1], {}, 1, 0, 2); },
          {{real({1, 2, 6, 6}), real({3, 2, 2, 3})}}));
  give(op("conv2d groups", "F.conv2d(x0, x1, x2, padding=1, groups=2)",
          [](const Tensors& x) { return conv2d(x[0], x[1], x[2], 1, 1, 1, 2); },
          {{real({2, 4, 4, 4}), real({6, 2, 3, 3}), real({6})}}));
  give(op("conv2d depthwise", "F.conv2d(x0, x1, None, groups=3)",
          [](const Tensors& x) { return conv2d(x[0], x[1], {}, 1, 0, 1, 3); },
          {{real({2, 3, 4, 4}), real({3, 1, 2, 2})}}));
  give(op("avg_pool2d", "F.avg_pool2d(x0, 2)", [](const Tensors& x) { return avg_pool2d(x[0], 2); },
          {{real({2, 3, 5, 4})}}));
  give(op("avg_pool2d padding", "F.avg_pool2d(x0, 3, 2, 1)",
          [](const Tensors& x) { return avg_pool2d(x[0], 3, 2, 1); }, {{real({1, 2, 5, 6})}}));
  give(op("avg_pool2d exclusive", "F.avg_pool2d(x0, 3, 2, 1, True, False)",
          [](const Tensors& x) { return avg_pool2d(x[0], 3, 2, 1, true, false); }, {{real({1, 2, 6, 6})}}));
  give(op("max_pool2d", "F.max_pool2d(x0, 2)", [](const Tensors& x) { return max_pool2d(x[0], 2); },
          {{distinct({2, 2, 5, 4})}}));
  give(op("max_pool2d padding", "F.max_pool2d(x0, 3, 2, 1)",
          [](const Tensors& x) { return max_pool2d(x[0], 3, 2, 1); }, {{distinct({1, 2, 5, 6})}}));
  give(op("max_pool2d dilation", "F.max_pool2d(x0, 2, 1, 0, 2)",
          [](const Tensors& x) { return max_pool2d(x[0], 2, 1, 0, 2); }, {{distinct({1, 2, 5, 5})}}));
  give(op("adaptive_avg_pool2d", "F.adaptive_avg_pool2d(x0, (3, 2))",
          [](const Tensors& x) {
            return adaptive_avg_pool2d(x[0], {3, 2});
          },
          {{real({2, 2, 5, 7})}}));
  give(op("cross_entropy", "F.cross_entropy(x0, x1)",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1]); },
          {{real({5, 4}), integers({5}, 0, 4)}}));
  give(op("cross_entropy sum", "F.cross_entropy(x0, x1, reduction='sum')",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1], {}, Reduction::Sum); },
          {{real({5, 4}), integers({5}, 0, 4)}}));
  give(op("cross_entropy none", "F.cross_entropy(x0, x1, reduction='none')",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1], {}, Reduction::None); },
          {{real({5, 4}), integers({5}, 0, 4)}}));
  give(op("cross_entropy smooth", "F.cross_entropy(x0, x1, label_smoothing=0.1)",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1], {}, Reduction::Mean, -100, 0.1); },
          {{real({5, 4}), integers({5}, 0, 4)}}));
  give(op("cross_entropy ignore", "F.cross_entropy(x0, x1, ignore_index=1)",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1], {}, Reduction::Mean, 1); },
          {{real({5, 4}), integers({5}, 0, 4)}}));
  give(op("cross_entropy weights", "F.cross_entropy(x0, x1, x2)",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1], x[2]); },
          {{real({5, 4}), integers({5}, 0, 4), constant({4}, 0.5, 2)}}));
  give(op("cross_entropy images", "F.cross_entropy(x0, x1)",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1]); },
          {{real({2, 3, 2, 2}), integers({2, 2, 2}, 0, 3)}}));
  give(op("cross_entropy probabilities", "F.cross_entropy(x0, x1)",
          [](const Tensors& x) { return cross_entropy_loss(x[0], x[1]); },
          {{real({5, 4}), constant({5, 4}, 0, 1)}}));
  give(op("nll_loss", "F.nll_loss(x0, x1)", [](const Tensors& x) { return nll_loss(x[0], x[1]); },
          {{real({5, 4}), integers({5}, 0, 4)}}));
  give(op("mse_loss", "F.mse_loss(x0, x1)", [](const Tensors& x) { return mse_loss(x[0], x[1]); },
          {{real({3, 4}), real({3, 4})}}));
  give(op("l1_loss", "F.l1_loss(x0, x1)", [](const Tensors& x) { return l1_loss(x[0], x[1]); },
          {{distinct({3, 4}), constant({3, 4}, -0.05, 0.05)}}));
  give(op("smooth_l1_loss", "F.smooth_l1_loss(x0, x1)",
          [](const Tensors& x) { return smooth_l1_loss(x[0], x[1]); },
          {{distinct({3, 4}), constant({3, 4}, -0.05, 0.05)}}));
  give(op("bce", "F.binary_cross_entropy(x0, x1)",
          [](const Tensors& x) { return binary_cross_entropy(x[0], x[1]); },
          {{real({3, 4}, 0.1, 0.9), constant({3, 4}, 0, 1)}}));
  give(op("bce logits", "F.binary_cross_entropy_with_logits(x0, x1)",
          [](const Tensors& x) { return binary_cross_entropy_with_logits(x[0], x[1]); },
          {{real({3, 4}), constant({3, 4}, 0, 1)}}));
  give(op("batch_norm training", "F.batch_norm(x0, None, None, x1, x2, True)",
          [](const Tensors& x) { return batch_norm(x[0], x[1], x[2], {}, {}, true, 0.1, 1e-5); },
          {{real({4, 3, 2, 2}), real({3}), real({3})}, {real({6, 3}), real({3}), real({3})}}));
  give(op("batch_norm eval", "F.batch_norm(x0, x3, x4, x1, x2, False)",
          [](const Tensors& x) { return batch_norm(x[0], x[1], x[2], x[3], x[4], false, 0.1, 1e-5); },
          {{real({4, 3, 2, 2}), real({3}), real({3}), constant({3}), constant({3}, 0.5, 2)}}));
  return list;
}

}  // namespace tandem::testing
