// cuDNN's graph API: descriptors of one convolution. A descriptor is copied when it becomes an attribute, as in cuDNN.
// What is not known to be accepted by cuDNN is refused.
#include <algorithm>

#include "tandem/tests/cuda_emulation/dnn_graph.h"

namespace tandem::cuda_emulation::graph {
namespace {

// The attributes that can be set, all of which must be.
struct Rule {
  cudnnBackendDescriptorType_t object;
  Name name;
  Type type;
  int64_t most = 1;
  cudnnBackendDescriptorType_t child = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
};
struct OperationRule {
  cudnnBackendDescriptorType_t object;
  Pass pass;
  Name tensors[3], convolution, scales[2];
};
constexpr OperationRule kOperations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     Pass::kForward,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     Pass::kData,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     Pass::kFilter,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}},
};
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> rules = {
        {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
        {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 5},
        {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 5},
        {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
        {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 3},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 3},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 3},
        {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 3},
        {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
        {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
        {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
        {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
        {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
        {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3},
        {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3},
        {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR},
    };
    for (const OperationRule& one : kOperations) {
      for (const Name tensor : one.tensors) rules.push_back({one.object, tensor, CUDNN_TYPE_BACKEND_DESCRIPTOR});
      rules.push_back(
          {one.object, one.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR});
      for (const Name scale : one.scales) rules.push_back({one.object, scale, CUDNN_TYPE_FLOAT});
      rules.push_back({CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, one.object});
    }
    return rules;
  }();
  return all;
}

std::size_t item_size(Type type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;
  }
}

// Scaling factors may also be double.
bool matches(const Rule& rule, Type type) {
  return rule.type == type || (rule.type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE);
}

cudnnStatus_t set(Object& object, Name name, Type type, int64_t count, const void* values) {
  if (object.finalized || values == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const Object* child = nullptr;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    child = *static_cast<const Object* const*>(values);
    if (child == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!child->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  }
  cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM;
  for (const Rule& rule : rules()) {
    if (rule.object != object.type || rule.name != name) continue;
    status = !matches(rule, type)                            ? CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE
             : child != nullptr && child->type != rule.child ? CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE
             : count < 1 || count > rule.most                ? CUDNN_STATUS_BAD_PARAM
                                                             : CUDNN_STATUS_SUCCESS;
    if (status == CUDNN_STATUS_SUCCESS) break;
  }
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const auto* bytes = static_cast<const std::byte*>(values);
  Attribute attribute{type, count, {bytes, bytes + static_cast<std::size_t>(count) * item_size(type)}, nullptr};
  if (child != nullptr) attribute.object = std::make_shared<Object>(*child);
  object.attributes.insert_or_assign(name, std::move(attribute));
  return CUDNN_STATUS_SUCCESS;
}

bool positive(const Object& object, Name name, int64_t least = 1) {
  const int64_t* values = object.get<int64_t>(name);
  return std::all_of(values, values + object.count(name), [&](int64_t v) { return v >= least; });
}

cudnnStatus_t finalize_tensor(const Object& t) {
  const int64_t dims = t.count(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const int64_t alignment = *t.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  const cudnnDataType_t type = *t.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
    return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  if (dims < 3 || dims != t.count(CUDNN_ATTR_TENSOR_STRIDES)) return CUDNN_STATUS_BAD_PARAM;
  if (!positive(t, CUDNN_ATTR_TENSOR_DIMENSIONS) || !positive(t, CUDNN_ATTR_TENSOR_STRIDES))
    return CUDNN_STATUS_BAD_PARAM;
  return alignment > 0 && alignment % tandem::item_size(dtype_of(type)) == 0 ? CUDNN_STATUS_SUCCESS
                                                                             : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t finalize_convolution(const Object& c) {
  const int64_t dims = *c.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  for (const Name name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                          CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS}) {
    const bool padding = name == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS || name == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS;
    if (c.count(name) != dims || !positive(c, name, padding ? 0 : 1)) return CUDNN_STATUS_BAD_PARAM;
  }
  return *c.get<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t finalize_operation(Object& object, const OperationRule& rule) {
  Operation& made = object.operation;
  Convolution& c = made.convolution;
  Strided* const tensors[] = {&c.x, &c.w, &c.y};
  const Object& conv = object.child(rule.convolution);
  const int64_t dims = *conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  made.pass = rule.pass;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  for (int i = 0; i < 3; ++i) {
    const Object& t = object.child(rule.tensors[i]);
    const auto its_type = *t.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    if (t.count(CUDNN_ATTR_TENSOR_DIMENSIONS) != dims + 2 || (i > 0 && its_type != type)) return CUDNN_STATUS_BAD_PARAM;
    type = its_type;
    made.ids[i] = *t.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    made.alignments[i] = *t.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    *tensors[i] = five(t.get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), t.get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
                       static_cast<int>(dims + 2));
  }
  c.type = dtype_of(type);
  const bool twice = type == CUDNN_DATA_DOUBLE;
  if (*conv.get<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != (twice ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT))
    return CUDNN_STATUS_NOT_SUPPORTED;
  for (const Name scale : rule.scales)
    if (object.attributes.at(scale).type != (twice ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT))
      return CUDNN_STATUS_BAD_PARAM;
  if (c.x.sizes[1] % c.w.sizes[1] != 0) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  c.groups = c.x.sizes[1] / c.w.sizes[1];
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t to = i + 3 - dims, after = conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)[i];
    c.pads[to] = conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)[i];
    c.strides[to] = conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)[i];
    c.dilations[to] = conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS)[i];
    const int64_t room = c.x.sizes[to + 2] + c.pads[to] + after - (c.w.sizes[to + 2] - 1) * c.dilations[to] - 1;
    if (room < 0 || room / c.strides[to] + 1 != c.y.sizes[to + 2]) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  const bool fits = c.w.sizes[0] % c.groups == 0 && c.y.sizes[0] == c.x.sizes[0] && c.y.sizes[1] == c.w.sizes[0];
  return fits ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
}

