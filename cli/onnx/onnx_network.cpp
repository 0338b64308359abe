// ONNX models as networks that score the classes of images.
#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/cli/json.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/report/run_record.h"
#include "tandem/cli/train/normalize.h"
#include "tandem/onnx/onnx.h"
#include "tandem/onnx/program.h"

namespace tandem::cli {
namespace {

constexpr int64_t kUsualSize = 224;  // of images, if the file does not say it
constexpr int64_t kMaxSide = 4096;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 31;  // protobuf's limit

// The parameter or buffer that a value of the graph is; null if it is none.
template <class Program>
auto state_at(Program& program, int value) -> decltype(program.states.data()) {
  if (value < 0) return nullptr;
  const onnx::Source& source = program.graph.sources[static_cast<std::size_t>(value)];
  return source.kind == onnx::Source::kState ? &program.states[static_cast<std::size_t>(source.state)] : nullptr;
}

// A model with one input and one output. Its module tree, and so the names in its state dict, are those of ModelImpl.
class NetworkImpl : public onnx::ModelImpl {
 public:
  using ModelImpl::ModelImpl;

  /// [N, C, H, W] → [N, classes].
  Tensor forward(const Tensor& images) {
    const onnx::Slot& slot = inputs()[0];
    const Tensor x = images.to(slot.dtype);
    // Some exporters write the batch of their example into the file.
    if (!slot.sizes || slot.sizes->empty() || slot.sizes->front() != 1 || x.size(0) == 1) return scores(x);
    std::vector<Tensor> each;
    for (const Tensor& image : x.split(1)) each.push_back(scores(image));
    return cat(each);
  }

  /// Normalisations whose parameters are all frozen keep their statistics, as train_unfrozen does it for modules; the
  /// whole network is then in evaluation mode.
  void train(bool on) override { ModelImpl::train(on && !norms_are_frozen()); }

  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override {
    NoGradGuard no_grad;
    auto copy = std::make_shared<NetworkImpl>(*this);
    copy->forget_members();
    copy->reset();
    copy->copy_members(*this, device);
    return copy;
  }

 private:
  Tensor scores(const Tensor& images) {
    const Tensor out = ModelImpl::forward(images);
    check(out.dim() >= 2 && out.numel() == out.size(0) * out.size(1) && out.size(0) == images.size(0),
          "its output must be the scores of classes, [N, classes], got ", out);
    return out.flatten(1).to(kFloat);
  }
  bool norms_are_frozen() const {
    const auto parameters = named_parameters();
    bool any = false;
    for (const onnx::Node& node : program().graph.nodes) {
      if (node.op != "BatchNormalization") continue;
      any = true;
      for (std::size_t i = 1; i < std::min<std::size_t>(node.inputs.size(), 3); ++i) {
        const onnx::State* state = state_at(program(), node.inputs[i]);
        const Tensor* found = state == nullptr ? nullptr : parameters.find(state->name);
        if (found != nullptr && found->requires_grad()) return false;
      }
    }
    return any;
  }
};

// The trainer and tandem predict take scores, and compute probabilities themselves.
void leave_out_softmax(onnx::Graph& graph) {
  const auto last = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const onnx::Node& node) {
    return !node.outputs.empty() && node.outputs[0] == graph.output_values[0];
  });
  if (last == graph.nodes.end() || !last->domain.empty() || (last->op != "Softmax" && last->op != "LogSoftmax")) return;
  if (last->inputs.size() != 1 || last->inputs[0] < 0) return;
  const int scores = last->inputs[0];
  graph.output_values[0] = scores;
  for (onnx::Node& node : graph.nodes) std::erase(node.released, scores);
}

// ONNX does not say what is trained. The numbers that images are normalised with, before anything else, are not.
void fix_normalization(onnx::Program& program) {
  onnx::Graph& graph = program.graph;
  int images = graph.input_values[0];
  for (const onnx::Node& node : graph.nodes) {
    if (std::ranges::count(node.inputs, images) == 0) continue;
    const bool plain = node.op == "Sub" || node.op == "Div" || node.op == "Mul" || node.op == "Add";
    if (!plain || !node.domain.empty() || node.outputs.size() != 1) return;
    for (const int value : node.inputs)
      if (onnx::State* state = state_at(program, value)) state->parameter = false;
    images = node.outputs[0];
  }
}

std::string described(const std::vector<onnx::Declared>& slots) {
  std::string out;
  for (const onnx::Declared& each : slots) out += (out.empty() ? "" : ", ") + each.name + ": " + each.type;
  return out.empty() ? "nothing" : out;
}

// "3 x 224 x 224"
std::string described_size(const std::vector<int64_t>& size) {
  std::string out;
  for (const int64_t each : size) out += concat(out.empty() ? "" : " x ", each < 0 ? "any" : std::to_string(each));
  return out;
}

// Channels, height and width; -1: any.
std::vector<int64_t> sizes_of_images(const onnx::Graph& graph) {
  const bool one = graph.inputs.size() == 1 && isFloatingType(graph.inputs[0].dtype) &&
                   (!graph.inputs[0].has_sizes || graph.inputs[0].sizes.size() == 4) && !graph.outputs.empty();
  check(one, "it takes ", described(graph.inputs),
        "; expected a network for images, with one input of floating point numbers [N, channels, height, width]");
  const onnx::Declared& input = graph.inputs[0];
  if (!input.has_sizes) return {-1, -1, -1};
  check(input.sizes[0] < 0 || input.sizes[0] == 1, "it takes only batches of ", input.sizes[0],
        "; export it for any number of images");
  return {input.sizes.begin() + 1, input.sizes.end()};
}

