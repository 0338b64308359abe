// Numeric gradients by central differences: (f(x + h) - f(x - h)) / 2h has an error of order h².
#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/core/random/philox.h"
#include "tandem/testing.h"

namespace tandem::testing {
namespace {

bool differentiable(const Tensor& t) { return t.defined() && t.is_floating_point(); }

// The elements in row-major order, copied to the host as float64.
std::vector<double> values(const Tensor& t) {
  const Tensor host = t.detach().to(Device(kCPU, 0), kDouble).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

// A 0-dim alias of element `number` of `t`, counted in row-major order.
Tensor element(const Tensor& t, int64_t number) {
  int64_t offset = t.storage_offset();
  for (int64_t d = t.dim(); d-- > 0; number /= t.size(d)) offset += number % t.size(d) * t.stride(d);
  return alias(t, {}, {}, offset);
}

// Calls fn with `delta` added to element `number` of inputs[which]. Returns the differentiable outputs as doubles.
std::vector<std::vector<double>> evaluate_at(const TensorFn& fn, const Tensors& inputs, std::size_t which,
                                             int64_t number, double delta) {
  NoGradGuard guard;
  Tensors copies;
  for (const Tensor& t : inputs) copies.push_back(t.defined() ? t.detach() : t);
  Tensor moved = empty_raw(inputs[which].sizes(), kDouble, inputs[which].device());
  moved.copy_(inputs[which].detach());
  Tensor place = element(moved, number);
  place.copy_(full({}, place.item<double>() + delta, moved.options()));
  copies[which] = moved;
  std::vector<std::vector<double>> out;
  for (const Tensor& t : fn(copies))
    if (differentiable(t)) out.push_back(values(t));
  return out;
}

struct Place {
  std::size_t output, input;
  int64_t output_number, input_number;
};

void compare(double analytic, double numeric, const Place& at, const GradcheckOptions& options) {
  const bool close = std::abs(analytic - numeric) <= options.atol + options.rtol * std::abs(numeric);
  check(close, "gradcheck: d output ", at.output, "[", at.output_number, "] / d input ", at.input, "[", at.input_number,
        "]: backward gives ", analytic, ", differences give ", numeric);
}

// Row `number` of the Jacobian of `output`: one gradient per tensor of `wanted`.
std::vector<std::vector<double>> jacobian_row(const Tensor& output, int64_t number, const Tensors& wanted) {
  Tensor unit = zeros(output.sizes(), output.options());
  element(unit, number).copy_(full({}, 1.0, output.options()));
  const Tensors grads = autograd::grad({output}, wanted, {unit}, /*retain_graph=*/true, false, /*allow_unused=*/true);
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    out.push_back(grads[i].defined() ? values(grads[i])
                                     : std::vector<double>(static_cast<std::size_t>(wanted[i].numel()), 0.0));
  return out;
}

// The same function of the parts of complex inputs, with the parts of complex outputs.
TensorFn on_parts(const TensorFn& fn, const Tensors& inputs) {
  std::vector<bool> complex;
  for (const Tensor& t : inputs) complex.push_back(t.defined() && t.is_complex());
  return [fn, complex](const Tensors& given) {
    Tensors z = given;
    for (std::size_t i = 0; i < complex.size(); ++i)
      if (complex[i]) z[i] = view_as_complex(given[i]);
    Tensors out = fn(z);
    for (Tensor& t : out)
      if (t.defined() && t.is_complex()) t = view_as_real(t);
    return out;
  };
}
Tensors parts_of(const Tensors& inputs) {
  Tensors out;
  for (const Tensor& t : inputs) {
    const bool split = t.defined() && t.is_complex();
    out.push_back(split ? view_as_real(t.detach().clone()).detach().requires_grad_(t.requires_grad()) : t);
  }
  return out;
}

void real_gradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options) {
  Tensors wanted;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    check(inputs[i].dtype() == kDouble, "gradcheck: input ", i, " must be float64, got ", inputs[i]);
    wanted.push_back(inputs[i]);
    which.push_back(i);
  }
  check(!wanted.empty(), "gradcheck: no input requires a gradient");
  Tensors outputs;
  for (Tensor& t : fn(inputs))
    if (differentiable(t)) outputs.push_back(std::move(t));
  std::vector<std::vector<std::vector<std::vector<double>>>> rows(outputs.size());  // [output][number][input][number]
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (int64_t n = 0; n < outputs[o].numel(); ++n) {
      if (outputs[o].requires_grad()) {
        rows[o].push_back(jacobian_row(outputs[o], n, wanted));
        continue;
      }
      rows[o].emplace_back();
      for (const Tensor& w : wanted) rows[o].back().emplace_back(static_cast<std::size_t>(w.numel()), 0.0);
    }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    for (int64_t k = 0; k < wanted[i].numel(); ++k) {
      const auto up = evaluate_at(fn, inputs, which[i], k, options.eps);
      const auto down = evaluate_at(fn, inputs, which[i], k, -options.eps);
      for (std::size_t o = 0; o < outputs.size(); ++o)
        for (std::size_t n = 0; n < rows[o].size(); ++n)
          compare(rows[o][n][i][static_cast<std::size_t>(k)], (up[o][n] - down[o][n]) / (2 * options.eps),
                  {o, which[i], static_cast<int64_t>(n), k}, options);
    }
}

void real_gradgradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options) {
  Tensors all = inputs;
  std::size_t count = inputs.size();
  for (const Tensor& out : fn(inputs)) {
    if (!out.defined() || !out.requires_grad()) continue;
    Tensor cotangent = empty_raw(out.sizes(), kDouble, Device(kCPU, 0));
    for (int64_t i = 0; i < cotangent.numel(); ++i) {
      const PhiloxBlock block = philox(17, all.size(), static_cast<uint64_t>(i));
      cotangent.data_ptr<double>()[i] = 2 * uniform_double(block.word[0], block.word[1]) - 1;
    }
    all.push_back(cotangent.to(out.device()).detach().requires_grad_());
  }
  if (all.size() == count) return;
  std::vector<bool> wants;
  for (const Tensor& t : inputs) wants.push_back(t.defined() && t.requires_grad());
  const TensorFn gradients = [&fn, &wants, count](const Tensors& x) {
    // gradcheck evaluates its differences with recording off, but the first gradients need it.
    const bool outer = GradMode::is_enabled();
    AutoGradMode mode(true);
    Tensors in(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count)), wanted, outputs;
    for (std::size_t i = 0; i < count && !outer; ++i)
      if (wants[i]) in[i] = in[i].detach().requires_grad_();
    for (const Tensor& t : in)
      if (t.defined() && t.requires_grad()) wanted.push_back(t);
    for (Tensor& t : fn(in))
      if (t.defined() && t.requires_grad()) outputs.push_back(std::move(t));
    const Tensors cotangents(x.begin() + static_cast<std::ptrdiff_t>(count), x.end());
    Tensors grads = autograd::grad(outputs, wanted, cotangents, true, /*create_graph=*/true, /*allow_unused=*/true);
    std::erase_if(grads, [](const Tensor& g) { return !g.defined(); });
    return grads;
  };
  Tensors first = gradients(all);
  bool any = false;
  for (const Tensor& g : first) any |= g.requires_grad();
  if (any) real_gradcheck(gradients, all, options);
}

}  // namespace

void gradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options) {
  real_gradcheck(on_parts(fn, inputs), parts_of(inputs), options);
}
void gradgradcheck(const TensorFn& fn, const Tensors& inputs, const GradcheckOptions& options) {
  real_gradgradcheck(on_parts(fn, inputs), parts_of(inputs), options);
}

}  // namespace tandem::testing
