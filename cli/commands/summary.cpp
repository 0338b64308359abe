// tandem summary: each layer's output, parameters, bytes and operations, found by running the model on zeros.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/commands/layer_table.h"
#include "tandem/cli/commands/layer_work.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_model.h"
#include "tandem/cli/train/evaluate.h"
#include "tandem/cli/train/model_guess.h"
#include "tandem/cli/train/run_model.h"
#include "tandem/cli/train/sharded_memory.h"
#include "tandem/cli/train/weight_files.h"
#include "tandem/core/base/suggest.h"
#include "tandem/models/gpt2.h"
#include "tandem/models/published.h"
#include "tandem/nn/init.h"
#include "tandem/nn/layers/attention.h"

namespace tandem::cli {
namespace {

struct SummaryOptions {
  std::string folder{};  ///< of a run, instead of a model's name
  std::string model = "lenet";
  std::vector<int64_t> input{};         ///< empty: the model's own
  int64_t classes = 0;                  ///< 0: the model's own
  std::optional<int64_t> batch_size{};  ///< none: 1, or what an ONNX file says
  std::string weights{};                ///< file to load into the model; empty: none
  std::string key{};                    ///< of the state dict in a .pt file with more
  std::optional<int64_t> processes{};   ///< among which a training would divide the model
};

std::string kind(const nn::Module& layer) {
  std::string name = layer.name();
  if (const auto colon = name.rfind(':'); colon != std::string::npos) name = name.substr(colon + 1);
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

// All counts are proportional to the batch, so running one image is enough, and memory does not limit the batch size.
int64_t times(int64_t count, int64_t batch_size) {
  int64_t out = 0;
  require(!__builtin_mul_overflow(count, batch_size, &out), "--batch-size ", batch_size,
          ": the number of operations does not fit in 63 bits");
  return out;
}

// The rows of the table, in the order of the calls.
class Rows {
 public:
  explicit Rows(int64_t batch_size) : batch_size_(batch_size) {}

  void input(const Tensor& x) { add("input", "", x.sizes().vec(), x.nbytes(), 0, {}); }

  /// Adds a row for every call of a layer, and of a module that has parameters other than its layers'.
  void watch(nn::Module& model) {
    // For parameters of the module itself, its name is "".
    for (const auto& item : model.named_modules("", false)) watch(item.key(), *item.value());
    watch("", model);
  }

  void print() { table_.print(); }

 private:
  void watch(const std::string& name, nn::Module& module) {
    const bool whole = module.as<nn::MultiheadAttention>() != nullptr;
    if (!module.children().empty() && module.parameters(false).empty() && !whole &&
        module.as<models::GPT2Attention>() == nullptr)
      return;
    module.register_forward_hook(
        [this, name, whole](nn::Module& layer, const std::vector<Tensor>& inputs, const Tensor& out) {
          int64_t own = 0;
          for (const Tensor& p : layer.parameters(whole))
            if (seen_.insert(p.data_ptr()).second) own += p.numel();
          std::vector<int64_t> sizes = (out.defined() ? out : inputs[0]).sizes().vec();
          if (whole) std::swap(sizes[0], sizes[1]);  // [L, N, E]
          const std::size_t bytes = (out.defined() ? out : inputs[0]).nbytes();
          add(name.empty() ? "(itself)" : name, kind(layer), std::move(sizes), bytes, own, work_of(layer, inputs, out));
        });
  }

  void add(const std::string& name, const std::string& what, std::vector<int64_t> sizes, std::size_t bytes, int64_t own,
           Work work) {
    sizes[0] = batch_size_;
    const double all_bytes = static_cast<double>(bytes) * static_cast<double>(batch_size_);
    work.operations = times(work.operations, batch_size_);
    if (!table_.add({name, what, concat(IntArrayRef(sizes)), own, all_bytes, work})) times(INT64_MAX, batch_size_);
  }

  LayerTable table_;
  int64_t batch_size_;
  std::unordered_set<const void*> seen_;  // parameters count where they are used first
};

struct Subject {
  nn::AnyModule model;
  Tensor input;                  ///< one image, or one text
  std::string onnx_file{};       ///< instead of these
  std::vector<int64_t> sizes{};  ///< of one of its inputs
  std::string precision{};       ///< of a run that a GPU computes channels-last
};

void check_image(const std::vector<int64_t>& input, double most) {
  require(input.size() == 3, "--input ", input, ": expected channels,height,width of an image");
  double picture = 1;
  for (int64_t size : input) picture *= static_cast<double>(size);
  require(picture <= most, "--input ", input, ": an image may have at most 2^", std::log2(most), " values");
}

// "3,32,32" or "3x32x32"; or the number of tokens.
std::vector<int64_t> parse_input(const std::string& text) try {
  std::vector<int64_t> sizes;
  for (const std::string& size : split_names(text, text.find('x') == std::string::npos ? ',' : 'x'))
    sizes.push_back(parse_number("", size, Range<int64_t>{1, 65536}));
  return sizes;
} catch (const UsageError&) {
  refuse("--input ", text, ": expected channels,height,width such as 3,32,32, or a number of tokens, each 1 to 65536");
}

Subject tools_own(const SummaryOptions& o) {
  constexpr double kMaxValues = 1 << 28;  // 1 GiB of float32
  const std::vector<int64_t> input = o.input.empty() ? std::vector<int64_t>{1, 28, 28} : o.input;
  check_image(input, 1 << 26);
  const ModelShape shape{input[0], input[1], input[2], o.classes == 0 ? 10 : o.classes};
  const double count = model_parameters(o.model, shape);
  require(count <= kMaxValues, "model ", o.model, " would have ", with_commas(static_cast<long long>(count)),
          " parameters for images of ", input, " and ", shape.classes, " classes; the limit is 2^28");
  return {nn::AnyModule(make_model(o.model, shape)), zeros({1, input[0], input[1], input[2]})};
}

Subject published(const SummaryOptions& o, const models::PublishedModel& model) {
  const bool image = model.input.size() == 3;
  std::vector<int64_t> input = o.input.empty() ? model.input : o.input;
  if (image)
    check_image(input, 1 << 24);
  else if (input.size() != 1)
    refuse("--input: expected the number of tokens");
  require(image || o.classes == 0, "--classes: ", o.model, " has no classes");
  require(o.classes <= 1 << 16, "--classes: a published model may have at most 65536 classes");
  input.insert(input.begin(), 1);
  const nn::init::SkipGuard no_values;
  return {model.make(o.classes == 0 ? model.num_classes : o.classes), zeros(input, image ? kFloat : kLong)};
}

Subject subject_of_run(const SummaryOptions& o) {
  require(o.input.empty() && o.classes == 0 && o.weights.empty(),
          "--input, --classes and --weights: not for a run, which has its own");
  Checkpoint checkpoint = run_of(o.folder);
  const RunConfig& c = checkpoint.config;
  if (!c.onnx_file.empty()) return {.onnx_file = c.onnx_file, .sizes = c.input};
  const nn::Sequential model = model_of_run(checkpoint, Device(kCPU, 0));
  if (!c.text)
    return {.model = nn::AnyModule(model),
            .input = zeros({1, c.input[0], c.input[1], c.input[2]}),
            .precision = is_faster_channels_last(*model, c.recipe) ? c.recipe.precision : ""};
  return {nn::AnyModule(gpt2_in(model)), zeros({1, c.text->context}, kLong)};
}

Subject onnx_file(const SummaryOptions& o, const std::string& path) {
  require(o.classes == 0 && o.weights.empty(), "--classes and --weights: not for an ONNX file");
  return {.onnx_file = path, .sizes = o.input};
}

Subject subject_of(const SummaryOptions& o, const CommandLine& line) {
  require(o.folder.empty() || !line.has("model"), "--model: not with ", o.folder, ", which has its own");
  if (is_onnx(o.folder)) return onnx_file(o, o.folder);
  if (!o.folder.empty()) return subject_of_run(o);
  if (is_onnx(o.model)) return onnx_file(o, o.model);
  if (const models::PublishedModel* model = models::find_published(o.model)) return published(o, *model);
  std::vector<std::string> names = image_model_names();
  names.emplace_back("gpt2");
  require(std::ranges::count(names, o.model) > 0, "unknown model ", o.model, did_you_mean(o.model, names),
          " (tandem summary --help lists the models)");
  return tools_own(o);
}

// Throws Error that lists names and shapes that do not fit. Returns the number of tensors in the file.
std::size_t load(const std::string& path, const std::string& key, const std::string& name, nn::Module& model) {
  OrderedDict<std::string, Tensor> state = read_state(path, key);
  const std::size_t count = state.size();
  if (dynamic_cast<models::GPT2LMHeadModelImpl*>(&model) != nullptr) state = models::gpt2_state_dict(state);
  try {
    model.load_state_dict(state);
  } catch (const Error& error) {
    fail(error.what(), looks_like(path, key, name));
  }
  return count;
}

int summary_command(const SummaryOptions& o, const CommandLine& line) {
  require(o.key.empty() || !o.weights.empty(), "--key: names a state dict in the file of --weights");
  Subject subject = subject_of(o, line);
  require(!o.processes || subject.onnx_file.empty(), "--processes: not for an ONNX file");
  if (!subject.onnx_file.empty()) {
    summarize_onnx(subject.onnx_file, subject.sizes, o.batch_size);
    return 0;
  }
  NoGradGuard guard;
  std::size_t loaded = 0;
  if (!o.weights.empty()) loaded = load(o.weights, o.key, o.model, *subject.model.ptr());
  Rows rows(o.batch_size.value_or(1));
  rows.input(subject.input);
  rows.watch(*subject.model.ptr());
  subject.model.ptr()->eval();
  try {
    subject.model.forward(subject.input);
  } catch (const Error& error) {  // the input does not fit the model
    throw UsageError(error.what());
  }
  rows.print();
  if (o.processes) {
    constexpr int kAdamW = 2;
    std::printf("trained with adamw and --fully-sharded, each of %s has %s; besides outputs of its part of a batch\n",
                counted(*o.processes, "process", "processes").c_str(),
                described_bytes(unit_bytes(subject.model.ptr()), *o.processes, kAdamW, /*shards=*/0).c_str());
  }
  if (!subject.precision.empty())
    std::printf("on a GPU, the convolutions of this run compute in %s and channels-last\n", subject.precision.c_str());
  if (!o.weights.empty())
    std::printf("%s: %s tensors, which fit the model\n", printable(o.weights).c_str(),
                with_commas(static_cast<long long>(loaded)).c_str());
  return 0;
}

// "resnet18, resnet34, …"
std::string published_names() {
  std::string names;
  for (const models::PublishedModel& model : models::published_models())
    names += (names.empty() ? "" : ", ") + std::string(model.name);
  return names;
}

}  // namespace

Command add_summary(CLI::App& app) {
  static SummaryOptions o;
  CLI::App* c =
      app.add_subcommand("summary", "print a model's layers with output shape, parameters, bytes and operations");
  c->add_option("DIR", o.folder, "folder of a run or an ONNX file, instead of --model");
  add_known_text(c, "--model", o.model, kModelType,
                 "lenet, mlp, linear, an ONNX file or a published model: " + published_names());
  c->add_option_function<std::string>(
       "--input", [](const std::string& text) { o.input = parse_input(text); },
       "channels,height,width of an image (3,32,32 or 3x32x32), or the number of tokens; default: 1,28,28, or that of "
       "the published model or the ONNX file")
      ->type_name("C,H,W");
  add_number<int64_t>(c, "--classes", o.classes, {1, 1 << 20},
                      "number of classes; default: 10 or that of the published model");
  add_number(c, "--batch-size", o.batch_size, kBatchSizes, "images per step; default: 1");
  add_number(c, "--processes", o.processes, Range<int64_t>{1, 4096},
             "also print what each of so many processes keeps in memory with train --fully-sharded");
  add_text(c, "--weights", o.weights, kFileType,
           "load this file of weights, index or folder, and report what does not fit the model");
  add_key(c, o.key);
  c->footer(
      "Examples:\n"
      "  tandem summary --model resnet18 --input 3,32,32 --classes 10\n"
      "  tandem summary net.onnx --input 3,224,224\n"
      "  tandem summary runs/first");
  return [](const CommandLine& line) { return summary_command(o, line); };
}

}  // namespace tandem::cli