// The images that it is for, if the file allows them.
std::vector<int64_t> chosen(const std::vector<int64_t>& own, const std::vector<int64_t>& wanted) {
  std::vector<int64_t> out = wanted.empty() ? std::vector<int64_t>{3, kUsualSize, kUsualSize} : wanted;
  for (std::size_t i = 0; i < 3; ++i) {
    if (own[i] < 0) continue;
    const bool gray = i == 0 && out[0] == 1;  // repeated for all channels
    check(wanted.empty() || gray || out[i] == own[i], "it takes images of ", described_size(own), ", not ",
          described_size(wanted));
    if (wanted.empty()) out[i] = own[i];
  }
  const int64_t channels = own[0] < 0 ? out[0] : own[0];
  check(channels == 1 || channels == 3, "it takes images of ", channels, " channels; images have 1 or 3");
  check(out[1] >= 1 && out[1] <= kMaxSide && out[2] >= 1 && out[2] <= kMaxSide, "it takes images of ",
        described_size(out), "; sides have 1 to ", kMaxSide, " pixels");
  return out;
}

const std::string* metadata(const onnx::Program& program, const char* key) {
  for (const auto& [name, value] : program.metadata)
    if (name == key) return &value;
  return nullptr;
}

// nullptr: the values from 0 to 1 as they are.
Normalize normalization(const std::string* range, int64_t channels) {
  const auto all = [&](double mean, double deviation) {
    const auto count = static_cast<std::size_t>(channels);
    return Normalize(std::vector<double>(count, mean), std::vector<double>(count, deviation));
  };
  if (range == nullptr && channels == 3) return Normalize();
  if (range == nullptr) return nullptr;
  if (*range == "Normalized_0_1") return all(0, 1);
  if (*range == "Normalized_1_1") return all(0.5, 0.5);
  if (*range == "NominalRange_0_255") return all(0, 1.0 / 255);
  fail("its images have values of the range ", *range, ", which Tandem lacks");
}

std::vector<std::string> class_names(const onnx::Program& program) {
  const std::string* text = metadata(program, kOnnxClasses);
  if (text == nullptr) return {};
  try {
    return parse_json(*text).get<std::vector<std::string>>();
  } catch (const std::exception&) {
    fail("its metadata \"", kOnnxClasses, "\" must be a list of names in JSON");
  }
}

std::shared_ptr<NetworkImpl> network_of(onnx::Program program) {
  leave_out_softmax(program.graph);
  fix_normalization(program);
  std::vector<Tensor> states;
  for (onnx::State& state : program.states) states.push_back(std::move(state.tensor));
  return std::make_shared<NetworkImpl>(std::make_shared<const onnx::Program>(std::move(program)), states);
}

OnnxNetwork network(onnx::Program program, const std::vector<int64_t>& images) {
  OnnxNetwork out;
  const std::vector<int64_t> own = sizes_of_images(program.graph);
  out.input = chosen(own, images);
  // Without a word about the images, they are prepared as torchvision prepares them for its networks.
  const std::string* range = metadata(program, kOnnxRange);
  const int64_t longer = std::max(out.input[1], out.input[2]);
  out.shorter_side = range == nullptr ? longer * 8 / 7 : longer;
  out.classes = class_names(program);
  const Normalize before = normalization(range, own[0] < 0 ? out.input[0] : own[0]);
  const auto net = network_of(std::move(program));
  out.model = nn::Sequential();
  if (before) out.model->push_back("normalize", before);
  out.model->push_back("net", net);
  const NoGradGuard guard;
  out.model->eval();
  out.class_count = out.model->forward(zeros({1, out.input[0], out.input[1], out.input[2]})).size(1);
  const auto names = static_cast<int64_t>(out.classes.size());
  check(names == 0 || names == out.class_count, "its metadata names ", names, " classes, but it scores ",
        out.class_count);
  return out;
}

}  // namespace

OrderedDict<std::string, Tensor> read_onnx_state(const std::string& path) {
  onnx::Program program = onnx::read_program(path);
  OrderedDict<std::string, Tensor> out("Tensor");
  for (onnx::State& state : program.states) out.insert(state.name, std::move(state.tensor));
  return out;
}

OnnxNetwork open_onnx_network(const std::string& path, const std::vector<int64_t>& images) {
  onnx::Program program = onnx::read_program(path);  // whose errors name the file
  try {
    return network(std::move(program), images);
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

void check_trainable_onnx(const std::string& path) {
  const std::string bytes = read_text(path, kMaxFileBytes);
  const onnx::Program program = onnx::parse_program(bytes.data(), bytes.size(), path, "");
  try {
    sizes_of_images(program.graph);
    for (const onnx::State& state : program.states)
      check(!state.parameter || state.tensor.dtype() == kFloat, "its parameter ", state.name, " is ",
            name(state.tensor.dtype()), "; only networks of float32 can be trained");
    const bool any = std::ranges::any_of(program.states, [](const onnx::State& state) { return state.parameter; });
    check(any, "it has no parameters to train");
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

// The last node that reads a matrix, and those behind it: a bias may be added by a node of its own.
std::vector<std::string> onnx_head(const nn::Module& net) {
  std::vector<std::string> out;
  const onnx::Program& program = dynamic_cast<const NetworkImpl&>(net).program();
  const auto parameters = net.named_parameters();
  for (std::size_t i = program.graph.nodes.size(); i-- > 0;) {
    bool matrix = false;
    for (const int value : program.graph.nodes[i].inputs) {
      const onnx::State* state = state_at(program, value);
      const Tensor* found = state == nullptr ? nullptr : parameters.find(state->name);
      if (found == nullptr) continue;
      out.push_back(state->name);
      matrix = matrix || found->dim() >= 2;
    }
    if (matrix) break;
  }
  return out;
}

}  // namespace tandem::cli
