// Dropout, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout, and their functional forms.
#include "tandem/nn/layers/dropout.h"

#include "tandem/autograd/ops/nn/dropout.h"
#include "tandem/nn/functional/dropout.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn {

// The functional form `name`, which calls `function`, and the layer Name.
#define DROPOUT(Name, name, function, FuncOptions, Input)                                                            \
  Tensor functional::name(Tensor input, const FuncOptions& options) {                                                \
    return options.inplace() ? tandem::function##_(input, options.p(), options.training())                           \
                             : tandem::function(input, options.p(), options.training());                             \
  }                                                                                                                  \
  Tensor Name##Impl::forward(Input input) {                                                                          \
    return functional::name(input, FuncOptions().p(options.p()).training(is_training()).inplace(options.inplace())); \
  }                                                                                                                  \
  TANDEM_PRINTED_AS(Name, "p=", options.p(), ", inplace=", detail::word(options.inplace()))
DROPOUT(Dropout, dropout, dropout, functional::DropoutFuncOptions, Tensor)
DROPOUT(Dropout2d, dropout2d, feature_dropout, functional::DropoutFuncOptions, Tensor)
DROPOUT(Dropout3d, dropout3d, feature_dropout, functional::DropoutFuncOptions, Tensor)
DROPOUT(AlphaDropout, alpha_dropout, alpha_dropout, functional::AlphaDropoutFuncOptions, const Tensor&)
DROPOUT(FeatureAlphaDropout, feature_alpha_dropout, feature_alpha_dropout, functional::AlphaDropoutFuncOptions,
        const Tensor&)

}  // namespace tandem::nn
