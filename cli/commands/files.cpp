// tandem inspect and tandem convert: the contents of files with weights.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/draw/plot.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/train/models.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/cli/train/weight_files.h"
#include "tandem/nn/files/prefix.h"
#include "tandem/nn/files/pt_plugin.h"
#include "tandem/nn/files/safetensors_reader.h"

namespace tandem::cli {
namespace {

struct ConvertOptions {
  std::string from, to;
  std::string key;           ///< of the state dict in a .pt file with more
  std::string prefix;        ///< removed from the names
  uint64_t shard_bytes = 0;  ///< of elements per safetensors file; 0: one file
  int64_t weights_bits = 0;  ///< 0: as they are
};

// One row per tensor and per other value; lists without tensors are one row.
class Listing {
 public:
  void add(const std::string& name, const IValue& value) {
    if (value.isTensor()) return add_tensor(name, value.toTensor().dtype(), value.toTensor().sizes());
    if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) add(joined(name, key_text(entry.key())), entry.value());
      return;
    }
    if (!value.isTuple() && !value.isList()) return add_row(name, value.type_name(), value_text(value), "");
    const std::vector<IValue> elements = value.isTuple() ? value.toTupleRef().elements() : value.toListRef();
    bool plain = true;
    for (const IValue& e : elements) plain = plain && (e.isScalar() || e.isString() || e.isNone());
    if (plain) return add_row(name, value.type_name(), concat(elements.size(), " values"), "");
    for (std::size_t i = 0; i < elements.size(); ++i) add(joined(name, std::to_string(i)), elements[i]);
  }

  void add_tensor(const std::string& name, ScalarType dtype, IntArrayRef sizes) {
    double values = 1;
    for (const int64_t size : sizes) values *= static_cast<double>(size);
    const double bytes = values * static_cast<double>(item_size(dtype));
    add_row(name, tandem::name(dtype), concat(sizes), byte_size(bytes));
    ++tensors_;
    values_ += values;
    bytes_ += bytes;
  }

  void print() {
    table_.add_rule();
    table_.add_row({"total", concat(tensors_, tensors_ == 1 ? " tensor" : " tensors"),
                    with_commas(static_cast<long long>(std::min(values_, 9e18))) + " values", byte_size(bytes_)});
    std::fputs(table_.text(detect_terminal()).c_str(), stdout);
  }

 private:
  static std::string joined(const std::string& name, const std::string& part) {
    return name.empty() ? part : name + "." + part;
  }
  static std::string key_text(const IValue& key) { return key.isString() ? key.toStringRef() : value_text(key); }
  static std::string value_text(const IValue& value) {
    if (value.isNone()) return "";
    if (value.isString()) return fit(value.toStringRef(), 40);
    if (value.isBool()) return value.toBool() ? "true" : "false";
    return value.isInt() ? std::to_string(value.toInt()) : concat(value.toDouble());
  }
  void add_row(const std::string& name, const std::string& what, const std::string& shape, const std::string& size) {
    table_.add_row({printable(name), what, printable(shape), size});
  }

  using Align = Table::Align;
  Table table_{{{"name"}, {"type"}, {"shape or value"}, {"bytes", Align::kRight}}};
  int64_t tensors_ = 0;
  double values_ = 0, bytes_ = 0;
};

bool ends_with_any(const std::string& path, std::initializer_list<const char*> endings) {
  for (const char* ending : endings)
    if (path.ends_with(ending)) return true;
  return false;
}

int inspect_command(const std::string& path) {
  if (is_onnx(path)) {
    inspect_onnx(path);
    return 0;
  }
  Listing listing;
  if (serialize::pt::is_pt_file(path)) {
    listing.add("", read_pt(path));
  } else {
    const serialize::SafeTensorsReader reader(path);  // the elements stay where they are
    for (const auto& item : reader.items()) listing.add_tensor(item.entry.name, item.entry.dtype, item.entry.sizes);
    for (const auto& item : reader.metadata()) listing.add("__metadata__." + item.key(), item.value());
  }
  listing.print();
  return 0;
}

OrderedDict<std::string, Tensor> quantized(const OrderedDict<std::string, Tensor>& state, const ConvertOptions& o) try {
  return quantized_text(state, o.weights_bits);
} catch (const Error& error) {
  refuse("--weights-bits: ", o.from, ": ", error.what());
}

