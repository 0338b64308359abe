// Options of activations and dropout.
#pragma once
#include "tandem/core/options.h"
#include "tandem/nn/arg.h"
#include "tandem/nn/enums.h"

namespace tandem::nn {

struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct ReLU6Options {
  ReLU6Options(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct LeakyReLUOptions {
  TANDEM_ARG(double, negative_slope) = 1e-2;
  TANDEM_ARG(bool, inplace) = false;
};
struct ELUOptions {
  TANDEM_ARG(double, alpha) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct GELUOptions {
  /// kNone: by erf. kTanh: approximated.
  struct Approximate {
    Approximate(Reduction) : tanh(false) {}
    Approximate(init::Nonlinearity) : tanh(true) {}
    Approximate(const char* text) : tanh(text[0] == 't') {}
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
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
};
struct LogSoftmaxOptions {
  LogSoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
};
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TANDEM_ARG(double, p);
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;

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
struct DropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = true;
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
}  // namespace functional

}  // namespace tandem::nn
