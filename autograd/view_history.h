// History of views: after an in-place write through any view of a base, every view's history is that of the
// base followed by one as_strided.
#pragma once
#include "tandem/autograd/meta.h"

namespace tandem::autograd {

/// Updates grad_fn of the view `t` to match its base.
void refresh_view(const Tensor& t, AutogradMeta& m);

}  // namespace tandem::autograd
