// Prints the strides of results and gradients of channels-last tensors. strides.txt holds what LibTorch prints;
// printed_test.py compares. Sizes of 1 are left out: there strides have no meaning.
#include <torch/torch.h>

#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace {

namespace F = torch::nn::functional;
using torch::Tensor;
using Tensors = std::vector<Tensor>;
constexpr auto kLast = torch::MemoryFormat::ChannelsLast;
constexpr auto kLast3d = torch::MemoryFormat::ChannelsLast3d;

std::string text(const Tensor& t) {
  if (!t.defined()) return "none";
  std::string out = "[";
  for (int64_t d = 0; d < t.dim(); ++d)
    out += (d > 0 ? " " : "") + (t.size(d) == 1 ? std::string("-") : std::to_string(t.stride(d)));
  return out + "]";
}

Tensor image(torch::IntArrayRef sizes = {2, 8, 6, 5}) { return torch::rand(sizes, torch::kDouble); }
Tensor last(torch::IntArrayRef sizes = {2, 8, 6, 5}) { return image(sizes).contiguous(kLast); }
Tensor last3d(torch::IntArrayRef sizes = {2, 8, 4, 6, 5}) { return image(sizes).contiguous(kLast3d); }

// The first result's strides, and those of the gradients of its sum of squares.
void line(const std::string& name, const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs) {
  Tensors leaves;
  for (const Tensor& t : inputs) leaves.push_back(t.is_floating_point() ? t.detach().requires_grad_() : t);
  const Tensor out = f(leaves);
  std::cout << name << ": " << text(out);
  if (out.requires_grad()) {
    Tensors wanted;
    for (const Tensor& t : leaves)
      if (t.requires_grad()) wanted.push_back(t);
    for (const Tensor& g : torch::autograd::grad({(out * out).sum()}, wanted)) std::cout << "; " << text(g);
  }
  std::cout << '\n';
}

void conversions() {
  const auto each = [](const std::string& name, const Tensor& x) {
    std::cout << name << ": " << text(x.clone()) << ' ' << text(x.to(torch::kFloat)) << ' ' << text(x.cpu()) << ' '
              << text(torch::empty_like(x)) << ' ' << text(torch::zeros_like(x)) << ' ' << text(torch::rand_like(x))
              << ' ' << text(torch::full_like(x, 2)) << ' ' << text(x.contiguous()) << ' '
              << text(x.clone(torch::MemoryFormat::Contiguous)) << ' ' << text(x.clone(torch::MemoryFormat::Preserve))
              << ' ' << text(x.to(torch::kInt, false, true, kLast)) << ' ' << text(x.detach()) << ' '
              << text(x.new_empty(x.sizes())) << '\n';
  };
  each("row-major", image());
  each("channels-last", last());
  each("one channel", last({2, 1, 6, 5}));
  each("one pixel", last({2, 8, 1, 1}));
  each("one row", last({2, 8, 1, 5}));
  each("every other row", last().slice(2, 0, 6, 2));
  const Tensor deep = last3d();
  std::cout << "3d: " << text(deep.clone()) << ' ' << text(deep.to(torch::kFloat)) << ' '
            << text(torch::empty_like(deep)) << ' ' << text(deep.contiguous()) << '\n';
}

void elementwise() {
  const auto one = [](const std::string& name, Tensor (*f)(const Tensor&)) {
    line(name, [f](const Tensors& x) { return f(x[0]); }, {last()});
    line(name + " 3d", [f](const Tensors& x) { return f(x[0]); }, {last3d()});
  };
  one("exp", torch::exp);
  one("relu", torch::relu);
  one("gelu", [](const Tensor& x) { return torch::gelu(x); });
  one("sigmoid", torch::sigmoid);
  one("tanh", torch::tanh);
  one("neg", torch::neg);
  one("silu", [](const Tensor& x) { return F::silu(x); });
  one("leaky_relu", [](const Tensor& x) { return F::leaky_relu(x); });
  one("hardtanh", [](const Tensor& x) { return torch::hardtanh(x); });
  one("clamp", [](const Tensor& x) { return torch::clamp(x, 0.1, 0.9); });
  one("pow", [](const Tensor& x) { return x.pow(2); });
  one("x + 1", [](const Tensor& x) { return x + 1; });
  one("2 - x", [](const Tensor& x) { return 2 - x; });
  one("x > 0.5", [](const Tensor& x) { return x > 0.5; });
  one("isfinite", [](const Tensor& x) { return torch::isfinite(x); });
  one("where", [](const Tensor& x) { return torch::where(x > 0.5, x, torch::zeros_like(x)); });
  one("masked_fill", [](const Tensor& x) { return x.masked_fill(x > 0.5, 0); });
  one("dropout", [](const Tensor& x) { return torch::dropout(x, 0.5, true); });
  one("feature_dropout", [](const Tensor& x) { return torch::feature_dropout(x, 0.5, true); });
  const auto two = [](const std::string& name, const Tensor& a, const Tensor& b) {
    line("add " + name, [](const Tensors& x) { return x[0] + x[1]; }, {a, b});
    line("mul " + name, [](const Tensors& x) { return x[0] * x[1]; }, {a, b});
    line("maximum " + name, [](const Tensors& x) { return torch::maximum(x[0], x[1]); }, {a, b});
    line("atan2 " + name, [](const Tensors& x) { return torch::atan2(x[0], x[1]); }, {a, b});
    line("lt " + name, [](const Tensors& x) { return x[0] < x[1]; }, {a, b});
    line("addcmul " + name, [](const Tensors& x) { return torch::addcmul(x[0], x[0], x[1]); }, {a, b});
  };
  two("both", last(), last());
  two("the first", last(), image());
  two("the second", image(), last());
  two("a channel", last(), image({8, 1, 1}));
  two("a scalar", last(), image({}));
  two("a row", last(), image({5}));
  two("an image", last(), last({1, 8, 6, 5}));
  two("a factor for each image", last(), image({2, 8, 1, 1}));
  two("a factor for each image, channels-last", last(), last({2, 8, 1, 1}));
  two("a mask", image({2, 1, 6, 5}), last());
  two("3d", last3d(), last3d());
  line("in place", [](const Tensors& x) { return x[0].mul(2).add_(x[1]); }, {last(), image()});
}

