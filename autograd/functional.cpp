// Derivatives of functions. J v and H v are derivatives of v' J and v' H, which are linear in v: two backward passes
// in place of a forward derivative.
#include "tandem/autograd/functional.h"

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem::autograd::functional {
namespace {

using List = std::vector<Tensor>;

struct Options {
  const char* operation;
  bool create_graph, strict;
};

// New handles, so that the function's own uses of the same tensors are constants.
List fresh(const List& tensors, bool create_graph, bool requires_grad) {
  List out;
  for (const Tensor& t : tensors) {
    check(t.defined(), "functional: tensor ", out.size(), " is undefined");
    if (create_graph && t.requires_grad())
      out.push_back(t.view(t.sizes()));
    else
      out.push_back(t.detach().requires_grad_(requires_grad));
  }
  return out;
}

List detached(List tensors, bool create_graph) {
  for (Tensor& t : tensors)
    if (!create_graph && t.defined()) t = t.detach();
  return tensors;
}

// The gradients of those outputs that have any; undefined for inputs that none depends on.
List gradients(const List& outputs, const List& inputs, const List& grad_outputs, bool retain, bool create_graph) {
  List used, weights;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !outputs[i].requires_grad()) continue;
    used.push_back(outputs[i]);
    weights.push_back(i < grad_outputs.size() ? grad_outputs[i] : Tensor());
  }
  if (used.empty()) return List(inputs.size());
  return grad(used, inputs, weights, retain || create_graph, create_graph, /*allow_unused=*/true);
}

void check_dependent(const List& tensors, const Options& o, const char* what) {
  for (std::size_t i = 0; o.strict && i < tensors.size(); ++i)
    check(tensors[i].defined() && tensors[i].requires_grad(), o.operation, ": ", what, " ", i,
          " does not depend on the inputs, which strict mode does not allow");
}

// Zeros for undefined gradients; with `strict` an error, also for gradients that cannot be differentiated again.
List filled(List grads, const List& like, const Options& o, const char* what) {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    check(!o.strict || (grads[i].defined() && (!o.create_graph || grads[i].requires_grad())), o.operation, ": ", what,
          " ", i, " is independent of the inputs, which strict mode does not allow");
    if (!grads[i].defined()) grads[i] = zeros_like(like[i]);
  }
  return grads;
}

// v, or a one for a single element.
List vector_for(const List& v, const List& like, const Options& o, const char* what) {
  if (v.empty() || (v.size() == 1 && !v[0].defined())) {
    check(like.size() == 1 && like[0].numel() == 1, o.operation, ": v may only be left out for one ", what,
          " with one element");
    return {ones(like[0].sizes(), like[0].options().requires_grad(false))};
  }
  check(v.size() == like.size(), o.operation, ": v has ", v.size(), " tensors, expected ", like.size(),
        ", one for each ", what);
  for (std::size_t i = 0; i < v.size(); ++i)
    check(v[i].defined() && v[i].sizes() == like[i].sizes(), o.operation, ": v[", i, "] is ", v[i],
          ", expected the shape of ", what, " ", i, ": ", like[i].sizes());
  return fresh(v, o.create_graph, false);
}

List zeros_with_grad(const List& like) {
  List out;
  for (const Tensor& t : like) out.push_back(zeros(t.sizes(), t.options().requires_grad(true)));
  return out;
}

Tensor scalar_of(const Tensor& output, const Options& o) {
  check(output.defined() && output.numel() == 1, o.operation, ": the function must return one element, got ", output);
  check_dependent({output}, o, "output");
  return output.dim() == 0 ? output : output.reshape({});
}

// The rows of the Jacobian of one output, stacked for each input.
List jacobian_of(const Tensor& output, const List& inputs, const Options& o) {
  std::vector<List> rows(inputs.size());
  const Tensor flat = output.reshape({-1});
  for (int64_t k = 0; k < flat.numel(); ++k) {
    const List row =
        filled(gradients({flat[k]}, inputs, {}, true, o.create_graph), inputs, o, "the Jacobian with respect to input");
    for (std::size_t i = 0; i < inputs.size(); ++i) rows[i].push_back(row[i]);
  }
  List out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<int64_t> sizes = output.sizes().vec();
    sizes.insert(sizes.end(), inputs[i].sizes().begin(), inputs[i].sizes().end());
    out.push_back(rows[i].empty() ? zeros(sizes, inputs[i].options().requires_grad(false))
                                  : stack(rows[i]).reshape(sizes));
  }
  return out;
}

std::vector<List> jacobian_lists(const ListFunction& f, const List& given, const Options& o) {
  const AutoGradMode recorded(true);
  const List inputs = fresh(given, o.create_graph, true);
  const List outputs = f(inputs);
  check_dependent(outputs, o, "output");
  std::vector<List> out;
  for (const Tensor& output : outputs) out.push_back(detached(jacobian_of(output, inputs, o), o.create_graph));
  return out;
}

std::vector<List> hessian_lists(const ScalarFunction& f, const List& inputs, const Options& o) {
  const auto gradient = [&](const List& x) {
    const Options recorded{o.operation, true, o.strict};
    return jacobian_lists([&](const List& y) { return List{scalar_of(f(y), o)}; }, x, recorded)[0];
  };
  return jacobian_lists(gradient, inputs, o);
}

