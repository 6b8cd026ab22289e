// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/attributes.h"

#include <set>
#include <string>

#include "io/onnx/import/types.h"

namespace narrowgauge::onnx {

namespace {

class Filler : public AttributeVisitor {
 public:
  explicit Filler(const Node& node) : node_(node) {}

  void operator()(std::string_view name, bool& value) override {
    if (const auto* found = find<std::int64_t>(name)) value = *found != 0;
  }
  void operator()(std::string_view name, std::int64_t& value) override {
    if (const auto* found = find<std::int64_t>(name)) value = *found;
  }
  void operator()(std::string_view name, double& value) override {
    if (const auto* found = find<float>(name)) value = *found;
  }
  // A list of texts becomes one, separated by commas.
  void operator()(std::string_view name, std::string& value) override {
    if (!holds<std::vector<std::string>>(name)) {
      if (const auto* found = find<std::string>(name)) value = *found;
      return;
    }
    value.clear();
    for (const std::string& text : *find<std::vector<std::string>>(name))
      value += (value.empty() ? "" : ",") + text;
  }
  void operator()(std::string_view name, DType& value) override {
    if (const auto* found = find<std::int64_t>(name))
      value = dtype_of(static_cast<DataType>(*found));
  }
  void operator()(std::string_view name, Dims& value) override {
    if (const auto* found = find<Dims>(name)) value = *found;
  }
  void operator()(std::string_view name, Shape& value) override {
    if (const auto* found = find<Dims>(name)) value.assign(found->begin(), found->end());
  }
  void operator()(std::string_view name, Tensor& value) override {
    if (holds<std::vector<float>>(name))
      value = tensor_of(*find<std::vector<float>>(name));
    else if (const auto* found = find<Box<TensorData>>(name))
      value = tensor_of(**found);
  }
  void operator()(std::string_view name, TensorType&) override { refuse(name); }
  void operator()(std::string_view name, Region&) override { refuse(name); }

  void require_all_used() const {
    for (const Attribute& attribute : node_.attributes)
      require<ModelError>(used_.contains(attribute.name), "the op has no attribute '",
                          attribute.name, "'");
  }

 private:
  template <class T>
  const T* find(std::string_view name) {
    used_.emplace(name);
    return node_.get<T>(name);
  }
  template <class T>
  bool holds(std::string_view name) const {
    const Attribute* const found = node_.find(name);
    return found && std::holds_alternative<T>(found->value);
  }
  void refuse(std::string_view name) const {
    require<ModelError>(!node_.find(name), "the attribute '", name, "' cannot come from a file");
  }

  const Node& node_;
  std::set<std::string> used_;
};

}  // namespace

Attributes attributes_of(const OpRecord& op, const Node& node) {
  Attributes attributes = op.make_default();
  Filler filler(node);
  op.visit(attributes.mutate(), filler);
  filler.require_all_used();
  return attributes;
}

}  // namespace narrowgauge::onnx