void convolutions() {
  const auto conv = [](const std::string& name, const Tensor& x, const Tensor& w, int64_t groups = 1) {
    line("conv2d " + name, [=](const Tensors& t) { return torch::conv2d(t[0], t[1], t[2], 1, 1, 1, groups); },
         {x, w, image({w.size(0)})});
  };
  const Tensor w = image({4, 8, 3, 3});
  conv("input", last(), w);
  conv("weight", image(), w.contiguous(kLast));
  conv("both", last(), w.contiguous(kLast));
  conv("neither", image(), w);
  conv("depthwise", last(), image({8, 1, 3, 3}), 8);
  conv("pointwise", last(), image({4, 8, 1, 1}));
  conv("one pixel", last({2, 8, 1, 1}), image({4, 8, 3, 3}));
  const Tensor back = image({8, 4, 3, 3});
  line("conv_transpose2d input", [](const Tensors& t) { return torch::conv_transpose2d(t[0], t[1]); }, {last(), back});
  line("conv_transpose2d weight", [](const Tensors& t) { return torch::conv_transpose2d(t[0], t[1]); },
       {image(), back.contiguous(kLast)});
  line("conv1d", [](const Tensors& t) { return torch::conv1d(t[0], t[1]); }, {image({2, 8, 6}), image({4, 8, 3})});
}

void normalisation() {
  const auto norm = [](const std::string& name, const Tensor& x) {
    for (const bool training : {true, false})
      line("batch_norm " + name + (training ? "" : " of running statistics"),
           [=](const Tensors& t) {
             const auto options = torch::dtype(torch::kDouble);
             return torch::batch_norm(t[0], t[1], t[2], torch::zeros({8}, options), torch::ones({8}, options), training,
                                      0.1, 1e-5, false);
           },
           {x, image({8}), image({8})});
    line("group_norm " + name, [](const Tensors& t) { return torch::group_norm(t[0], 2, t[1], t[2]); },
         {x, image({8}), image({8})});
    line("instance_norm " + name,
         [](const Tensors& t) { return torch::instance_norm(t[0], {}, {}, {}, {}, true, 0.1, 1e-5, false); }, {x});
  };
  norm("", last());
  norm("3d", last3d());
  line("layer_norm", [](const Tensors& t) { return torch::layer_norm(t[0], {6, 5}); }, {last()});
  line("local_response_norm", [](const Tensors& t) { return F::local_response_norm(t[0], 3); }, {last()});
  line("softmax", [](const Tensors& t) { return torch::softmax(t[0], 1); }, {last()});
  line("log_softmax", [](const Tensors& t) { return torch::log_softmax(t[0], 1); }, {last()});
}

void pooling() {
  line("max_pool2d", [](const Tensors& t) { return torch::max_pool2d(t[0], 2); }, {last()});
  line("max_pool2d padded", [](const Tensors& t) { return torch::max_pool2d(t[0], 3, 2, 1); }, {last()});
  line("max_pool2d indices", [](const Tensors& t) { return std::get<1>(torch::max_pool2d_with_indices(t[0], 2)); },
       {last()});
  line("avg_pool2d", [](const Tensors& t) { return torch::avg_pool2d(t[0], 2); }, {last()});
  line("adaptive_avg_pool2d", [](const Tensors& t) { return torch::adaptive_avg_pool2d(t[0], {3, 2}); }, {last()});
  line("adaptive_avg_pool2d to a pixel",
       [](const Tensors& t) {
         return torch::adaptive_avg_pool2d(t[0], {1, 1});
       },
       {last()});
  line("adaptive_max_pool2d",
       [](const Tensors& t) {
         return std::get<0>(torch::adaptive_max_pool2d(t[0], {3, 2}));
       },
       {last()});
  line("adaptive_max_pool2d of equal windows",
       [](const Tensors& t) {
         return std::get<0>(torch::adaptive_max_pool2d(t[0], {3, 5}));
       },
       {last()});
  line("max_pool3d", [](const Tensors& t) { return torch::max_pool3d(t[0], 2); }, {last3d()});
  line("avg_pool3d", [](const Tensors& t) { return torch::avg_pool3d(t[0], 2); }, {last3d()});
  line("adaptive_avg_pool3d", [](const Tensors& t) { return torch::adaptive_avg_pool3d(t[0], {2, 3, 2}); }, {last3d()});
}

