// Reads the bodies of functions.cpp.
#include "tandem/onnx/export/function_proto.h"

#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::onnx::exporter {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == separator && depth == 0) {
      parts.emplace_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.emplace_back(trimmed(part));
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-');
}

class Body {
 public:
  Body(proto::FunctionProto& to, const Function& function) : to_(to), function_(function) {}

  void add(std::string_view line) {
    const std::size_t equals = line.find(" = ");
    std::string_view right = line.substr(equals + 3);
    std::string_view attributes;
    if (const std::size_t brace = right.find('{'); brace != right.npos) {
      attributes = right.substr(brace + 1, right.rfind('}') - brace - 1);
      right = trimmed(right.substr(0, brace));
    }
    std::vector<std::string> inputs;
    if (const std::size_t open = right.find('('); open != right.npos) {
      inputs = split(right.substr(open + 1, right.rfind(')') - open - 1), ',');
      right = right.substr(0, open);
    }
    for (std::string& input : inputs)
      if (is_number(input)) input = constant(input);
    proto::NodeProto& node = *to_.add_node();
    node.set_op_type(std::string(right));
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : split(line.substr(0, equals), ',')) node.add_output(output);
    for (const std::string& attribute : split(attributes, ',')) set(node, attribute);
  }

 private:
  // A number of the type of the first input, or with an f at its end of float32.
  std::string constant(const std::string& number) {
    const std::string name = concat("number", count_++);
    const bool single = number.back() == 'f';
    proto::NodeProto& node = *to_.add_node();
    node.set_op_type("Constant");
    node.add_output(single ? name : name + "_float");
    proto::AttributeProto& value = *node.add_attribute();
    value.set_name("value_float");
    value.set_type(proto::AttributeProto::FLOAT);
    value.set_f(std::strtof(number.c_str(), nullptr));
    if (single) return name;
    proto::NodeProto& cast = *to_.add_node();
    cast.set_op_type("CastLike");
    cast.add_input(name + "_float");
    cast.add_input(function_.inputs[0]);
    cast.add_output(name);
    return name;
  }

  void set(proto::NodeProto& node, const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    proto::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    const bool real = name == "value_float";
    const bool list = name == "kernel_shape" || name == "strides" || name == "pads" || value[0] == '[';
    attribute.set_type(real   ? proto::AttributeProto::FLOAT
                       : list ? proto::AttributeProto::INTS
                              : proto::AttributeProto::INT);
    if (value[0] == '@') {
      attribute.set_ref_attr_name(value.substr(1));
    } else if (value[0] == '[') {
      for (const std::string& each : split(value.substr(1, value.size() - 2), ','))
        attribute.add_ints(std::stoll(each));
    } else if (real) {
      attribute.set_f(std::strtof(value.c_str(), nullptr));
    } else {
      attribute.set_i(std::stoll(value));
    }
  }

  proto::FunctionProto& to_;
  const Function& function_;
  int count_ = 0;
};

}  // namespace

void add_functions(proto::ModelProto& model, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const Function* function = find_function(name);
    check(function != nullptr, "onnx::save: the function ", name, " has no definition");
    proto::FunctionProto& to = *model.add_functions();
    to.set_name(name);
    to.set_domain(kDomain);
    to.set_doc_string(function->operation);
    for (const char* input : function->inputs) to.add_input(input);
    for (const char* output : function->outputs) to.add_output(output);
    for (const char* attribute : function->attributes) to.add_attribute(attribute);
    proto::OperatorSetIdProto& opset = *to.add_opset_import();
    opset.set_domain("");
    opset.set_version(kOpset);
    Body body(to, *function);
    for (const std::string& line : split(function->body, '\n')) body.add(line);
  }
}

}  // namespace tandem::onnx::exporter
