// SPDX-License-Identifier: Apache-2.0
// All layers of the public interface, for tests of what they refuse.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "narrowgauge/narrowgauge.h"

namespace narrowgauge {

// A layer, and what its message begins with.
struct Layer {
  std::string name;
  std::function<Value(Network&, Value)> add;
};

// Each over a value as its first input.
inline std::vector<Layer> layers_of_weights() {
  return {
      {"conv 'c'", [](Network& net, Value x) { return net.conv(x, 2, {}, "c"); }},
      {"conv_transpose 'c'",
       [](Network& net, Value x) { return net.conv_transpose(x, 2, {}, "c"); }},
      {"linear 'fc'", [](Network& net, Value x) { return net.linear(x, 2, "fc"); }},
      {"batch_norm 'b'", [](Network& net, Value x) { return net.batch_norm(x, "b"); }},
      {"layer_norm 'b'", [](Network& net, Value x) { return net.layer_norm(x, "b"); }},
      {"group_norm 'b'", [](Network& net, Value x) { return net.group_norm(x, 2, "b"); }},
      {"rms_norm 'b'", [](Network& net, Value x) { return net.rms_norm(x, "b"); }},
      {"r: ", [](Network& net, Value x) { return net.lstm(x, 3, {}, "r"); }},
      {"r: ", [](Network& net, Value x) { return net.gru(x, 3, {}, "r"); }},
      {"rotary_embedding 'r'",
       [](Network& net, Value x) { return net.rotary_embedding(x, {}, "r"); }},
      {"embedding 'e'", [](Network& net, Value x) { return net.embedding(x, 5, 2, "e"); }},
      {"attention 'a'",
       [](Network& net, Value x) { return net.attention(x, x, x, {.heads = 2}, "a"); }},
      {"cross_attention 'a'",
       [](Network& net, Value x) { return net.cross_attention(x, x, {.heads = 2}, "a"); }},
  };
}

inline std::vector<Layer> layers_without_weights() {
  return {
      {"dropout 'd'", [](Network& net, Value x) { return net.dropout(x, 0.5, "d"); }},
      {"relu", [](Network& net, Value x) { return net.relu(x); }},
      {"relu6", [](Network& net, Value x) { return net.relu6(x); }},
      {"gelu", [](Network& net, Value x) { return net.gelu(x); }},
      {"sigmoid", [](Network& net, Value x) { return net.sigmoid(x); }},
      {"tanh", [](Network& net, Value x) { return net.tanh(x); }},
      {"add", [](Network& net, Value x) { return net.add(x, x); }},
      {"maxpool", [](Network& net, Value x) { return net.max_pool(x); }},
      {"averagepool", [](Network& net, Value x) { return net.average_pool(x); }},
      {"globalaverage", [](Network& net, Value x) { return net.global_average_pool(x); }},
      {"flatten", [](Network& net, Value x) { return net.flatten(x); }},
      {"s'",
       [](Network& net, Value x) {
         return net.reshape(x, {Dim::symbol("N"), 7}, "s");
       }},
      {"s'",
       [](Network& net, Value x) {
         return net.expand(x, {Dim::symbol("N"), 7}, "s");
       }},
      {"concat 'p'",
       [](Network& net, Value x) {
         const Value own = net.input("own", {2});
         return net.concat({own, x}, 0, "p");
       }},
      {"concat 'p'",
       [](Network& net, Value x) {
         return net.concat({x, x}, 1, "p");
       }},
      {"s'", [](Network& net, Value x) { return net.slice(x, 0, 0, 1, "s"); }},
      {"s'", [](Network& net, Value x) { return net.slice(x, 1, 0, 2, "s"); }},
      {"residual",
       [](Network& net, Value x) { return net.residual(x, [](Value y) { return y; }); }},
      {"gradients", [](Network& net, Value x) { return net.gradients(x, {x})[0]; }},
      {"Relu", [](Network& net, Value x) { return net.op("Relu", {x}); }},
      {"Sum",
       [](Network& net, Value x) {
         const Value own = net.input("own", {2});
         return net.op("Sum", {own, x});
       }},
      {"output 'o'",
       [](Network& net, Value x) {
         net.output("o", x);
         return net.input("own", {2});
       }},
      {"graph", [](Network& net, Value x) { return net.shape(x).empty() ? x : Value(); }},
  };
}

inline std::vector<Layer> every_layer() {
  std::vector<Layer> all = layers_of_weights();
  for (Layer& layer : layers_without_weights()) all.push_back(std::move(layer));
  return all;
}

}  // namespace narrowgauge