cudnnStatus_t finalize_plan(Object& plan) {
  const Object& config = plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  plan.operation = config.operation;
  plan.engine = config.engine;
  if (*plan.get<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) != plan.operation.handle)
    return CUDNN_STATUS_BAD_PARAM;
  return plan.engine->works ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t finalize(Object& object) {
  for (const Rule& rule : rules())
    if (rule.object == object.type && !object.attributes.contains(rule.name)) return CUDNN_STATUS_BAD_PARAM;
  for (const OperationRule& rule : kOperations)
    if (rule.object == object.type) return finalize_operation(object, rule);
  switch (object.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalize_tensor(object);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return finalize_convolution(object);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: {
      object.operation = object.child(CUDNN_ATTR_OPERATIONGRAPH_OPS).operation;
      object.operation.handle = *object.get<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
      const auto& [x, w, y] = object.operation.ids;
      if (object.operation.handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
      return x != w && w != y && y != x ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES;
    }
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      object.operation = object.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).operation;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(object);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return object.count(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == object.count(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
                 ? CUDNN_STATUS_SUCCESS
                 : CUDNN_STATUS_BAD_PARAM;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

}  // namespace
}  // namespace tandem::cuda_emulation::graph

using namespace tandem::cuda_emulation;
using namespace tandem::cuda_emulation::graph;
extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) {
  return dnn_call("cudnnBackendCreateDescriptor", out, [&] {
    *out = new Object{.type = type};
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t object) {
  delete static_cast<Object*>(object);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t object, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  return dnn_call("cudnnBackendSetAttribute", object,
                  [&] { return set(*static_cast<Object*>(object), name, type, count, values); });
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t object) {
  return dnn_call("cudnnBackendFinalize", object, [&] {
    auto& to = *static_cast<Object*>(object);
    const cudnnStatus_t status = to.finalized ? CUDNN_STATUS_BAD_PARAM : finalize(to);
    to.finalized |= status == CUDNN_STATUS_SUCCESS;
    return status;
  });
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const object, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* values) {
  return dnn_call("cudnnBackendGetAttribute", object,
                  [&] { return get(*static_cast<const Object*>(object), name, type, room, count, values); });
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  if (plan == nullptr || pack == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  return dnn_call("cudnnBackendExecute", handle,
                  [&] { return execute(handle, *static_cast<Object*>(plan), *static_cast<Object*>(pack)); });
}

}  // extern "C"
