// History of views: a view of a tensor that was written in place, through whichever of its views, has the
// history of its base and one as_strided.
#pragma once
#include "tandem/autograd/meta.h"

namespace tandem::autograd {

/// Brings grad_fn of the view `t` up to date with its base.
void refresh_view(const Tensor& t, AutogradMeta& m);

}  // namespace tandem::autograd
