// Adadelta, Adamax, NAdam and RAdam: values from PyTorch 2.15, across saving and loading.
#include <doctest/doctest.h>

#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/optim/optim.h"
#include "tandem/nn/serialize.h"

using namespace tandem;

namespace {

Tensor row(std::initializer_list<double> values) { return tensor(std::vector<double>(values), TensorOptions(kDouble)); }

// Steps from (1, -2, 3) with the gradients of step k: (0.5, -1, 2) (k mod 3 - 0.5) + 0.1 k.
template <class Optimizer, class Options>
void expect(const Options& options, int steps, std::initializer_list<double> values) {
  const Tensor p = row({1, -2, 3}).requires_grad_();
  auto optimizer = std::make_unique<Optimizer>(std::vector<Tensor>{p}, options);
  for (int k = 1; k <= steps; ++k) {
    const double f = k % 3 - 0.5;
    p.mutable_grad() = row({0.5 * f + 0.1 * k, -f + 0.1 * k, 2 * f + 0.1 * k});
    optimizer->step();
    if (k != 2) continue;  // goes on with a loaded state
    std::stringstream file;
    save(*optimizer, file);
    optimizer = std::make_unique<Optimizer>(std::vector<Tensor>{p}, Options());
    load(*optimizer, file);
  }
  for (int64_t i = 0; i < 3; ++i) CHECK(p[i].item<double>() == doctest::Approx(values.begin()[i]).epsilon(1e-13));
}

}  // namespace

TEST_CASE("four steps of Adadelta, Adamax, NAdam and RAdam equal PyTorch's") {
  using namespace optim;
  expect<Adadelta>(AdadeltaOptions(), 4, {0.988890279926431, -1.99531191813199, 2.99141876578828});
  expect<Adadelta>(AdadeltaOptions(0.5).rho(0.8).eps(1e-3).weight_decay(0.1).maximize(true), 4,
                   {1.11397988618343, -2.02754557399233, 3.08612281757009});
  expect<Adamax>(AdamaxOptions(), 4, {0.994619295743514, -1.99593668939519, 2.99515448685976});
  expect<Adamax>(AdamaxOptions(0.1).betas({0.7, 0.8}).eps(1e-3).weight_decay(0.1).maximize(true), 4,
                 {1.28606875409602, -2.14793996766371, 3.24160308452126});
  expect<NAdam>(NAdamOptions(), 4, {0.994088307062826, -1.9966140312011, 2.9950833525327});
  expect<NAdam>(NAdamOptions(0.1).betas({0.7, 0.8}).eps(1e-3).weight_decay(0.1).momentum_decay(0.1), 4,
                {0.652112056984689, -1.77896953878004, 2.70210492472215});
  expect<NAdam>(NAdamOptions(0.1).weight_decay(0.1).decoupled_weight_decay(true).maximize(true), 4,
                {1.25090105037277, -2.08582356510246, 3.12261517001503});
  expect<RAdam>(RAdamOptions(), 4, {0.998045606023376, -1.99825952644348, 2.99435073849023});
  expect<RAdam>(RAdamOptions(0.1).weight_decay(0.1), 8, {0.680389964310286, -1.68650413521618, 2.11016848249278});
  expect<RAdam>(RAdamOptions(0.1).betas({0.7, 0.9}).weight_decay(0.1).decoupled_weight_decay(true).maximize(true), 8,
                {1.27560993043999, -2.03785268714669, 3.55158499502564});
  CHECK_THROWS_AS(Adadelta({row({1}).requires_grad_()}, AdadeltaOptions().rho(1.5)), Error);
}
