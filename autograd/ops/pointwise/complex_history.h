// History of views between a complex tensor and its real parts, in the elements of which as_strided works.
#pragma once
#include "tandem/autograd/meta.h"

namespace tandem::autograd {

/// The tensor itself if it is real; otherwise its parts, with view_as_real as their history.
Tensor parts_with_history(const Tensor& t);
/// Makes view_as_complex of `parts`, a tensor with a history, the history of `complex`, which has the same elements.
void record_as_complex(const Tensor& complex, const Tensor& parts);
/// The gradient of view_as_real of a tensor like `complex` goes to `edge`.
Edge parts_edge(const Tensor& complex, Edge edge);

}  // namespace tandem::autograd