template <class Mode>
void resize(const std::string& name, const Mode& mode, const Tensor& x, std::vector<int64_t> size) {
  line("interpolate " + name,
       [=](const Tensors& t) { return F::interpolate(t[0], F::InterpolateFuncOptions().size(size).mode(mode)); }, {x});
}

void images() {
  resize("nearest", torch::kNearest, last(), {9, 7});
  resize("bilinear", torch::kBilinear, last(), {9, 7});
  resize("bicubic", torch::kBicubic, last(), {9, 7});
  resize("nearest of the same size", torch::kNearest, last(), {6, 5});
  resize("nearest 3d", torch::kNearest, last3d(), {5, 9, 7});
  resize("trilinear", torch::kTrilinear, last3d(), {5, 9, 7});
  line("constant_pad_nd", [](const Tensors& t) { return torch::constant_pad_nd(t[0], {1, 2, 0, 1}); }, {last()});
  line("constant_pad_nd of nothing", [](const Tensors& t) { return torch::constant_pad_nd(t[0], {0, 0}); }, {last()});
  line("reflection_pad2d", [](const Tensors& t) { return torch::reflection_pad2d(t[0], {1, 2, 0, 1}); }, {last()});
  line("replication_pad2d", [](const Tensors& t) { return torch::replication_pad2d(t[0], {1, 2, 0, 1}); }, {last()});
  line("constant_pad_nd 3d", [](const Tensors& t) { return torch::constant_pad_nd(t[0], {1, 1}); }, {last3d()});
  line("pixel_shuffle", [](const Tensors& t) { return torch::pixel_shuffle(t[0], 2); }, {last()});
  line("pixel_unshuffle", [](const Tensors& t) { return torch::pixel_unshuffle(t[0], 2); }, {last({2, 8, 6, 4})});
  line("channel_shuffle", [](const Tensors& t) { return torch::channel_shuffle(t[0], 2); }, {last()});
  line("grid_sample",
       [](const Tensors& t) { return F::grid_sample(t[0], t[1], F::GridSampleFuncOptions().align_corners(false)); },
       {last(), image({2, 3, 4, 2})});
}

void shapes() {
  line("cat channels", [](const Tensors& t) { return torch::cat({t[0], t[1]}, 1); }, {last(), last({2, 3, 6, 5})});
  line("cat images", [](const Tensors& t) { return torch::cat({t[0], t[1]}, 0); }, {last(), last({3, 8, 6, 5})});
  line("cat rows", [](const Tensors& t) { return torch::cat({t[0], t[1]}, 2); }, {last(), last({2, 8, 1, 5})});
  line("cat of two layouts", [](const Tensors& t) { return torch::cat({t[0], t[1]}, 1); }, {last(), image()});
  line("cat 3d", [](const Tensors& t) { return torch::cat({t[0], t[1]}, 1); }, {last3d(), last3d()});
  line("stack", [](const Tensors& t) { return torch::stack({t[0], t[1]}, 1); }, {last(), last()});
  line("narrow", [](const Tensors& t) { return t[0].narrow(1, 2, 3); }, {last()});
  line("flatten", [](const Tensors& t) { return torch::flatten(t[0], 1); }, {last()});
  line("flip", [](const Tensors& t) { return torch::flip(t[0], {3}); }, {last()});
  line("roll", [](const Tensors& t) { return torch::roll(t[0], 1, 3); }, {last()});
  line("repeat", [](const Tensors& t) { return t[0].repeat({1, 2, 1, 1}); }, {last()});
  line("index_select", [](const Tensors& t) { return t[0].index_select(1, torch::arange(3)); }, {last()});
  line("sum", [](const Tensors& t) { return t[0].sum({2, 3}, true); }, {last()});
  line("mean of channels", [](const Tensors& t) { return t[0].mean(1); }, {last()});
  line("cumsum", [](const Tensors& t) { return t[0].cumsum(2); }, {last()});
  for (const auto& view : {std::vector<int64_t>{2, -1}, {16, 6, 5}, {2, 8, 30}, {2, 2, 4, 6, 5}}) {
    std::cout << "view as " << view.size() << " dimensions, the second " << view[1] << ": ";
    try {
      std::cout << text(last().view(view)) << '\n';
    } catch (const c10::Error&) {
      std::cout << "throws\n";
    }
  }
}

}  // namespace

int main() {
  conversions();
  elementwise();
  convolutions();
  normalisation();
  pooling();
  images();
  shapes();
}