std::pair<List, List> vjp_lists(const ListFunction& f, const List& given, const List& v, const Options& o) {
  const AutoGradMode recorded(true);
  const List inputs = fresh(given, o.create_graph, true), outputs = f(inputs);
  check_dependent(outputs, o, "output");
  const List weights = vector_for(v, outputs, o, "output");
  List product = filled(gradients(outputs, inputs, weights, false, o.create_graph), inputs, o,
                        "the Jacobian with respect to input");
  return {detached(outputs, o.create_graph), detached(std::move(product), o.create_graph)};
}

std::pair<List, List> jvp_lists(const ListFunction& f, const List& given, const List& v, const Options& o) {
  const AutoGradMode recorded(true);
  const List inputs = fresh(given, o.create_graph, true), direction = vector_for(v, inputs, o, "input");
  const List outputs = f(inputs);
  check_dependent(outputs, o, "output");
  const List weights = zeros_with_grad(outputs);
  const List transposed = gradients(outputs, inputs, weights, false, true);
  check_dependent(transposed, o, "the gradient of input");
  List product =
      filled(gradients(transposed, weights, direction, false, o.create_graph), outputs, o, "the Jacobian of output");
  return {detached(outputs, o.create_graph), detached(std::move(product), o.create_graph)};
}

// v' H, or H v if `transposed`.
std::pair<Tensor, List> hessian_product(const ScalarFunction& f, const List& given, const List& v, bool transposed,
                                        const Options& o) {
  const AutoGradMode recorded(true);
  const List inputs = fresh(given, o.create_graph, true), direction = vector_for(v, inputs, o, "input");
  const Tensor output = f(inputs);
  const List first = gradients({scalar_of(output, o)}, inputs, {}, false, true);
  check_dependent(first, o, "the gradient of input");
  List product;
  if (transposed) {
    const List weights = zeros_with_grad(inputs), second = gradients(first, inputs, weights, false, true);
    product = gradients(second, weights, direction, false, o.create_graph);
  } else {
    product = gradients(first, inputs, direction, false, o.create_graph);
  }
  product = filled(std::move(product), inputs, o, "the Hessian with respect to input");
  return {detached({output}, o.create_graph)[0], detached(std::move(product), o.create_graph)};
}

ListFunction of_lists(const TensorFunction& f) {
  return [&f](const List& x) { return List{f(x[0])}; };
}
ScalarFunction of_list(const TensorFunction& f) {
  return [&f](const List& x) { return f(x[0]); };
}
std::pair<Tensor, Tensor> only(std::pair<List, List> lists) { return {lists.first[0], lists.second[0]}; }
std::pair<Tensor, Tensor> only(std::pair<Tensor, List> results) { return {results.first, results.second[0]}; }

}  // namespace

Tensor jacobian(const TensorFunction& f, const Tensor& input, bool create_graph, bool strict) {
  return jacobian_lists(of_lists(f), {input}, {"jacobian", create_graph, strict})[0][0];
}
std::vector<List> jacobian(const ListFunction& f, const List& inputs, bool create_graph, bool strict) {
  return jacobian_lists(f, inputs, {"jacobian", create_graph, strict});
}
Tensor hessian(const TensorFunction& f, const Tensor& input, bool create_graph, bool strict) {
  return hessian_lists(of_list(f), {input}, {"hessian", create_graph, strict})[0][0];
}
std::vector<List> hessian(const ScalarFunction& f, const List& inputs, bool create_graph, bool strict) {
  return hessian_lists(f, inputs, {"hessian", create_graph, strict});
}
std::pair<Tensor, Tensor> vjp(const TensorFunction& f, const Tensor& input, const Tensor& v, bool create_graph,
                              bool strict) {
  return only(vjp_lists(of_lists(f), {input}, {v}, {"vjp", create_graph, strict}));
}
std::pair<List, List> vjp(const ListFunction& f, const List& inputs, const List& v, bool create_graph, bool strict) {
  return vjp_lists(f, inputs, v, {"vjp", create_graph, strict});
}
std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const Tensor& input, const Tensor& v, bool create_graph,
                              bool strict) {
  return only(jvp_lists(of_lists(f), {input}, {v}, {"jvp", create_graph, strict}));
}
std::pair<List, List> jvp(const ListFunction& f, const List& inputs, const List& v, bool create_graph, bool strict) {
  return jvp_lists(f, inputs, v, {"jvp", create_graph, strict});
}
std::pair<Tensor, Tensor> vhp(const TensorFunction& f, const Tensor& input, const Tensor& v, bool create_graph,
                              bool strict) {
  return only(hessian_product(of_list(f), {input}, {v}, false, {"vhp", create_graph, strict}));
}
std::pair<Tensor, List> vhp(const ScalarFunction& f, const List& inputs, const List& v, bool create_graph,
                            bool strict) {
  return hessian_product(f, inputs, v, false, {"vhp", create_graph, strict});
}
std::pair<Tensor, Tensor> hvp(const TensorFunction& f, const Tensor& input, const Tensor& v, bool create_graph,
                              bool strict) {
  return only(hessian_product(of_list(f), {input}, {v}, true, {"hvp", create_graph, strict}));
}
std::pair<Tensor, List> hvp(const ScalarFunction& f, const List& inputs, const List& v, bool create_graph,
                            bool strict) {
  return hessian_product(f, inputs, v, true, {"hvp", create_graph, strict});
}

}  // namespace tandem::autograd::functional
