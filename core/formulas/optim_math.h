// Optimizer updates, for host and device: each handles one element of a parameter p with its gradient g and its
// state. The host computes the constants in double once per step and converts them to T.
#pragma once
#include <cmath>

#include "tandem/core/backend/optim.h"
#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math_powers.h"

namespace tandem::ops {

/// The gradient with weight decay added; a decay of 0 does not read p.
template <class T>
TANDEM_HD inline T decayed(T g, T p, T decay) {
  return decay == T(0) ? g : g + decay * p;
}

/// I. Sutskever et al.: On the importance of initialization and momentum in deep learning. 2013; in PyTorch's form,
/// where the learning rate multiplies the buffer.
template <class T>
struct Sgd {
  explicit Sgd(const SgdStep& s)
      : lr(static_cast<T>(s.lr)),
        decay(static_cast<T>(s.weight_decay)),
        momentum(static_cast<T>(s.momentum)),
        damp(static_cast<T>(1 - s.dampening)),
        sign(s.maximize ? T(-1) : T(1)),
        nesterov(s.nesterov ? T(1) : T(0)) {}
  /// Without momentum.
  TANDEM_HD void operator()(T& p, T g) const { p -= lr * decayed(sign * g, p, decay); }
  /// `first`: the buffer has no value yet.
  template <bool first>
  TANDEM_HD void step(T& p, T g, T& buffer) const {
    g = decayed(sign * g, p, decay);
    const T b = first ? g : momentum * buffer + damp * g;
    buffer = b;
    p -= lr * (nesterov != 0 ? g + momentum * b : b);
  }
  // 0 or 1, and no bool: captured steps compare these bytes with the last ones, and all must have a value.
  T lr, decay, momentum, damp, sign, nesterov;
};

/// D. P. Kingma, J. Ba: Adam. 2015; I. Loshchilov, F. Hutter: Decoupled weight decay regularization (AdamW).
/// 2019; S. J. Reddi et al.: On the convergence of Adam and beyond (amsgrad). 2018.
template <class T>
struct Adam {
  explicit Adam(const AdamStep& s)
      : beta1(static_cast<T>(s.beta1)),
        beta2(static_cast<T>(s.beta2)),
        one_minus_beta1(static_cast<T>(1 - s.beta1)),
        one_minus_beta2(static_cast<T>(1 - s.beta2)),
        eps(static_cast<T>(s.eps)),
        decay(s.decoupled ? T(0) : static_cast<T>(s.weight_decay)),
        shrink(s.decoupled ? static_cast<T>(1 - s.lr * s.weight_decay) : T(1)),
        sign(s.maximize ? T(-1) : T(1)) {
    const auto n = static_cast<double>(s.step);
    rate = static_cast<T>(s.lr / (1 - math::pow(s.beta1, n)));
    root = static_cast<T>(std::sqrt(1 - math::pow(s.beta2, n)));
  }
  /// m and v: running means of g and g²; `top`: the largest v so far, null without amsgrad.
  TANDEM_HD void operator()(T& p, T g, T& m, T& v, T* top) const {
    g = decayed(sign * g, p, decay);
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    T second = v;
    if (top != nullptr) second = *top = *top < v ? v : *top;
    p = shrink * p - rate * (m / (std::sqrt(second) / root + eps));
  }
  T beta1, beta2, one_minus_beta1, one_minus_beta2, eps, decay, shrink, sign, rate, root;
};

/// G. Hinton: lecture 6e of Neural networks for machine learning. 2012; centered: A. Graves. 2013.
template <class T>
struct RmsProp {
  explicit RmsProp(const RmsPropStep& s)
      : lr(static_cast<T>(s.lr)),
        alpha(static_cast<T>(s.alpha)),
        one_minus_alpha(static_cast<T>(1 - s.alpha)),
        eps(static_cast<T>(s.eps)),
        decay(static_cast<T>(s.weight_decay)),
        momentum(static_cast<T>(s.momentum)) {}
  /// `mean` (centered) and `buffer` (momentum) may be null.
  TANDEM_HD void operator()(T& p, T g, T& square, T* mean, T* buffer) const {
    g = decayed(g, p, decay);
    square = alpha * square + one_minus_alpha * g * g;
    T variance = square;
    if (mean != nullptr) {
      *mean += one_minus_alpha * (g - *mean);
      variance -= *mean * *mean;
    }
    T change = g / (std::sqrt(variance) + eps);
    if (buffer != nullptr) change = *buffer = momentum * *buffer + change;
    p -= lr * change;
  }
  T lr, alpha, one_minus_alpha, eps, decay, momentum;
};

/// J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods. 2011.
template <class T>
struct Adagrad {
  explicit Adagrad(const AdagradStep& s)
      : rate(static_cast<T>(s.lr / (1 + static_cast<double>(s.step - 1) * s.lr_decay))),
        eps(static_cast<T>(s.eps)),
        decay(static_cast<T>(s.weight_decay)) {}
  TANDEM_HD void operator()(T& p, T g, T& sum) const {
    g = decayed(g, p, decay);
    sum += g * g;
    p -= rate * (g / (std::sqrt(sum) + eps));
  }
  T rate, eps, decay;
};

}  // namespace tandem::ops
