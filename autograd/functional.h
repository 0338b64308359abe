// Derivatives of functions, like Python's torch.autograd.functional:
//
//   using namespace tandem::autograd::functional;
//   Tensor j = jacobian([](const Tensor& x) { return x.exp(); }, x);            // [3, 3] for x of [3]
//   auto [y, product] = hvp([](const Tensor& x) { return x.pow(3).sum(); }, x, v);
//
// Each takes a function of one tensor or of a list. The function is called with copies of the handles, so that it may
// use the same tensors as constants; they require gradients. A derivative that does not depend on an input is zero;
// with `strict` this throws Error instead, as it is usually a mistake (detach, or a tensor computed elsewhere). With
// `create_graph` the results can be differentiated, with respect to the inputs and to v. All throw Error for inputs
// that are not floating point, and for a v that does not have the expected shapes.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::autograd::functional {

using TensorFunction = std::function<Tensor(const Tensor&)>;
using ListFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// Of a list, to a tensor with one element.
using ScalarFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// d output[k] / d input[i], of shape output.sizes() + input.sizes(). Runs one backward pass per element of the output.
Tensor jacobian(const TensorFunction& f, const Tensor& input, bool create_graph = false, bool strict = false);
/// The same for lists, as result[output][input].
std::vector<std::vector<Tensor>> jacobian(const ListFunction& f, const std::vector<Tensor>& inputs,
                                          bool create_graph = false, bool strict = false);

/// The second derivatives of a function to one element: of shape input.sizes() + input.sizes(). The diagonal and both
/// triangles are computed.
Tensor hessian(const TensorFunction& f, const Tensor& input, bool create_graph = false, bool strict = false);
/// The same for lists, as result[i][j], of shape inputs[i].sizes() + inputs[j].sizes().
std::vector<std::vector<Tensor>> hessian(const ScalarFunction& f, const std::vector<Tensor>& inputs,
                                         bool create_graph = false, bool strict = false);

/// The outputs of `f` and v' J, of the inputs' shapes. `v` has the outputs' shapes; it may be undefined (empty) for one
/// output with one element, and is then 1.
std::pair<Tensor, Tensor> vjp(const TensorFunction& f, const Tensor& input, const Tensor& v = {},
                              bool create_graph = false, bool strict = false);
std::pair<std::vector<Tensor>, std::vector<Tensor>> vjp(const ListFunction& f, const std::vector<Tensor>& inputs,
                                                        const std::vector<Tensor>& v = {}, bool create_graph = false,
                                                        bool strict = false);

/// The outputs of `f` and J v, of the outputs' shapes, by two backward passes. `v` has the inputs' shapes; it may be
/// undefined (empty) for one input with one element, and is then 1.
std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const Tensor& input, const Tensor& v = {},
                              bool create_graph = false, bool strict = false);
std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(const ListFunction& f, const std::vector<Tensor>& inputs,
                                                        const std::vector<Tensor>& v = {}, bool create_graph = false,
                                                        bool strict = false);

/// The output of `f`, which has one element, and v' H, of the inputs' shapes; for `v` see jvp.
std::pair<Tensor, Tensor> vhp(const TensorFunction& f, const Tensor& input, const Tensor& v = {},
                              bool create_graph = false, bool strict = false);
std::pair<Tensor, std::vector<Tensor>> vhp(const ScalarFunction& f, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v = {}, bool create_graph = false,
                                           bool strict = false);

/// The same for H v, with one backward pass more: vhp returns the same values for functions whose second derivatives
/// are continuous.
std::pair<Tensor, Tensor> hvp(const TensorFunction& f, const Tensor& input, const Tensor& v = {},
                              bool create_graph = false, bool strict = false);
std::pair<Tensor, std::vector<Tensor>> hvp(const ScalarFunction& f, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v = {}, bool create_graph = false,
                                           bool strict = false);

}  // namespace tandem::autograd::functional
