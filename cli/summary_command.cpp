// tandem summary: each layer's output, parameters, bytes and operations, found by running the model on zeros.
#include <cstdio>

#include "tandem/autograd/ops.h"
#include "tandem/cli/models.h"
#include "tandem/cli/options.h"
#include "tandem/cli/plot.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/layers/pooling.h"

namespace tandem::cli {
namespace {

// Multiplications and additions in the forward pass, each counted as one operation.
int64_t operations(const nn::Module& layer, const Tensor& in, const Tensor& out) {
  if (const auto* conv = layer.as<nn::Conv2dImpl>())
    return out.numel() * (2 * conv->weight.numel() / conv->weight.size(0) + (conv->bias.defined() ? 1 : 0));
  if (const auto* linear = layer.as<nn::LinearImpl>())
    return out.numel() * (2 * linear->weight.size(1) + (linear->bias.defined() ? 1 : 0));
  if (layer.as<nn::AvgPool2dImpl>() != nullptr) return in.numel();
  if (layer.as<nn::FlattenImpl>() != nullptr) return 0;
  return out.numel();
}

std::string kind(const nn::Module& layer) {
  std::string name = layer.name();
  if (const auto colon = name.rfind(':'); colon != std::string::npos) name = name.substr(colon + 1);
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

// All counts are proportional to the batch, so running one image is enough, and memory does not limit the
// batch size.
int64_t times(int64_t count, int64_t batch_size) {
  int64_t out = 0;
  if (__builtin_mul_overflow(count, batch_size, &out))
    throw UsageError(
        concat("--batch-size ", batch_size, ": the number of operations does not fit in 63 bits"));
  return out;
}

std::string shape_of(const Tensor& t, int64_t batch_size) {
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes[0] = batch_size;
  return concat(IntArrayRef(sizes));
}

void check_request(const SummaryOptions& o) {
  constexpr double kMostValues = 1 << 28;  // 1 GiB of float32
  double picture = 1;
  for (int64_t size : o.input) picture *= static_cast<double>(size);
  if (picture > 1 << 26)
    throw UsageError(concat("--input ", o.input, ": an image may have at most 2^26 values"));
  const double count = model_parameters(o.model, {o.input[0], o.input[1], o.input[2], o.classes});
  if (count > kMostValues)
    throw UsageError(concat("model ", o.model, " would have ", with_commas(static_cast<long long>(count)),
                            " parameters for images of ", o.input, " and ", o.classes,
                            " classes; the limit is 2^28"));
}

}  // namespace

int summary_command(const SummaryOptions& o) {
  check_request(o);
  nn::Sequential model = make_model(o.model, {o.input[0], o.input[1], o.input[2], o.classes});
  const Terminal terminal = detect_terminal();
  using Align = Table::Align;
  Table table({{"layer"},
               {"kind"},
               {"output"},
               {"parameters", Align::kRight},
               {"output bytes", Align::kRight},
               {"operations", Align::kRight}});
  NoGradGuard guard;
  const double pictures = static_cast<double>(o.batch_size);
  Tensor x = zeros({1, o.input[0], o.input[1], o.input[2]});
  double bytes = static_cast<double>(x.nbytes()) * pictures;
  table.add_row({"input", "", shape_of(x, o.batch_size), "", byte_size(bytes), ""});
  int64_t parameters = 0, total = 0;
  auto layer = model->begin();
  for (const auto& item : model->named_children()) {
    const Tensor y = (layer++)->forward(x);
    int64_t own = 0;
    for (const Tensor& p : item.value()->parameters()) own += p.numel();
    const int64_t count = times(operations(*item.value(), x, y), o.batch_size);
    const double out_bytes = static_cast<double>(y.nbytes()) * pictures;
    table.add_row({item.key(), kind(*item.value()), shape_of(y, o.batch_size),
                   own == 0 ? "" : with_commas(own), byte_size(out_bytes), with_commas(count)});
    parameters += own;
    bytes += out_bytes;
    if (__builtin_add_overflow(total, count, &total)) times(INT64_MAX, o.batch_size);
    x = y;
  }
  table.add_rule();
  table.add_row({"total", "", "", with_commas(parameters), byte_size(bytes), with_commas(total)});
  std::fputs(table.text(terminal).c_str(), stdout);
  std::printf(
      "%s of parameters; operations count the forward pass, a training step has about three times as many\n",
      byte_size(static_cast<double>(4 * parameters)).c_str());
  return 0;
}

}  // namespace tandem::cli
