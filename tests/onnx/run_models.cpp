// Runs models with the inputs that lie beside them, and compares their outputs: what backend_test.py counts.
//
//   run_models FOLDER...
//
// A folder has model.onnx, and in test_data_set_N/ input_M.pb and output_M.pb, as ONNX's own tests do; `tolerance`, if
// it is there, has the relative and the absolute one. Prints a line per folder: "passed NAME", "skipped NAME: REASON"
// (a dtype that Tandem lacks), or "FAILED NAME: REASON".
#include <onnx/onnx_pb.h>
// After that one, which defines what it needs.
#include <onnx/onnx-data.pb.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/onnx/onnx.h"
#include "tandem/onnx/proto.h"
#include "tandem/onnx/tensor_proto.h"

using namespace tandem;
namespace fs = std::filesystem;
namespace proto = ::onnx;
namespace model = tandem::onnx;  // the name onnx is protobuf's, too

namespace {

struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor tensor_from(const proto::TensorProto& from) {
  if (model::dtype_of(from.data_type()) == ScalarType::Undefined)
    throw Skipped("dtype " + model::type_name(from.data_type()));
  return model::tensor_of(from, "");
}

template <class Message>
Message message(const std::string& bytes) {
  Message out;
  check(out.ParseFromString(bytes), "a file is damaged");
  return out;
}

IValue optional_value(const proto::OptionalProto& from) {
  if (from.elem_type() == proto::OptionalProto::UNDEFINED) return {};
  if (from.has_tensor_value()) return tensor_from(from.tensor_value());
  std::vector<Tensor> out;
  for (const auto& tensor : from.sequence_value().tensor_values()) out.push_back(tensor_from(tensor));
  return out;
}

// The file's type is not in it, but in the model.
IValue value_of(const std::string& bytes, const proto::TypeProto& type) {
  if (type.has_sequence_type()) {
    const auto sequence = message<proto::SequenceProto>(bytes);
    std::vector<Tensor> out;
    for (const auto& tensor : sequence.tensor_values()) out.push_back(tensor_from(tensor));
    return out;
  }
  if (type.has_optional_type()) return optional_value(message<proto::OptionalProto>(bytes));
  if (type.has_map_type()) throw Skipped("a map");
  return tensor_from(message<proto::TensorProto>(bytes));
}

void compare(const Tensor& got, const Tensor& wanted, double rtol, double atol) {
  check(got.scalar_type() == wanted.scalar_type(), "expected ", wanted, ", got ", got);
  check(got.sizes() == wanted.sizes(), "expected ", wanted, ", got ", got);
  if (wanted.numel() == 0) return;
  if (isIntegralType(wanted.scalar_type(), true)) {
    const int64_t wrong = (got.to(kLong) != wanted.to(kLong)).sum().item<int64_t>();
    // Quantised results may be rounded the other way, as NumPy's and other runtimes' are.
    const int64_t difference = (got.to(kLong) - wanted.to(kLong)).abs().max().item<int64_t>();
    check(wrong == 0, wrong, " of ", wanted.numel(), " elements differ, by up to ", difference);
    return;
  }
  if (wanted.dtype() == kBFloat16) rtol = std::max(rtol, 0x1p-6);  // two units in the last place, as ONNX's tests allow
  const auto real = [](const Tensor& t) { return t.is_complex() ? view_as_real(t).to(kDouble) : t.to(kDouble); };
  const Tensor a = real(got), b = real(wanted);
  const Tensor equal = (a == b) | (isnan(a) & isnan(b)) | ((a - b).abs() <= b.abs() * rtol + atol);
  const int64_t wrong = logical_not(equal).sum().item<int64_t>();
  if (wrong == 0) return;
  const Tensor difference = nan_to_num((a - b).abs(), 1e300, 1e300, 1e300);
  fail(wrong, " of ", wanted.numel(), " elements differ, by up to ", difference.max().item<double>());
}

void run(const fs::path& folder) {
  const auto model_proto = message<proto::ModelProto>(contents(folder / "model.onnx"));
  double rtol = 1e-3, atol = 1e-7;
  if (std::ifstream file(folder / "tolerance"); file) file >> rtol >> atol;
  // What is declared with such a dtype cannot even be loaded.
  const auto check_type = [](const proto::TypeProto& type) {
    const int number = type.tensor_type().elem_type();
    if (type.has_tensor_type() && model::dtype_of(number) == ScalarType::Undefined)
      throw Skipped("dtype " + model::type_name(number));
    const int inner = type.sequence_type().elem_type().tensor_type().elem_type();
    if (type.has_sequence_type() && inner != 0 && model::dtype_of(inner) == ScalarType::Undefined)
      throw Skipped("dtype " + model::type_name(inner));
  };
  for (const auto& input : model_proto.graph().input()) check_type(input.type());
  for (const auto& output : model_proto.graph().output()) check_type(output.type());
  model::Model net = model::load((folder / "model.onnx").string());
  if (folder.filename().string().ends_with("_training_mode")) net->train();
  NoGradGuard no_grad;
  int sets = 0;
  for (; fs::exists(folder / ("test_data_set_" + std::to_string(sets))); ++sets) {
    const fs::path data = folder / ("test_data_set_" + std::to_string(sets));
    const auto& graph = model_proto.graph();
    const auto type_of = [](const auto& values, const std::string& name) {
      for (const auto& value : values)
        if (value.name() == name) return value.type();
      fail("there is no ", name);
    };
    std::vector<IValue> inputs;
    const auto& slots = net->inputs();
    for (std::size_t i = 0; i < slots.size(); ++i)
      inputs.push_back(
          value_of(contents(data / ("input_" + std::to_string(i) + ".pb")), type_of(graph.input(), slots[i].name)));
    const std::vector<IValue> outputs = net.ptr()->forward(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const IValue wanted = value_of(contents(data / ("output_" + std::to_string(i) + ".pb")),
                                     type_of(graph.output(), net->outputs()[i].name));
      check(outputs[i].isTensor() == wanted.isTensor() && outputs[i].isNone() == wanted.isNone(), "output ", i,
            " has another kind");
      if (wanted.isNone()) continue;
      const auto got_list =
          wanted.isTensor() ? std::vector<Tensor>{outputs[i].toTensor()} : outputs[i].toTensorVector();
      const auto wanted_list = wanted.isTensor() ? std::vector<Tensor>{wanted.toTensor()} : wanted.toTensorVector();
      check(got_list.size() == wanted_list.size(), "output ", i, " has ", got_list.size(), " tensors, expected ",
            wanted_list.size());
      for (std::size_t j = 0; j < got_list.size(); ++j) {
        try {
          compare(got_list[j], wanted_list[j], rtol, atol);
        } catch (const Error& error) {
          fail("output '", net->outputs()[i].name, "': ", error.what());
        }
      }
    }
  }
  check(sets > 0, "there are no data");
}

}  // namespace

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a crash must not take the lines before it
  int passed = 0, skipped = 0, failed = 0;
  for (int i = 1; i < count; ++i) {
    const fs::path folder(arguments[i]);
    const std::string name = folder.filename().string();
    try {
      run(folder);
      std::printf("passed %s\n", name.c_str());
      ++passed;
    } catch (const Skipped& reason) {
      std::printf("skipped %s: %s\n", name.c_str(), reason.what());
      ++skipped;
    } catch (const std::exception& error) {
      std::printf("FAILED %s: %s\n", name.c_str(), error.what());
      ++failed;
    }
  }
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed == 0 ? 0 : 1;
}