int convert_to_onnx(const ConvertOptions& o) {
  require(o.key.empty() && o.prefix.empty() && o.shard_bytes == 0 && o.weights_bits == 0,
          "--key, --prefix, --shard-size and --weights-bits: not for an ONNX file");
  std::error_code error;
  require(std::filesystem::is_directory(o.from, error), o.from,
          ": not the folder of a run; an ONNX file has a network, not only weights");
  Checkpoint checkpoint = run_of(o.from);
  const RunConfig& c = checkpoint.config;
  require(!c.text, o.from, ": the run of a text; only those of images become ONNX files, others .safetensors and .pt");
  const nn::Sequential model = model_of_run(checkpoint, Device(kCPU, 0));
  save_onnx(model, c.input, c.classes, o.to);
  std::printf("%s: %s of %s, %s\n", printable(o.to).c_str(), printable(c.model).c_str(), printable(o.from).c_str(),
              counted(c.class_count, "class", "classes").c_str());
  return 0;
}

OrderedDict<std::string, Tensor> without_prefix(const OrderedDict<std::string, Tensor>& state,
                                                const ConvertOptions& o) {
  const std::vector<std::string> names = state.keys();
  const auto has_prefix = [&](const std::string& name) { return name.starts_with(o.prefix); };
  if (!names.empty() && std::ranges::none_of(names, has_prefix))
    refuse("--prefix ", o.prefix, ": no name in ", o.from, " begins with it; the first is ", names[0]);
  return serialize::without_prefix(state, o.prefix);
}

// Of a run, also of one that is not complete: what model.safetensors has, or will have.
OrderedDict<std::string, Tensor> state_of(const ConvertOptions& o) {
  std::error_code error;
  if (!std::filesystem::exists(checkpoint_path(o.from), error)) {
    auto state = without_prefix(read_state(weights_file(o.from), o.key), o);
    warn_if_not_finite(o.from, state);
    return state;
  }
  Checkpoint checkpoint = run_of(o.from);
  const nn::Sequential model = model_of_run(checkpoint, Device(kCPU, 0));
  return without_prefix(exported(checkpoint.config.model, model), o);
}

int convert_command(const ConvertOptions& o) {
  if (is_onnx(o.to)) return convert_to_onnx(o);
  const bool to_pt = ends_with_any(o.to, {".pt", ".pth", ".bin"});
  require(to_pt || ends_with_any(o.to, {".safetensors"}), o.to,
          ": the name must end with .safetensors, .pt, .pth or .bin, or for a run's model with .onnx");
  require(o.key.empty() || serialize::pt::is_pt_file(o.from), "--key: only .pt files have several dictionaries");
  require(!to_pt || o.shard_bytes == 0, "--shard-size: only safetensors files are split; ", o.to,
          " would be a .pt file");
  OrderedDict<std::string, Tensor> state = state_of(o);
  if (o.weights_bits != 0) state = quantized(state, o);
  // Python programs expect the name of the library that the file is for.
  const OrderedDict<std::string, std::string> metadata{{"format", "pt"}};
  std::string shards;
  if (to_pt)
    write_pt(o.to, state);
  else if (o.shard_bytes != 0)
    shards = concat(" in ", serialize::save_sharded_safetensors(o.to, state, o.shard_bytes, metadata), " files");
  else
    serialize::save_safetensors(o.to, state, metadata);
  std::printf("%s: %s tensors%s\n", printable(o.to).c_str(), with_commas(static_cast<long long>(state.size())).c_str(),
              shards.c_str());
  return 0;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  static std::string path;
  CLI::App* c = app.add_subcommand("inspect", "list what is in a .safetensors, .pt or .onnx file");
  c->add_option(
       "FILE", path,
       "file of weights, a whole checkpoint of PyTorch, the index or the folder of a sharded one, or an ONNX model")
      ->required();
  return [](const CommandLine&) { return inspect_command(path); };
}

Command add_convert(CLI::App& app) {
  static ConvertOptions o;
  CLI::App* c = app.add_subcommand(
      "convert", "convert weights between .safetensors and .pt, or write the model of a run as such a file or as ONNX");
  c->add_option("IN", o.from,
                "the folder of a run, a file of either kind, the index or the folder of a sharded checkpoint, or an "
                "ONNX model, for its weights")
      ->required();
  c->add_option("OUT", o.to, "file to write; its ending decides: .safetensors, .pt, .pth, .bin or .onnx")->required();
  add_key(c, o.key);
  add_text(c, "--prefix", o.prefix, "TEXT", "remove this from the names that start with it, such as module.");
  c->add_option("--shard-size", o.shard_bytes,
                "split a .safetensors file into files of at most this size, such as 500MB or 5GiB, and an index")
      ->option_text("SIZE")
      ->transform(CLI::AsSizeValue(true))  // MB are 10^6 bytes, MiB 2^20
      ->check(CLI::PositiveNumber);
  add_weights_bits(c, o.weights_bits);
  c->footer(
      "Examples:\n"
      "  tandem convert model.pt model.safetensors\n"
      "  tandem convert training.pt model.safetensors --key model --prefix module.\n"
      "  tandem convert runs/first net.onnx\n"
      "  tandem convert runs/first net.pt");
  return [](const CommandLine&) { return convert_command(o); };
}

}  // namespace tandem::cli
