// Options of activations and dropout.
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/arg.h"
#include "tandem/core/error.h"
#include "tandem/core/options.h"
#include "tandem/nn/enums.h"
#include "tandem/nn/options/option.h"

namespace tandem::nn {

TANDEM_OPTION(ReLUOptions, bool, inplace, = false);
TANDEM_OPTION(ReLU6Options, bool, inplace, = false);
struct LeakyReLUOptions {
  TANDEM_ARG(double, negative_slope) = 1e-2;
  TANDEM_ARG(bool, inplace) = false;
};
struct ELUOptions {
  TANDEM_ARG(double, alpha) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
TANDEM_OPTION(SELUOptions, bool, inplace, = false);
struct GELUOptions {
  /// kNone: exact, with erf. kTanh: tanh approximation.
  struct Approximate {
    Approximate(Reduction) : tanh(false) {}
    Approximate(init::Nonlinearity) : tanh(true) {}
    /// "none" or "tanh"; throws Error on another text.
    Approximate(std::string_view text) : tanh(text == "tanh") {
      check(tanh || text == "none", "GELU: approximate must be \"none\" or \"tanh\", got \"", text, '"');
    }
    Approximate(const char* text) : Approximate(std::string_view(text)) {}
    Approximate(const std::string& text) : Approximate(std::string_view(text)) {}
    operator std::string() const { return tanh ? "tanh" : "none"; }
    bool tanh;
  };
  TANDEM_ARG(Approximate, approximate) = Approximate(kNone);
};
struct HardtanhOptions {
  TANDEM_ARG(double, min_val) = -1.0;
  TANDEM_ARG(double, max_val) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
struct SoftplusOptions {
  TANDEM_ARG(double, beta) = 1.0;
  TANDEM_ARG(double, threshold) = 20.0;
};
TANDEM_OPTION(SoftmaxOptions, int64_t, dim, );
TANDEM_OPTION(LogSoftmaxOptions, int64_t, dim, );
TANDEM_OPTION(SoftminOptions, int64_t, dim, );
struct CELUOptions {
  TANDEM_ARG(double, alpha) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TANDEM_ARG(double, threshold);
  TANDEM_ARG(double, value);
  TANDEM_ARG(bool, inplace) = false;
};
TANDEM_OPTION(HardshrinkOptions, double, lambda, = 0.5);
TANDEM_OPTION(SoftshrinkOptions, double, lambda, = 0.5);
TANDEM_OPTION(GLUOptions, int64_t, dim, = -1);
struct PReLUOptions {
  /// 1, or the number of channels.
  TANDEM_ARG(int64_t, num_parameters) = 1;
  TANDEM_ARG(double, init) = 0.25;
};
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TANDEM_ARG(double, p);
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;
struct RReLUOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8;
  TANDEM_ARG(double, upper) = 1.0 / 3;
  TANDEM_ARG(bool, inplace) = false;
};

namespace functional {
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using ELUFuncOptions = ELUOptions;
using SELUFuncOptions = SELUOptions;
using GELUFuncOptions = GELUOptions;
using HardtanhFuncOptions = HardtanhOptions;
using SoftplusFuncOptions = SoftplusOptions;

struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
  TANDEM_ARG(optional<ScalarType>, dtype) = nullopt;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;
using CELUFuncOptions = CELUOptions;
using ThresholdFuncOptions = ThresholdOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using GLUFuncOptions = GLUOptions;
struct GumbelSoftmaxFuncOptions {
  TANDEM_ARG(double, tau) = 1.0;
  /// Returns one-hot values; gradients are those of the soft sample.
  TANDEM_ARG(bool, hard) = false;
  TANDEM_ARG(int64_t, dim) = -1;
};
struct DropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = true;
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
struct AlphaDropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;
struct RReLUFuncOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8;
  TANDEM_ARG(double, upper) = 1.0 / 3;
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(bool, inplace) = false;
};
}  // namespace functional

}  // namespace tandem::nn
