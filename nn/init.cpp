// Initialisation of tensors.
#include "tandem/nn/init.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/nn/child_observer.h"

namespace tandem::nn::init {
namespace {

thread_local bool skipped = false;

// Runs `change` without recording unless initialisation is skipped. Before, the tensor may be empty: it is a parameter
// that a ShardedConstruction has cut.
template <class Change>
Tensor changed(Tensor tensor, const Change& change) {
  if (skipped) return tensor;
  NoGradGuard no_grad;
  if (auto* observer = nn::detail::ChildObserver::current())
    observer->initialise(tensor, [&] { change(tensor); });
  else
    change(tensor);
  return tensor;
}

double kaiming_std(const Tensor& tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const Fans fans = calculate_fans(tensor);
  const int64_t fan = mode == kFanIn ? fans.in : fans.out;
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan));
}
double xavier_std(const Tensor& tensor, double gain) {
  const Fans fans = calculate_fans(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

// Makes the rows of a row-major matrix orthonormal (modified Gram-Schmidt, two passes for accuracy).
void orthonormalise(double* m, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    double* row = m + i * columns;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < i; ++j) {
        const double* other = m + j * columns;
        double dot = 0;
        for (int64_t k = 0; k < columns; ++k) dot += row[k] * other[k];
        for (int64_t k = 0; k < columns; ++k) row[k] -= dot * other[k];
      }
    double square = 0;
    for (int64_t k = 0; k < columns; ++k) square += row[k] * row[k];
    const double scale = 1 / std::sqrt(square);
    for (int64_t k = 0; k < columns; ++k) row[k] *= scale;
  }
}

}  // namespace

SkipGuard::SkipGuard(bool skip) : previous_(skipped) { skipped = skipped || skip; }
SkipGuard::~SkipGuard() { skipped = previous_; }
bool is_skipped() { return skipped; }

Tensor uniform_(Tensor tensor, double low, double high) {
  return changed(std::move(tensor), [&](Tensor& t) { t.uniform_(low, high); });
}
Tensor normal_(Tensor tensor, double mean, double std) {
  return changed(std::move(tensor), [&](Tensor& t) { t.normal_(mean, std); });
}
Tensor constant_(Tensor tensor, Scalar value) {
  return changed(std::move(tensor), [&](Tensor& t) { t.fill_(value); });
}
Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }
Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }

Tensor eye_(Tensor matrix) {
  check(matrix.dim() == 2, "init.eye_: expected a matrix, got ", matrix);
  return changed(std::move(matrix), [](Tensor& t) {
    t.fill_(0);
    const int64_t n = std::min(t.size(0), t.size(1));
    Tensor(t.as_strided({n}, {t.stride(0) + t.stride(1)}, t.storage_offset())).fill_(1);
  });
}

Tensor dirac_(Tensor tensor) {
  check(tensor.dim() >= 3 && tensor.dim() <= 5, "init.dirac_: expected 3 to 5 dimensions, got ", tensor);
  return changed(std::move(tensor), [](Tensor& t) {
    t.fill_(0);
    const int64_t n = std::min(t.size(0), t.size(1));
    int64_t middle = t.storage_offset();
    for (int64_t d = 2; d < t.dim(); ++d) middle += t.size(d) / 2 * t.stride(d);
    Tensor(t.as_strided({n}, {t.stride(0) + t.stride(1)}, middle)).fill_(1);
  });
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  return changed(std::move(tensor), [&](Tensor& t) {
    const double bound = std::sqrt(3.0) * xavier_std(t, gain);
    t.uniform_(-bound, bound);
  });
}
Tensor xavier_normal_(Tensor tensor, double gain) {
  return changed(std::move(tensor), [&](Tensor& t) { t.normal_(0, xavier_std(t, gain)); });
}
Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  return changed(std::move(tensor), [&](Tensor& t) {
    if (t.numel() == 0) return;
    const double bound = std::sqrt(3.0) * kaiming_std(t, a, mode, nonlinearity);
    t.uniform_(-bound, bound);
  });
}
Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  return changed(std::move(tensor), [&](Tensor& t) {
    if (t.numel() > 0) t.normal_(0, kaiming_std(t, a, mode, nonlinearity));
  });
}

Tensor orthogonal_(Tensor tensor, double gain) {
  check(tensor.dim() >= 2, "init.orthogonal_: expected at least 2 dimensions, got ", tensor);
  return changed(std::move(tensor), [&](Tensor& t) {
    if (t.numel() == 0) return;
    const int64_t rows = t.size(0), columns = t.numel() / rows;
    const bool as_pytorch = generator_mode() == GeneratorMode::kPyTorch;
    const bool wide = as_pytorch ? rows < columns : rows <= columns;
    Tensor values;
    if (as_pytorch) {
      values = randn({rows, columns}).to(kDouble);
      if (!wide) values = values.t().contiguous();
    } else {
      values = randn({std::min(rows, columns), std::max(rows, columns)}, TensorOptions(kDouble));
    }
    orthonormalise(values.data_ptr<double>(), values.size(0), values.size(1));
    values.mul_(gain);
    t.copy_((wide ? values : values.t().contiguous()).view(t.sizes()));
  });
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  check(tensor.dim() == 2, "init.sparse_: expected a matrix, got ", tensor);
  check(sparsity >= 0 && sparsity <= 1, "init.sparse_: sparsity must be in [0, 1], got ", sparsity);
  return changed(std::move(tensor), [&](Tensor& t) {
    const int64_t rows = t.size(0), columns = t.size(1);
    const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
    if (generator_mode() == GeneratorMode::kPyTorch) {
      t.normal_(0, std);
      for (int64_t c = 0; c < columns; ++c)
        t.select(1, c).index_fill_(0, randperm(rows, TensorOptions(kLong).device(t.device())).slice(0, 0, zeros), 0);
      return;
    }
    Tensor values = empty({rows, columns}), keys = empty({columns, rows}, TensorOptions(kDouble));
    values.normal_(0, std);
    keys.uniform_();
    float* v = values.data_ptr<float>();
    for (int64_t c = 0; c < columns; ++c) {
      double* key = keys.data_ptr<double>() + c * rows;
      for (int64_t k = 0; k < zeros; ++k) {
        const int64_t row = std::min_element(key, key + rows) - key;
        key[row] = 2;
        v[row * columns + c] = 0;
      }
    }
    t.copy_(values);
  });
}

double calculate_gain(NonlinearityType nonlinearity, double param) {
  switch (nonlinearity) {
    case NonlinearityType::kTanh:
      return 5.0 / 3.0;
    case NonlinearityType::kReLU:
      return std::sqrt(2.0);
    case NonlinearityType::kLeakyReLU:
      return std::sqrt(2.0 / (1 + param * param));
    case NonlinearityType::kSELU:
      return 3.0 / 4.0;
    default:
      return 1.0;
  }
}

Fans calculate_fans(const Tensor& weight) {
  check(weight.dim() >= 2, "init.calculate_fans: expected at least 2 dimensions, got ", weight);
  int64_t field = 1;
  for (int64_t d = 2; d < weight.dim(); ++d) field *= weight.size(d);
  return {weight.size(1) * field, weight.size(0) * field};
}

}  // namespace tandem::nn::init
