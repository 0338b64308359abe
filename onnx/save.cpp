// Runs a module for several batch sizes and writes one graph for all of them.
#include "tandem/onnx/save.h"

#include <algorithm>
#include <string_view>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/onnx/export/model_writer.h"
#include "tandem/onnx/export/recorder.h"

namespace tandem::onnx {
namespace {

using exporter::Graph;

// The modes of a module and those inside it, put back at the end.
class Modes {
 public:
  explicit Modes(nn::Module& module) : module_(module), training_(module.is_training()) {
    for (const auto& each : module.modules(/*include_self=*/false)) inside_.push_back({each, each->is_training()});
    module.eval();
  }
  ~Modes() {
    module_.train(training_);
    for (const auto& [each, training] : inside_) each->train(training);  // parents come first
  }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;

 private:
  nn::Module& module_;
  bool training_;
  std::vector<std::pair<std::shared_ptr<nn::Module>, bool>> inside_;
};

// The parameters and buffers of a module in the row-major layout of files, put back at the end.
class RowMajorState {
 public:
  RowMajorState() = default;
  void lay_out(const std::vector<Tensor>& tensors) {
    for (const Tensor& t : tensors) {
      if (!is_channels_last(t.suggest_memory_format())) continue;
      const Tensor rows = t.detach().to(MemoryFormat::Contiguous);
      given_.emplace_back(t, t.detach());
      t.set_data(rows);
    }
  }
  ~RowMajorState() {
    for (const auto& [t, data] : given_) t.set_data(data);
  }
  RowMajorState(const RowMajorState&) = delete;
  RowMajorState& operator=(const RowMajorState&) = delete;

 private:
  std::vector<std::pair<Tensor, Tensor>> given_;
};

// The examples with other rows and other values, which have the same signs and are no larger.
Tensor other_rows(const Tensor& t, int64_t count) {
  const Tensor rows = (arange(count, TensorOptions(kLong)) + 1).remainder(t.size(0)).to(t.device());
  const Tensor out = t.index_select(0, rows);
  return out.is_floating_point() ? out * 0.75 : out;
}

std::vector<std::string> names_of(const std::vector<std::string>& given, const char* stem, std::size_t count) {
  check(given.empty() || given.size() == count, "onnx::save: ", given.size(), " names for ", count, ' ', stem, 's');
  if (!given.empty()) return given;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(count == 1 ? std::string(stem) : concat(stem, i));
  return names;
}

class Export {
 public:
  Export(nn::Module& module, const Forward& forward, const std::vector<Tensor>& inputs, const std::string& path,
         const SaveOptions& options)
      : module_(module), forward_(forward), inputs_(inputs), path_(path), options_(options) {
    check(!inputs.empty(), "onnx::save: expected example inputs");
    for (const Tensor& t : inputs) check(t.defined(), "onnx::save: an example input is undefined");
    dynamic_ = options.dynamic_batch;
    check(!dynamic_ || inputs[0].dim() > 0,
          "onnx::save: the first input has no dimension for the batch; use dynamic_batch = false");
    if (dynamic_) batch_ = inputs[0].size(0);
    check(!dynamic_ || batch_ > 0, "onnx::save: expected at least one example, the first input is ", inputs[0]);
  }

  void run() {
    // One example would not tell a size of 1 from the batch's.
    const int64_t first = std::max<int64_t>(batch_, 2), second = first + 1, third = first + 3;
    Graph graph = dynamic_ && batch_ < 2 ? record_batch(first) : record(inputs_);
    if (dynamic_) {
      exporter::merge(graph, first, record_batch(second), second);
      exporter::check_merged(graph, first, record_batch(third), third);
    } else {
      exporter::merge(graph, 0, record(with_batch(0)), 0);
    }
    graph.remove_equal();
    exporter::write_model(graph, path_,
                          {.input_names = names_of(options_.input_names, "input", graph.inputs.size()),
                           .output_names = names_of(options_.output_names, "output", graph.outputs.size()),
                           .metadata = options_.metadata,
                           .batch = dynamic_ ? first : 0,
                           .max_embedded_bytes = kMaxEmbeddedBytes});
  }

 private:
  Graph record_batch(int64_t batch) const {
    try {
      return record(with_batch(batch));
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("onnx::save: ") != std::string_view::npos) throw;
      std::string names;
      const std::vector<std::string> all = names_of(options_.input_names, "input", inputs_.size());
      for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (is_batch(inputs_[i])) names += concat(names.empty() ? "" : ", ", all[i]);
      fail("onnx::save: the module does not run with ", batch, " examples instead of ", batch_, " (dimension 0 of ",
           names, "); if it takes one number only, use dynamic_batch = false: ", error.what());
    }
  }
  bool is_batch(const Tensor& t) const { return dynamic_ && t.dim() > 0 && t.size(0) == batch_; }
  // Other inputs; 0: of the same sizes.
  std::vector<Tensor> with_batch(int64_t batch) const {
    std::vector<Tensor> out;
    for (const Tensor& t : inputs_) {
      out.push_back(is_batch(t) ? other_rows(t, batch) : t.is_floating_point() ? t * 0.75 : t);
    }
    return out;
  }

  Graph record(const std::vector<Tensor>& given) const {
    autocast::clear_cache();  // each run converts the weights
    exporter::Recorder recorder;
    const std::vector<std::string> names = names_of(options_.input_names, "input", given.size());
    std::vector<Tensor> inputs;
    for (const Tensor& t : given) inputs.push_back(t.detach().clone(MemoryFormat::Contiguous));
    for (std::size_t i = 0; i < inputs.size(); ++i) recorder.add_input(inputs[i], names[i]);
    for (const auto& item : module_.named_parameters()) recorder.add_state(item.value(), item.key());
    for (const auto& item : module_.named_buffers()) recorder.add_state(item.value(), item.key());
    std::vector<Tensor> outputs;
    {
      const RecordKernels recording(recorder);
      outputs = forward_(inputs);
    }
    check(!outputs.empty(), "onnx::save: the module returns no tensor");
    for (const Tensor& t : outputs) recorder.add_output(t);
    return recorder.finish();
  }

  nn::Module& module_;
  const Forward& forward_;
  const std::vector<Tensor>& inputs_;
  const std::string& path_;
  const SaveOptions& options_;
  bool dynamic_ = true;
  int64_t batch_ = 0;
};

}  // namespace

void save(nn::Module& module, const Forward& forward, const std::vector<Tensor>& inputs, const std::string& path,
          const SaveOptions& options) {
  const auto check_device = [](const Tensor& t) {
    check(!t.defined() || t.is_cpu(), "onnx::save: the module and its inputs must be on the CPU, got ", t);
  };
  for (const Tensor& t : inputs) check_device(t);
  for (const Tensor& t : module.parameters()) check_device(t);
  NoGradGuard no_grad;
  const Modes modes(module);
  RowMajorState state;
  state.lay_out(module.parameters());
  state.lay_out(module.buffers());
  Export(module, forward, inputs, path, options).run();
}

}  // namespace tandem::onnx
