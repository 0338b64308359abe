// tandem summary: each layer's output, parameters, bytes and operations, found by running it once on zeros.
#include <cstdio>

#include "tandem/cli/models.h"
#include "tandem/cli/options.h"
#include "tandem/cli/plot.h"

namespace tandem::cli {
namespace {

// Multiplications and additions of the forward pass, each counted as one.
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

}  // namespace

int summary_command(const SummaryOptions& o) {
  for (int64_t size : o.input)
    if (size < 1 || size > 65536)
      throw UsageError(concat("--input ", o.input, ": expected channels,height,width"));
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
  Tensor x = zeros({o.batch_size, o.input[0], o.input[1], o.input[2]});
  table.add_row({"input", "", concat(x.sizes()), "", byte_size(static_cast<double>(x.nbytes())), ""});
  int64_t parameters = 0, bytes = static_cast<int64_t>(x.nbytes()), total = 0;
  auto layer = model->begin();
  for (const auto& item : model->named_children()) {
    const Tensor y = (layer++)->forward(x);
    int64_t own = 0;
    for (const Tensor& p : item.value()->parameters()) own += p.numel();
    const int64_t count = operations(*item.value(), x, y);
    table.add_row({item.key(), kind(*item.value()), concat(y.sizes()), own == 0 ? "" : with_commas(own),
                   byte_size(static_cast<double>(y.nbytes())), with_commas(count)});
    parameters += own;
    bytes += static_cast<int64_t>(y.nbytes());
    total += count;
    x = y;
  }
  table.add_rule();
  table.add_row(
      {"total", "", "", with_commas(parameters), byte_size(static_cast<double>(bytes)), with_commas(total)});
  std::fputs(table.text(terminal).c_str(), stdout);
  std::printf(
      "%s of parameters; operations are the forward pass's, a training step has about three times as many\n",
      byte_size(static_cast<double>(4 * parameters)).c_str());
  return 0;
}

}  // namespace tandem::cli
